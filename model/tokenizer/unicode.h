// The character classes that pre-tokenizers ask for, from utf8proc's tables. Where Hugging Face's
// tokenizers (0.23.3) are of another Unicode version, which differs from class to class, the class
// is theirs (unicode_tables.inc).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

bool IsSpace(char32_t character);          // White_Space
bool IsDecimalDigit(char32_t character);   // Nd
bool IsNumeric(char32_t character);        // Nd, Nl, No
bool IsPunctuation(char32_t character);    // P* and the other printable ASCII marks
bool IsWordCharacter(char32_t character);  // \w of UTS #18: Alphabetic, M*, Nd, Pc, joiners

bool IsMark(char32_t character);             // Mn, Mc, Me, of StripAccents
bool IsNonSpacingMark(char32_t character);   // Mn, of BERT
bool IsControlOrFormat(char32_t character);  // Cc, Cf, Co, of BERT

// `text`, valid UTF-8, for a regular expression of PCRE2: characters of which its Unicode version
// does not say what Oniguruma's does give way to others of as many bytes. Views `text`, or *storage
// if there are such.
std::string_view WithStandIns(std::string_view text, std::string* storage);

enum class NormalizationForm { kNfc, kNfd, kNfkc, kNfkd };

// Unicode normalisation of valid UTF-8 in O(n log n), whatever the combining marks. Nothing if it
// comes to more than `max_bytes`: a character may become 18.
std::optional<std::string> Normalize(std::string_view text, NormalizationForm form,
                                     size_t max_bytes);
// Full lower-casing, character by character (no final sigma).
std::string Lowercase(std::string_view text);
// Valid UTF-8 without the characters for which `is_dropped` holds.
std::string DropCharacters(std::string_view text, bool (*is_dropped)(char32_t));
// The size in bytes of the grapheme cluster (UAX #29, extended) that the valid UTF-8 `text`, which
// is not empty, begins with.
size_t GraphemeBytes(std::string_view text);

}  // namespace weft
