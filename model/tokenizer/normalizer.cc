#include "model/tokenizer/normalizer.h"

#include <cstring>
#include <optional>
#include <utility>

#include "base/utf8.h"

namespace weft {
namespace {

class PrependStep final : public NormalizerStep {
 public:
  explicit PrependStep(std::string prefix) : prefix_(std::move(prefix)) {}
  std::optional<std::string> Apply(std::string text, bool begins_segment, size_t) const override {
    if (begins_segment && !text.empty()) text.insert(0, prefix_);
    return text;
  }

 private:
  std::string prefix_;
};

class ReplaceLiteralStep final : public NormalizerStep {
 public:
  ReplaceLiteralStep(std::string literal, std::string replacement)
      : literal_(std::move(literal)), replacement_(std::move(replacement)) {}
  std::optional<std::string> Apply(std::string text, bool, size_t max_bytes) const override {
    if (literal_.empty()) return text;
    std::string replaced;
    replaced.reserve(text.size() + text.size() / 4);
    size_t offset = 0;
    for (size_t found = 0; (found = text.find(literal_, offset)) != std::string::npos;
         offset = found + literal_.size()) {
      replaced.append(text, offset, found - offset).append(replacement_);
      if (replaced.size() > max_bytes) return std::nullopt;
    }
    return replaced.append(text, offset);
  }

 private:
  std::string literal_;
  std::string replacement_;
};

class ReplaceRegexStep final : public NormalizerStep {
 public:
  ReplaceRegexStep(Regex pattern, std::string replacement)
      : pattern_(std::move(pattern)), replacement_(std::move(replacement)) {}
  std::optional<std::string> Apply(std::string text, bool, size_t max_bytes) const override {
    RegexScratch scratch;
    std::string replaced;
    size_t copied = 0;
    for (size_t offset = 0; offset <= text.size();) {
      const std::optional<ByteRange> match = pattern_.Find(text, offset, &scratch);
      if (!match) break;
      replaced.append(text, copied, match->begin - copied).append(replacement_);
      if (replaced.size() > max_bytes) return std::nullopt;
      copied = match->end;
      offset = match->end;
      if (match->begin == match->end) {
        if (offset == text.size()) break;
        offset += DecodeUtf8(text, offset).size_bytes;
      }
    }
    return replaced.append(text, copied);
  }

 private:
  Regex pattern_;
  std::string replacement_;
};

class FormStep final : public NormalizerStep {
 public:
  explicit FormStep(NormalizationForm form) : form_(form) {}
  std::optional<std::string> Apply(std::string text, bool, size_t max_bytes) const override {
    return Normalize(text, form_, max_bytes);
  }

 private:
  NormalizationForm form_;
};

class LowercaseStep final : public NormalizerStep {
 public:
  std::optional<std::string> Apply(std::string text, bool, size_t) const override {
    return Lowercase(text);
  }
};

class StripStep final : public NormalizerStep {
 public:
  StripStep(bool left, bool right) : left_(left), right_(right) {}
  std::optional<std::string> Apply(std::string text, bool, size_t) const override {
    size_t begin = text.size();  // of the first and behind the last character that is no space
    size_t end = 0;
    for (size_t offset = 0; offset < text.size();) {
      const Utf8Character character = DecodeUtf8(text, offset);
      if (!IsSpace(character.code_point)) {
        begin = std::min(begin, offset);
        end = offset + character.size_bytes;
      }
      offset += character.size_bytes;
    }
    if (!left_) begin = 0;
    if (!right_) end = text.size();
    return begin < end ? text.substr(begin, end - begin) : std::string();
  }

 private:
  bool left_;
  bool right_;
};

class CollapseSpacesStep final : public NormalizerStep {
 public:
  std::optional<std::string> Apply(std::string text, bool begins_segment, size_t) const override {
    std::string collapsed;
    collapsed.reserve(text.size());
    for (const char c : text) {
      const bool drop = c == ' ' && (collapsed.empty() ? begins_segment : collapsed.back() == ' ');
      if (!drop) collapsed.push_back(c);
    }
    if (collapsed.ends_with(' ')) collapsed.pop_back();
    return collapsed;
  }
};

// The blob: trie size in bytes (uint32), the trie's units (uint32 each), then the replacements,
// each ended by a zero byte. A unit is one of Darts-clone's
// (https://github.com/s-yata/darts-clone).
class CharacterMapStep final : public NormalizerStep {
 public:
  CharacterMapStep(std::vector<uint32_t> units, std::string replacements)
      : units_(std::move(units)), replacements_(std::move(replacements)) {}

  std::optional<std::string> Apply(std::string text, bool, size_t max_bytes) const override {
    std::string mapped;
    mapped.reserve(text.size());
    for (size_t offset = 0; offset < text.size();) {
      const Match match = LongestMatch(std::string_view(text).substr(offset));
      if (match.size_bytes > 0) {
        mapped.append(replacements_.c_str() + match.replacement);
        if (mapped.size() > max_bytes) return std::nullopt;
        offset += match.size_bytes;
      } else {
        const size_t size_bytes = DecodeUtf8(text, offset).size_bytes;
        mapped.append(text, offset, size_bytes);
        offset += size_bytes;
      }
    }
    // The replacements come from the file, and a match may end inside a character.
    if (ValidUtf8Prefix(mapped) != mapped.size()) return text;
    return mapped;
  }

 private:
  struct Match {
    size_t size_bytes = 0;
    size_t replacement = 0;  // offset in replacements_
  };

  static bool HasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
  static uint32_t Value(uint32_t unit) { return unit & 0x7FFFFFFF; }
  static uint32_t Label(uint32_t unit) { return unit & 0x800000FF; }
  static uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

  Match LongestMatch(std::string_view text) const {
    Match longest;
    size_t position = Offset(units_[0]);
    for (size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<uint8_t>(text[i]);
      position ^= byte;
      if (byte == 0 || position >= units_.size() || Label(units_[position]) != byte) break;
      const uint32_t unit = units_[position];
      position ^= Offset(unit);
      if (!HasLeaf(unit)) continue;
      if (position >= units_.size()) break;
      const uint32_t replacement = Value(units_[position]);
      if (replacement < replacements_.size()) longest = {i + 1, replacement};
    }
    return longest;
  }

  std::vector<uint32_t> units_;  // at least one
  std::string replacements_;     // ends with a zero byte or is empty
};

}  // namespace

std::unique_ptr<NormalizerStep> MakePrependStep(std::string prefix) {
  return std::make_unique<PrependStep>(std::move(prefix));
}
std::unique_ptr<NormalizerStep> MakeReplaceStep(std::string literal, std::string replacement) {
  return std::make_unique<ReplaceLiteralStep>(std::move(literal), std::move(replacement));
}
std::unique_ptr<NormalizerStep> MakeReplaceStep(Regex pattern, std::string replacement) {
  return std::make_unique<ReplaceRegexStep>(std::move(pattern), std::move(replacement));
}
std::unique_ptr<NormalizerStep> MakeFormStep(NormalizationForm form) {
  return std::make_unique<FormStep>(form);
}
std::unique_ptr<NormalizerStep> MakeLowercaseStep() { return std::make_unique<LowercaseStep>(); }
std::unique_ptr<NormalizerStep> MakeStripStep(bool left, bool right) {
  return std::make_unique<StripStep>(left, right);
}
std::unique_ptr<NormalizerStep> MakeCollapseSpacesStep() {
  return std::make_unique<CollapseSpacesStep>();
}

Result<std::unique_ptr<NormalizerStep>> MakeCharacterMapStep(std::string_view precompiled) {
  uint32_t trie_bytes = 0;
  if (precompiled.size() < sizeof(trie_bytes)) {
    return Fail(ErrorCode::kCorrupt, "precompiled_charsmap: {} bytes, at least 4 expected",
                precompiled.size());
  }
  std::memcpy(&trie_bytes, precompiled.data(), sizeof(trie_bytes));
  const std::string_view rest = precompiled.substr(sizeof(trie_bytes));
  if (trie_bytes < sizeof(uint32_t) || trie_bytes % sizeof(uint32_t) != 0 ||
      trie_bytes > rest.size()) {
    return Fail(ErrorCode::kCorrupt,
                "precompiled_charsmap: a trie of {} bytes, a multiple of 4 up to {} expected",
                trie_bytes, rest.size());
  }
  const std::string_view replacements = rest.substr(trie_bytes);
  if (!replacements.empty() && replacements.back() != '\0') {
    return Fail(ErrorCode::kCorrupt,
                "precompiled_charsmap: the last replacement is not ended by a zero byte");
  }
  std::vector<uint32_t> units(trie_bytes / sizeof(uint32_t));
  std::memcpy(units.data(), rest.data(), trie_bytes);
  return std::make_unique<CharacterMapStep>(std::move(units), std::string(replacements));
}

std::optional<std::string> Normalizer::Apply(std::string_view text, bool begins_segment,
                                             size_t max_bytes) const {
  std::optional<std::string> normalized(text);
  for (const auto& step : steps_) {
    normalized = step->Apply(*std::move(normalized), begins_segment, max_bytes);
    if (!normalized || normalized->size() > max_bytes) return std::nullopt;
  }
  return normalized;
}

}  // namespace weft
