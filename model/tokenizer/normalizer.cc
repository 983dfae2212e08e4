#include "model/tokenizer/normalizer.h"

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
    std::string storage;
    const std::string_view subject = WithStandIns(text, &storage);
    std::string replaced;
    size_t copied = 0;
    for (size_t offset = 0; offset <= text.size();) {
      const std::optional<ByteRange> match = pattern_.Find(subject, offset, &scratch);
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

// Characters that the condition holds for go.
class DropStep final : public NormalizerStep {
 public:
  explicit DropStep(bool (*is_dropped)(char32_t)) : is_dropped_(is_dropped) {}
  std::optional<std::string> Apply(std::string text, bool, size_t) const override {
    return DropCharacters(text, is_dropped_);
  }

 private:
  bool (*is_dropped_)(char32_t);
};

// The rules of SentencePiece's first normalizer, which it calls nmt: control characters go, and
// what is like a space becomes one.
class NmtStep final : public NormalizerStep {
 public:
  std::optional<std::string> Apply(std::string text, bool, size_t) const override {
    std::string kept;
    kept.reserve(text.size());
    for (size_t offset = 0; offset < text.size();) {
      const Utf8Character character = DecodeUtf8(text, offset);
      if (IsLikeSpace(character.code_point)) {
        kept.push_back(' ');
      } else if (!IsDropped(character.code_point)) {
        kept.append(text, offset, character.size_bytes);
      }
      offset += character.size_bytes;
    }
    return kept;
  }

 private:
  static bool IsDropped(char32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
           c == 0x8F || c == 0x9F;
  }
  static bool IsLikeSpace(char32_t c) {
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
           (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
           c == 0xFEFF || c == 0xFFFD;
  }
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

std::unique_ptr<NormalizerStep> MakeStripAccentsStep() {
  return std::make_unique<DropStep>(IsMark);
}
std::unique_ptr<NormalizerStep> MakeNmtStep() { return std::make_unique<NmtStep>(); }

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
