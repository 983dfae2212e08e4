// What BERT's tokenizer makes of a text before it is cut into words.
#include <array>
#include <utility>

#include "base/utf8.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/unicode.h"

namespace weft {
namespace {

// The blocks of CJK ideographs as the reference (Hugging Face's tokenizers) has them, U+2B920
// included, where extension E begins at U+2B820.
bool IsChineseCharacter(char32_t c) {
  constexpr auto kBlocks = std::to_array<std::pair<char32_t, char32_t>>({
      {0x3400, 0x4DBF},
      {0x4E00, 0x9FFF},
      {0xF900, 0xFAFF},
      {0x20000, 0x2A6DF},
      {0x2A700, 0x2B73F},
      {0x2B740, 0x2B81F},
      {0x2B920, 0x2CEAF},
      {0x2F800, 0x2FA1F},
  });
  for (const auto& [first, last] : kBlocks) {
    if (c >= first && c <= last) return true;
  }
  return false;
}

class BertStep final : public NormalizerStep {
 public:
  explicit BertStep(const BertNormalizerOptions& options) : options_(options) {}

  std::optional<std::string> Apply(std::string text, bool, size_t max_bytes) const override {
    if (options_.clean_text || options_.handle_chinese_chars) text = CleanAndPad(text);
    if (options_.strip_accents) {
      const std::optional<std::string> decomposed =
          Normalize(text, NormalizationForm::kNfd, max_bytes);
      if (!decomposed) return std::nullopt;
      text = DropCharacters(*decomposed, IsNonSpacingMark);
    }
    if (options_.lowercase) text = Lowercase(text);
    return text;
  }

 private:
  static bool IsDropped(char32_t c) {
    if (c == '\t' || c == '\n' || c == '\r') return false;
    return c == 0xFFFD || IsControlOrFormat(c);
  }

  std::string CleanAndPad(std::string_view text) const {
    std::string clean;
    clean.reserve(text.size());
    for (size_t offset = 0; offset < text.size();) {
      const Utf8Character character = DecodeUtf8(text, offset);
      const char32_t c = character.code_point;
      const std::string_view bytes = text.substr(offset, character.size_bytes);
      offset += character.size_bytes;
      if (options_.clean_text && IsDropped(c)) continue;
      if (options_.clean_text && IsSpace(c)) {
        clean += ' ';
      } else if (options_.handle_chinese_chars && IsChineseCharacter(c)) {
        clean.append(" ").append(bytes).append(" ");
      } else {
        clean += bytes;
      }
    }
    return clean;
  }

  BertNormalizerOptions options_;
};

}  // namespace

std::unique_ptr<NormalizerStep> MakeBertStep(const BertNormalizerOptions& options) {
  return std::make_unique<BertStep>(options);
}

}  // namespace weft
