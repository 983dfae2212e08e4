#include "model/tokenizer/special_tokens.h"

#include <utility>

#include "base/utf8.h"
#include "model/tokenizer/unicode.h"

namespace weft {
namespace {

// The character that ends before `offset`; U+0000 at the beginning of the text and after bytes that
// are not UTF-8.
Utf8Character CharacterBefore(std::string_view text, size_t offset) {
  for (size_t size = 1; size <= 4 && size <= offset; ++size) {
    const Utf8Character character = DecodeUtf8(text, offset - size);
    if (character.status == Utf8Status::kValid && character.size_bytes == size) return character;
  }
  return {};
}

bool TouchesWord(std::string_view text, size_t begin, size_t end) {
  const Utf8Character before = CharacterBefore(text, begin);
  if (before.status == Utf8Status::kValid && IsWordCharacter(before.code_point)) return true;
  if (end == text.size()) return false;
  const Utf8Character after = DecodeUtf8(text, end);
  return after.status == Utf8Status::kValid && IsWordCharacter(after.code_point);
}

size_t SkipSpaceBackwards(std::string_view text, size_t offset, size_t limit) {
  while (offset > limit) {
    const Utf8Character before = CharacterBefore(text, offset);
    if (before.status != Utf8Status::kValid || !IsSpace(before.code_point)) break;
    if (offset - limit < before.size_bytes) break;
    offset -= before.size_bytes;
  }
  return offset;
}

size_t SkipSpace(std::string_view text, size_t offset) {
  while (offset < text.size()) {
    const Utf8Character next = DecodeUtf8(text, offset);
    if (next.status != Utf8Status::kValid || !IsSpace(next.code_point)) break;
    offset += next.size_bytes;
  }
  return offset;
}

}  // namespace

SpecialTokenMatcher::SpecialTokenMatcher(std::vector<SpecialToken> tokens)
    : tokens_(std::move(tokens)) {
  std::vector<ByteTrie::Entry> entries;
  entries.reserve(tokens_.size());
  for (const SpecialToken& token : tokens_) {
    entries.push_back({token.text, static_cast<int32_t>(entries.size())});
  }
  trie_ = ByteTrie(entries);
}

const SpecialToken* SpecialTokenMatcher::MatchAt(std::string_view text, size_t offset,
                                                 bool match_control) const {
  const SpecialToken* longest = nullptr;
  uint32_t node = ByteTrie::kRoot;
  for (size_t i = offset; i < text.size(); ++i) {
    node = trie_.Child(node, static_cast<uint8_t>(text[i]));
    if (node == ByteTrie::kRoot) break;
    if (trie_.Value(node) < 0) continue;
    const SpecialToken& token = tokens_[static_cast<size_t>(trie_.Value(node))];
    if (token.control && !match_control) continue;
    longest = &token;
  }
  return longest;
}

std::vector<SpecialTokenMatcher::Segment> SpecialTokenMatcher::Split(std::string_view text,
                                                                     bool match_control) const {
  std::vector<Segment> segments;
  size_t segment_begin = 0;
  for (size_t offset = 0; offset < text.size() && !tokens_.empty();) {
    const SpecialToken* token = MatchAt(text, offset, match_control);
    if (token == nullptr) {
      ++offset;
      continue;
    }
    size_t begin = offset;
    size_t end = offset + token->text.size();
    offset = end;
    if (token->single_word && TouchesWord(text, begin, end)) continue;
    // A token may lie in the white space that the one before has taken along: it counts too, and
    // the text goes on behind it.
    if (token->strip_left) begin = SkipSpaceBackwards(text, begin, segment_begin);
    if (token->strip_right) end = SkipSpace(text, end);
    const size_t text_bytes = begin > segment_begin ? begin - segment_begin : 0;
    segments.push_back({text.substr(segment_begin, text_bytes), token});
    segment_begin = end;
  }
  segments.push_back({text.substr(segment_begin), nullptr});
  return segments;
}

}  // namespace weft
