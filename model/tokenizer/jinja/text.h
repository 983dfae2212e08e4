// Python's str: what its methods know about characters. Texts are valid UTF-8; positions count code
// points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/jinja/value.h"

namespace weft::jinja {

char32_t FirstCharacter(std::string_view text);  // of a text that is not empty
// Calls visit(code_point, bytes of the character) for each.
template <typename Visit>
void ForEachCharacter(std::string_view text, Visit visit);

bool IsPythonSpace(char32_t character);  // str.isspace()
bool IsPrintable(char32_t character);
bool IsDecimal(char32_t character);
bool IsDigit(char32_t character);
bool IsNumericCharacter(char32_t character);
bool IsAlphabetic(char32_t character);
bool IsLower(char32_t character);
bool IsUpper(char32_t character);
bool IsTitleCase(char32_t character);
bool IsWord(char32_t character);  // \w of Python's re

std::string ToUpper(std::string_view text);
std::string ToLower(std::string_view text);
std::string ToTitle(std::string_view text);        // str.title()
std::string ToCapitalized(std::string_view text);  // str.capitalize()
std::string ToSwappedCase(std::string_view text);
std::string ToCaseFolded(std::string_view text);

// Without what stands at the ends and is white space or, if given, one of `characters`.
enum class Side : uint8_t { kLeft, kRight, kBoth };
std::string_view Strip(std::string_view text, Side side);
std::string_view Strip(std::string_view text, std::string_view characters, Side side);

// The byte where character `index` (0 to character_count) begins.
size_t ByteOffset(const StringObject& text, int64_t index);
int64_t CharacterIndex(const StringObject& text, size_t byte_offset);
// Characters [start, stop) by `step`, as normalised by SliceBounds.
struct SliceRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};
std::string SliceText(const StringObject& text, const SliceRange& range);

// Lines without their ends (or with them), as str.splitlines() parts them.
std::vector<std::string_view> SplitLines(std::string_view text, bool keep_ends);
// Words between white space, at most max_splits (if not negative) from the left or the right.
std::vector<std::string_view> SplitSpace(std::string_view text, int64_t max_splits);
std::vector<std::string_view> SplitSpaceRight(std::string_view text, int64_t max_splits);
std::vector<std::string_view> Split(std::string_view text, std::string_view separator,
                                    int64_t max_splits);
std::vector<std::string_view> SplitRight(std::string_view text, std::string_view separator,
                                         int64_t max_splits);

// '...' or "..." as repr() writes it.
void AppendQuoted(std::string_view text, std::string* out);
// repr() of a float.
std::string FloatText(double value);

std::string EscapeHtml(std::string_view text);

template <typename Visit>
void ForEachCharacter(std::string_view text, Visit visit) {
  size_t offset = 0;
  while (offset < text.size()) {
    size_t end = offset + 1;
    while (end < text.size() && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) ++end;
    const std::string_view bytes = text.substr(offset, end - offset);
    visit(FirstCharacter(bytes), bytes);
    offset = end;
  }
}

}  // namespace weft::jinja
