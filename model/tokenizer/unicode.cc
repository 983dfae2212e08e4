#include "model/tokenizer/unicode.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utf8proc.h>
#include <vector>

#include "base/ascii.h"
#include "base/check.h"
#include "base/utf8.h"

namespace weft {
namespace {

// Characters from `first` to `last`, and what a table says of each of them.
struct CharacterRange {
  char32_t first;
  char32_t last;
  int32_t value;
};

#include "model/tokenizer/unicode_tables.inc"

// `table` is sorted.
std::optional<int32_t> Look(std::span<const CharacterRange> table, char32_t character) {
  if (character < table.front().first) return std::nullopt;
  const auto behind = std::ranges::upper_bound(table, character, {}, &CharacterRange::first);
  const CharacterRange& range = *std::prev(behind);
  if (character > range.last) return std::nullopt;
  return range.value;
}

char32_t StandIn(char32_t character) {
  return static_cast<char32_t>(
      Look(kStandIns, character).value_or(static_cast<int32_t>(character)));
}

bool IsInert(char32_t character) { return Look(kInert, character).has_value(); }

utf8proc_category_t CategoryOf(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

// Canonical ordering: every run of combining marks sorted by class, equal classes in their order.
// (utf8proc's own is quadratic in the length of a run.)
void OrderMarks(std::vector<utf8proc_int32_t>* characters) {
  const auto mark_class = [](utf8proc_int32_t c) {
    const bool is_inert = IsInert(static_cast<char32_t>(c));
    return is_inert ? utf8proc_propval_t{0} : utf8proc_get_property(c)->combining_class;
  };
  for (auto run = characters->begin(); run != characters->end();) {
    if (mark_class(*run) == 0) {
      ++run;
      continue;
    }
    const auto end = std::find_if(run, characters->end(),
                                  [&](utf8proc_int32_t c) { return mark_class(c) == 0; });
    std::stable_sort(run, end, [&](utf8proc_int32_t a, utf8proc_int32_t b) {
      return mark_class(a) < mark_class(b);
    });
    run = end;
  }
}

// What stands between two inert characters, each part for itself.
void Compose(std::vector<utf8proc_int32_t>* characters) {
  const auto is_inert = [](utf8proc_int32_t c) { return IsInert(static_cast<char32_t>(c)); };
  auto out = characters->begin();
  for (auto begin = characters->begin(); begin != characters->end();) {
    const auto end = std::find_if(begin, characters->end(), is_inert);
    const utf8proc_ssize_t count = utf8proc_normalize_utf32(
        &*begin, end - begin, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    WEFT_CHECK(count >= 0);
    out = std::copy_n(begin, count, out);
    begin = end;
    while (begin != characters->end() && is_inert(*begin)) *out++ = *begin++;
  }
  characters->erase(out, characters->end());
}

}  // namespace

bool IsSpace(char32_t character) {
  if (character < 0x80) return character == ' ' || (character >= 0x09 && character <= 0x0D);
  if (character == 0x85) return true;
  switch (CategoryOf(character)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      return false;
  }
}

bool IsDecimalDigit(char32_t character) {
  if (character < 0x80) return character >= '0' && character <= '9';
  return CategoryOf(StandIn(character)) == UTF8PROC_CATEGORY_ND;
}

bool IsNumeric(char32_t character) {
  if (character < 0x80) return character >= '0' && character <= '9';
  if (const std::optional<int32_t> known = Look(kNumeric, character)) return *known != 0;
  switch (CategoryOf(character)) {
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return false;
  }
}

bool IsPunctuation(char32_t character) {
  if (character < 0x80) {
    return (character >= 0x21 && character <= 0x2F) || (character >= 0x3A && character <= 0x40) ||
           (character >= 0x5B && character <= 0x60) || (character >= 0x7B && character <= 0x7E);
  }
  if (const std::optional<int32_t> known = Look(kPunctuation, character)) return *known != 0;
  const utf8proc_category_t category = CategoryOf(character);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool IsWordCharacter(char32_t character) {
  if (character < 0x80) {
    return IsAsciiAlphanumeric(static_cast<char>(character)) || character == '_';
  }
  if (character == 0x200C || character == 0x200D) return true;
  const utf8proc_category_t category = CategoryOf(StandIn(character));
  if (category == UTF8PROC_CATEGORY_SO) {  // circled and squared letters are alphabetic
    return (character >= 0x24B6 && character <= 0x24E9) ||
           (character >= 0x1F130 && character <= 0x1F149) ||
           (character >= 0x1F150 && character <= 0x1F169) ||
           (character >= 0x1F170 && character <= 0x1F189);
  }
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) ||
         category == UTF8PROC_CATEGORY_PC;
}

bool IsMark(char32_t character) {
  if (const std::optional<int32_t> known = Look(kMark, character)) return *known != 0;
  const utf8proc_category_t category = CategoryOf(character);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool IsNonSpacingMark(char32_t character) {
  if (const std::optional<int32_t> known = Look(kNonSpacingMark, character)) return *known != 0;
  return CategoryOf(character) == UTF8PROC_CATEGORY_MN;
}

bool IsControlOrFormat(char32_t character) {
  if (const std::optional<int32_t> known = Look(kControl, character)) return *known != 0;
  switch (CategoryOf(character)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
      return true;
    default:
      return false;
  }
}

std::string_view WithStandIns(std::string_view text, std::string* storage) {
  constexpr uint8_t kFirstLeadByte = 0xC0 | kStandIns.front().first >> 6;
  static_assert(kStandIns.front().first < 0x800);
  bool is_copy = false;
  for (size_t offset = 0; offset < text.size();) {
    if (static_cast<uint8_t>(text[offset]) < kFirstLeadByte) {
      ++offset;
      continue;
    }
    const Utf8Character character = DecodeUtf8(text, offset);
    if (const std::optional<int32_t> stand_in = Look(kStandIns, character.code_point)) {
      if (!is_copy) storage->assign(text);
      is_copy = true;
      std::string bytes;
      AppendUtf8(static_cast<char32_t>(*stand_in), &bytes);
      storage->replace(offset, bytes.size(), bytes);
    }
    offset += character.size_bytes;
  }
  return is_copy ? *storage : text;
}

std::optional<std::string> Normalize(std::string_view text, NormalizationForm form,
                                     size_t max_bytes) {
  if (IsAscii(text)) return std::string(text);
  const bool compatible = form == NormalizationForm::kNfkc || form == NormalizationForm::kNfkd;
  const bool composed = form == NormalizationForm::kNfc || form == NormalizationForm::kNfkc;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                      (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  std::array<utf8proc_int32_t, 32> decomposed;  // the longest decomposition has 18 characters
  for (size_t offset = 0; offset < text.size();) {
    const Utf8Character character = DecodeUtf8(text, offset);
    offset += character.size_bytes;
    if (IsInert(character.code_point)) {
      characters.push_back(static_cast<utf8proc_int32_t>(character.code_point));
      continue;
    }
    int boundary_class = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character.code_point),
                                decomposed.data(), decomposed.size(), options, &boundary_class);
    WEFT_CHECK(count >= 0 && static_cast<size_t>(count) <= decomposed.size());
    if (characters.size() + static_cast<size_t>(count) > max_bytes) return std::nullopt;
    characters.insert(characters.end(), decomposed.begin(), decomposed.begin() + count);
  }
  OrderMarks(&characters);
  if (composed) Compose(&characters);
  std::string normalized;
  normalized.reserve(text.size());
  for (const utf8proc_int32_t c : characters) AppendUtf8(static_cast<char32_t>(c), &normalized);
  return normalized;
}

std::string Lowercase(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) {
    const Utf8Character character = DecodeUtf8(text, offset);
    offset += character.size_bytes;
    if (character.code_point == 0x130) {  // the one character whose lower case has two
      lower += "i\xCC\x87";
      continue;
    }
    auto code_point = static_cast<utf8proc_int32_t>(character.code_point);
    if (const std::optional<int32_t> shift = Look(kLowercase, character.code_point)) {
      code_point += *shift;
    } else {
      code_point = utf8proc_tolower(code_point);
    }
    AppendUtf8(static_cast<char32_t>(code_point), &lower);
  }
  return lower;
}

std::string DropCharacters(std::string_view text, bool (*is_dropped)(char32_t)) {
  std::string kept;
  kept.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) {
    const Utf8Character character = DecodeUtf8(text, offset);
    if (!is_dropped(character.code_point)) kept.append(text, offset, character.size_bytes);
    offset += character.size_bytes;
  }
  return kept;
}

size_t GraphemeBytes(std::string_view text) {
  Utf8Character character = DecodeUtf8(text, 0);
  size_t size_bytes = character.size_bytes;
  utf8proc_int32_t state = 0;
  while (size_bytes < text.size()) {
    const Utf8Character next = DecodeUtf8(text, size_bytes);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(character.code_point),
                                         static_cast<utf8proc_int32_t>(next.code_point), &state)) {
      break;
    }
    size_bytes += next.size_bytes;
    character = next;
  }
  return size_bytes;
}

}  // namespace weft
