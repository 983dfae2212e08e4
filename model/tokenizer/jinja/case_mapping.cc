// Case: Unicode's simple mappings from utf8proc, and the ones that make more than one character.
#include <algorithm>
#include <iterator>
#include <utf8proc.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "model/tokenizer/jinja/text.h"

namespace weft::jinja {
namespace {

struct LongMapping {
  char32_t character;
  std::string_view upper;
  std::string_view title;
};

// The unconditional entries of Unicode's SpecialCasing.txt.
constexpr LongMapping kLongMappings[] = {
    {0x00DF, "\x53\x53", "\x53\x73"},
    {0x0149, "\xCA\xBC\x4E", "\xCA\xBC\x4E"},
    {0x01F0, "\x4A\xCC\x8C", "\x4A\xCC\x8C"},
    {0x0390, "\xCE\x99\xCC\x88\xCC\x81", "\xCE\x99\xCC\x88\xCC\x81"},
    {0x03B0, "\xCE\xA5\xCC\x88\xCC\x81", "\xCE\xA5\xCC\x88\xCC\x81"},
    {0x0587, "\xD4\xB5\xD5\x92", "\xD4\xB5\xD6\x82"},
    {0x1E96, "\x48\xCC\xB1", "\x48\xCC\xB1"},
    {0x1E97, "\x54\xCC\x88", "\x54\xCC\x88"},
    {0x1E98, "\x57\xCC\x8A", "\x57\xCC\x8A"},
    {0x1E99, "\x59\xCC\x8A", "\x59\xCC\x8A"},
    {0x1E9A, "\x41\xCA\xBE", "\x41\xCA\xBE"},
    {0x1F50, "\xCE\xA5\xCC\x93", "\xCE\xA5\xCC\x93"},
    {0x1F52, "\xCE\xA5\xCC\x93\xCC\x80", "\xCE\xA5\xCC\x93\xCC\x80"},
    {0x1F54, "\xCE\xA5\xCC\x93\xCC\x81", "\xCE\xA5\xCC\x93\xCC\x81"},
    {0x1F56, "\xCE\xA5\xCC\x93\xCD\x82", "\xCE\xA5\xCC\x93\xCD\x82"},
    {0x1F80, "\xE1\xBC\x88\xCE\x99", "\xE1\xBE\x88"},
    {0x1F81, "\xE1\xBC\x89\xCE\x99", "\xE1\xBE\x89"},
    {0x1F82, "\xE1\xBC\x8A\xCE\x99", "\xE1\xBE\x8A"},
    {0x1F83, "\xE1\xBC\x8B\xCE\x99", "\xE1\xBE\x8B"},
    {0x1F84, "\xE1\xBC\x8C\xCE\x99", "\xE1\xBE\x8C"},
    {0x1F85, "\xE1\xBC\x8D\xCE\x99", "\xE1\xBE\x8D"},
    {0x1F86, "\xE1\xBC\x8E\xCE\x99", "\xE1\xBE\x8E"},
    {0x1F87, "\xE1\xBC\x8F\xCE\x99", "\xE1\xBE\x8F"},
    {0x1F88, "\xE1\xBC\x88\xCE\x99", "\xE1\xBE\x88"},
    {0x1F89, "\xE1\xBC\x89\xCE\x99", "\xE1\xBE\x89"},
    {0x1F8A, "\xE1\xBC\x8A\xCE\x99", "\xE1\xBE\x8A"},
    {0x1F8B, "\xE1\xBC\x8B\xCE\x99", "\xE1\xBE\x8B"},
    {0x1F8C, "\xE1\xBC\x8C\xCE\x99", "\xE1\xBE\x8C"},
    {0x1F8D, "\xE1\xBC\x8D\xCE\x99", "\xE1\xBE\x8D"},
    {0x1F8E, "\xE1\xBC\x8E\xCE\x99", "\xE1\xBE\x8E"},
    {0x1F8F, "\xE1\xBC\x8F\xCE\x99", "\xE1\xBE\x8F"},
    {0x1F90, "\xE1\xBC\xA8\xCE\x99", "\xE1\xBE\x98"},
    {0x1F91, "\xE1\xBC\xA9\xCE\x99", "\xE1\xBE\x99"},
    {0x1F92, "\xE1\xBC\xAA\xCE\x99", "\xE1\xBE\x9A"},
    {0x1F93, "\xE1\xBC\xAB\xCE\x99", "\xE1\xBE\x9B"},
    {0x1F94, "\xE1\xBC\xAC\xCE\x99", "\xE1\xBE\x9C"},
    {0x1F95, "\xE1\xBC\xAD\xCE\x99", "\xE1\xBE\x9D"},
    {0x1F96, "\xE1\xBC\xAE\xCE\x99", "\xE1\xBE\x9E"},
    {0x1F97, "\xE1\xBC\xAF\xCE\x99", "\xE1\xBE\x9F"},
    {0x1F98, "\xE1\xBC\xA8\xCE\x99", "\xE1\xBE\x98"},
    {0x1F99, "\xE1\xBC\xA9\xCE\x99", "\xE1\xBE\x99"},
    {0x1F9A, "\xE1\xBC\xAA\xCE\x99", "\xE1\xBE\x9A"},
    {0x1F9B, "\xE1\xBC\xAB\xCE\x99", "\xE1\xBE\x9B"},
    {0x1F9C, "\xE1\xBC\xAC\xCE\x99", "\xE1\xBE\x9C"},
    {0x1F9D, "\xE1\xBC\xAD\xCE\x99", "\xE1\xBE\x9D"},
    {0x1F9E, "\xE1\xBC\xAE\xCE\x99", "\xE1\xBE\x9E"},
    {0x1F9F, "\xE1\xBC\xAF\xCE\x99", "\xE1\xBE\x9F"},
    {0x1FA0, "\xE1\xBD\xA8\xCE\x99", "\xE1\xBE\xA8"},
    {0x1FA1, "\xE1\xBD\xA9\xCE\x99", "\xE1\xBE\xA9"},
    {0x1FA2, "\xE1\xBD\xAA\xCE\x99", "\xE1\xBE\xAA"},
    {0x1FA3, "\xE1\xBD\xAB\xCE\x99", "\xE1\xBE\xAB"},
    {0x1FA4, "\xE1\xBD\xAC\xCE\x99", "\xE1\xBE\xAC"},
    {0x1FA5, "\xE1\xBD\xAD\xCE\x99", "\xE1\xBE\xAD"},
    {0x1FA6, "\xE1\xBD\xAE\xCE\x99", "\xE1\xBE\xAE"},
    {0x1FA7, "\xE1\xBD\xAF\xCE\x99", "\xE1\xBE\xAF"},
    {0x1FA8, "\xE1\xBD\xA8\xCE\x99", "\xE1\xBE\xA8"},
    {0x1FA9, "\xE1\xBD\xA9\xCE\x99", "\xE1\xBE\xA9"},
    {0x1FAA, "\xE1\xBD\xAA\xCE\x99", "\xE1\xBE\xAA"},
    {0x1FAB, "\xE1\xBD\xAB\xCE\x99", "\xE1\xBE\xAB"},
    {0x1FAC, "\xE1\xBD\xAC\xCE\x99", "\xE1\xBE\xAC"},
    {0x1FAD, "\xE1\xBD\xAD\xCE\x99", "\xE1\xBE\xAD"},
    {0x1FAE, "\xE1\xBD\xAE\xCE\x99", "\xE1\xBE\xAE"},
    {0x1FAF, "\xE1\xBD\xAF\xCE\x99", "\xE1\xBE\xAF"},
    {0x1FB2, "\xE1\xBE\xBA\xCE\x99", "\xE1\xBE\xBA\xCD\x85"},
    {0x1FB3, "\xCE\x91\xCE\x99", "\xE1\xBE\xBC"},
    {0x1FB4, "\xCE\x86\xCE\x99", "\xCE\x86\xCD\x85"},
    {0x1FB6, "\xCE\x91\xCD\x82", "\xCE\x91\xCD\x82"},
    {0x1FB7, "\xCE\x91\xCD\x82\xCE\x99", "\xCE\x91\xCD\x82\xCD\x85"},
    {0x1FBC, "\xCE\x91\xCE\x99", "\xE1\xBE\xBC"},
    {0x1FC2, "\xE1\xBF\x8A\xCE\x99", "\xE1\xBF\x8A\xCD\x85"},
    {0x1FC3, "\xCE\x97\xCE\x99", "\xE1\xBF\x8C"},
    {0x1FC4, "\xCE\x89\xCE\x99", "\xCE\x89\xCD\x85"},
    {0x1FC6, "\xCE\x97\xCD\x82", "\xCE\x97\xCD\x82"},
    {0x1FC7, "\xCE\x97\xCD\x82\xCE\x99", "\xCE\x97\xCD\x82\xCD\x85"},
    {0x1FCC, "\xCE\x97\xCE\x99", "\xE1\xBF\x8C"},
    {0x1FD2, "\xCE\x99\xCC\x88\xCC\x80", "\xCE\x99\xCC\x88\xCC\x80"},
    {0x1FD3, "\xCE\x99\xCC\x88\xCC\x81", "\xCE\x99\xCC\x88\xCC\x81"},
    {0x1FD6, "\xCE\x99\xCD\x82", "\xCE\x99\xCD\x82"},
    {0x1FD7, "\xCE\x99\xCC\x88\xCD\x82", "\xCE\x99\xCC\x88\xCD\x82"},
    {0x1FE2, "\xCE\xA5\xCC\x88\xCC\x80", "\xCE\xA5\xCC\x88\xCC\x80"},
    {0x1FE3, "\xCE\xA5\xCC\x88\xCC\x81", "\xCE\xA5\xCC\x88\xCC\x81"},
    {0x1FE4, "\xCE\xA1\xCC\x93", "\xCE\xA1\xCC\x93"},
    {0x1FE6, "\xCE\xA5\xCD\x82", "\xCE\xA5\xCD\x82"},
    {0x1FE7, "\xCE\xA5\xCC\x88\xCD\x82", "\xCE\xA5\xCC\x88\xCD\x82"},
    {0x1FF2, "\xE1\xBF\xBA\xCE\x99", "\xE1\xBF\xBA\xCD\x85"},
    {0x1FF3, "\xCE\xA9\xCE\x99", "\xE1\xBF\xBC"},
    {0x1FF4, "\xCE\x8F\xCE\x99", "\xCE\x8F\xCD\x85"},
    {0x1FF6, "\xCE\xA9\xCD\x82", "\xCE\xA9\xCD\x82"},
    {0x1FF7, "\xCE\xA9\xCD\x82\xCE\x99", "\xCE\xA9\xCD\x82\xCD\x85"},
    {0x1FFC, "\xCE\xA9\xCE\x99", "\xE1\xBF\xBC"},
    {0xFB00, "\x46\x46", "\x46\x66"},
    {0xFB01, "\x46\x49", "\x46\x69"},
    {0xFB02, "\x46\x4C", "\x46\x6C"},
    {0xFB03, "\x46\x46\x49", "\x46\x66\x69"},
    {0xFB04, "\x46\x46\x4C", "\x46\x66\x6C"},
    {0xFB05, "\x53\x54", "\x53\x74"},
    {0xFB06, "\x53\x54", "\x53\x74"},
    {0xFB13, "\xD5\x84\xD5\x86", "\xD5\x84\xD5\xB6"},
    {0xFB14, "\xD5\x84\xD4\xB5", "\xD5\x84\xD5\xA5"},
    {0xFB15, "\xD5\x84\xD4\xBB", "\xD5\x84\xD5\xAB"},
    {0xFB16, "\xD5\x8E\xD5\x86", "\xD5\x8E\xD5\xB6"},
    {0xFB17, "\xD5\x84\xD4\xBD", "\xD5\x84\xD5\xAD"},
};

const LongMapping* FindLongMapping(char32_t character) {
  if (character < 0xDF) return nullptr;
  const auto* const found =
      std::lower_bound(std::begin(kLongMappings), std::end(kLongMappings), character,
                       [](const LongMapping& m, char32_t c) { return m.character < c; });
  return found != std::end(kLongMappings) && found->character == character ? found : nullptr;
}

void AppendUpper(char32_t c, std::string* out) {
  if (const LongMapping* mapping = FindLongMapping(c)) {
    out->append(mapping->upper);
  } else {
    AppendUtf8(static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))), out);
  }
}

void AppendTitle(char32_t c, std::string* out) {
  if (const LongMapping* mapping = FindLongMapping(c)) {
    out->append(mapping->title);
  } else {
    AppendUtf8(static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))), out);
  }
}

bool IsCased(char32_t c) { return IsLower(c) || IsUpper(c) || IsTitleCase(c); }

// Passed over when looking for the letters beside a sigma.
bool IsCaseIgnorable(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2018 || c == 0x2019 ||
             c == 0x2024 || c == 0x2027;
  }
}

// Lower-cases one character after another; a capital sigma at the end of a word becomes the final
// one.
class Lowering {
 public:
  explicit Lowering(std::string* out) : out_(out) {}

  void Append(char32_t c) {
    constexpr char32_t kSigma = 0x3A3;
    constexpr char32_t kDottedI = 0x130;
    if (c == kSigma && after_cased_) {
      Settle(true);
      pending_sigma_ = out_->size();
      AppendUtf8(0x3C2, out_);
      after_cased_ = true;
      return;
    }
    if (!IsCaseIgnorable(c)) {
      Settle(IsCased(c));
      after_cased_ = IsCased(c);
    }
    if (c == kDottedI) {
      out_->append("i\xCC\x87");
    } else {
      AppendUtf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), out_);
    }
  }
  // A character that was appended by other means.
  void Passed(char32_t c) { after_cased_ = IsCased(c); }

 private:
  // What follows the sigma decides which it was.
  void Settle(bool before_cased) {
    if (pending_sigma_ != std::string::npos && before_cased) {
      out_->replace(pending_sigma_, 2, "\xCF\x83");
    }
    pending_sigma_ = std::string::npos;
  }

  std::string* out_;
  bool after_cased_ = false;
  size_t pending_sigma_ = std::string::npos;
};

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

}  // namespace

std::string ToUpper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  if (IsAscii(text)) {
    for (const char c : text) out.push_back(AsciiToUpper(c));
    return out;
  }
  ForEachCharacter(text, [&](char32_t c, std::string_view) { AppendUpper(c, &out); });
  return out;
}

std::string ToLower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  if (IsAscii(text)) {
    for (const char c : text) out.push_back(AsciiToLower(c));
    return out;
  }
  Lowering lowering(&out);
  ForEachCharacter(text, [&](char32_t c, std::string_view) { lowering.Append(c); });
  return out;
}

std::string ToTitle(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  Lowering lowering(&out);
  bool in_word = false;
  ForEachCharacter(text, [&](char32_t c, std::string_view) {
    if (in_word) {
      lowering.Append(c);
    } else {
      AppendTitle(c, &out);
      lowering.Passed(c);
    }
    in_word = IsCased(c);
  });
  return out;
}

std::string ToCapitalized(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  Lowering lowering(&out);
  bool first = true;
  ForEachCharacter(text, [&](char32_t c, std::string_view) {
    if (first) {
      AppendTitle(c, &out);
      lowering.Passed(c);
    } else {
      lowering.Append(c);
    }
    first = false;
  });
  return out;
}

std::string ToSwappedCase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  Lowering lowering(&out);
  ForEachCharacter(text, [&](char32_t c, std::string_view bytes) {
    if (IsUpper(c)) {
      lowering.Append(c);
    } else {
      if (IsLower(c)) {
        AppendUpper(c, &out);
      } else {
        out.append(bytes);
      }
      lowering.Passed(c);
    }
  });
  return out;
}

std::string ToCaseFolded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  ForEachCharacter(text, [&](char32_t c, std::string_view) {
    constexpr int kMaxFolded = 8;
    utf8proc_int32_t folded[kMaxFolded];
    int boundary_class = UTF8PROC_BOUNDCLASS_START;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded, kMaxFolded,
                                               UTF8PROC_CASEFOLD, &boundary_class);
    for (utf8proc_ssize_t i = 0; i < count && i < kMaxFolded; ++i) {
      AppendUtf8(static_cast<char32_t>(folded[i]), &out);
    }
  });
  return out;
}

}  // namespace weft::jinja
