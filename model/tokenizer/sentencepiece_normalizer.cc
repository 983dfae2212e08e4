// SentencePiece's normalizer, as the library itself applies it and as tokenizer.json does.
#include <utility>

#include "base/utf8.h"
#include "model/tokenizer/byte_trie.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/unicode.h"

namespace weft {
namespace {

class SentencePieceStep final : public NormalizerStep {
 public:
  explicit SentencePieceStep(SentencePieceSpec spec) : spec_(std::move(spec)) {
    std::vector<ByteTrie::Entry> entries;
    entries.reserve(spec_.user_defined.size());
    for (const std::string& spelling : spec_.user_defined) entries.push_back({spelling, 0});
    user_defined_ = ByteTrie(entries);
  }

  std::optional<std::string> Apply(std::string text, bool begins_segment,
                                   size_t max_bytes) const override {
    const bool collapse = spec_.remove_extra_whitespaces;
    const std::string_view input = text;
    std::string normalized;
    if (input.empty()) return normalized;
    normalized.reserve(input.size() + input.size() / 4);
    if (begins_segment && spec_.add_dummy_prefix) normalized += kSpaceSymbol;
    bool after_space = collapse && begins_segment;
    for (size_t offset = 0; offset < input.size();) {
      Rewriting next = RewritingOf(input.substr(offset));
      offset += next.size_bytes;
      while (after_space && next.text.starts_with(' ')) next.text.remove_prefix(1);
      for (const char c : next.text) {
        if (c == ' ') {
          normalized += kSpaceSymbol;
        } else {
          normalized += c;
        }
      }
      if (normalized.size() > max_bytes) return std::nullopt;
      if (!next.text.empty()) after_space = collapse && next.text.ends_with(' ');
    }
    while (collapse && normalized.ends_with(kSpaceSymbol)) {
      normalized.resize(normalized.size() - kSpaceSymbol.size());
    }
    return normalized;
  }

 private:
  struct Rewriting {
    size_t size_bytes;      // of the input
    std::string_view text;  // what stands there instead
  };

  Rewriting RewritingOf(std::string_view input) const {
    if (const ByteTrie::Match symbol = user_defined_.Longest(input); symbol.size_bytes > 0) {
      return {symbol.size_bytes, input.substr(0, symbol.size_bytes)};
    }
    if (const CharacterMap::Match rule = spec_.character_map.Longest(input); rule.size_bytes > 0) {
      return {rule.size_bytes, rule.replacement};
    }
    const size_t size_bytes = DecodeUtf8(input, 0).size_bytes;
    return {size_bytes, input.substr(0, size_bytes)};
  }

  SentencePieceSpec spec_;
  ByteTrie user_defined_;
};

class PrecompiledStep final : public NormalizerStep {
 public:
  explicit PrecompiledStep(CharacterMap map) : map_(std::move(map)) {}

  std::optional<std::string> Apply(std::string text, bool, size_t max_bytes) const override {
    std::string mapped;
    mapped.reserve(text.size());
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view grapheme = rest.substr(0, GraphemeBytes(rest));
      rest.remove_prefix(grapheme.size());
      if (grapheme.size() < kShortGraphemeBytes && AppendMapped(grapheme, &mapped)) {
        if (mapped.size() > max_bytes) return std::nullopt;
        continue;
      }
      for (size_t offset = 0; offset < grapheme.size();) {
        const size_t size_bytes = DecodeUtf8(grapheme, offset).size_bytes;
        const std::string_view character = grapheme.substr(offset, size_bytes);
        if (!AppendMapped(character, &mapped)) mapped += character;
        if (mapped.size() > max_bytes) return std::nullopt;
        offset += size_bytes;
      }
    }
    return mapped;
  }

 private:
  static constexpr size_t kShortGraphemeBytes = 6;  // longer ones are not looked up

  // False, and nothing appended, if no rule is a beginning of `part`.
  bool AppendMapped(std::string_view part, std::string* mapped) const {
    const CharacterMap::Match rule = map_.Shortest(part);
    if (rule.size_bytes == 0) return false;
    *mapped += rule.replacement;
    return true;
  }

  CharacterMap map_;
};

}  // namespace

std::unique_ptr<NormalizerStep> MakeSentencePieceStep(SentencePieceSpec spec) {
  return std::make_unique<SentencePieceStep>(std::move(spec));
}

std::unique_ptr<NormalizerStep> MakePrecompiledStep(CharacterMap map) {
  return std::make_unique<PrecompiledStep>(std::move(map));
}

}  // namespace weft
