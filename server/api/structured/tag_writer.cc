#include "server/api/structured/tag_writer.h"

#include <algorithm>
#include <optional>

#include "grammar/regex/symbol_set.h"

namespace weft {

// Names of special tokens begin and end with brackets.
std::vector<TagWriter::Piece> TagWriter::PiecesOf(std::string_view text) const {
  constexpr size_t kMostBytes = 64;  // of a name
  std::vector<Piece> pieces;
  size_t begin = 0;  // of the literal text
  for (size_t i = 0; tokens_.by_name && i < text.size();) {
    std::optional<int32_t> token;
    size_t size = 0;
    if (text[i] == '<' || text[i] == '[') {
      const std::string_view near = text.substr(i, kMostBytes);
      for (size = near.size(); size > 1 && !token; --size) {
        if (near[size - 1] == '>' || near[size - 1] == ']')
          token = tokens_.by_name(near.substr(0, size));
        if (token) break;
      }
    }
    if (!token) {
      ++i;
      continue;
    }
    pieces.push_back({text.substr(begin, i - begin), token});
    i += size;
    begin = i;
  }
  if (begin < text.size() || pieces.empty()) pieces.push_back({text.substr(begin), std::nullopt});
  return pieces;
}

GrammarExpr TagWriter::Text(std::string_view text) {
  std::vector<GrammarExpr> parts;
  for (const Piece& piece : PiecesOf(text)) {
    parts.push_back(builder_.Literal(piece.text));
    if (!piece.token) continue;
    parts.push_back(IsEnd(*piece.token) ? builder_.Choice({})
                                        : builder_.SpecialToken(*piece.token));
  }
  return builder_.Sequence(parts);
}

GrammarExpr TagWriter::Close(std::string_view tag) {
  return EndsReply(tag) ? builder_.Literal("") : Text(tag);
}

bool TagWriter::EndsReply(std::string_view tag) const {
  const std::vector<Piece> pieces = PiecesOf(tag);
  return pieces.size() == 1 && pieces[0].text.empty() && pieces[0].token && IsEnd(*pieces[0].token);
}

bool TagWriter::IsEnd(int32_t token) const {
  return std::ranges::find(end_tokens_, token) != end_tokens_.end();
}

RegexId TagWriter::Without(std::span<const std::string_view> texts) {
  RegexArena& arena = builder_.regexes();
  std::vector<RegexId> words;
  for (const std::string_view text : texts) {
    if (!text.empty()) words.push_back(arena.Literal(text));
  }
  if (words.empty()) return arena.AnyText();
  const RegexId any = arena.AnyText();
  const RegexId parts[] = {any, arena.Or(words), any};
  return arena.Not(arena.Concat(parts));
}

RegexId TagWriter::SpaceRegex() {
  constexpr uint32_t kMost = 16;
  RegexArena& arena = builder_.regexes();
  return arena.Repeat(arena.Set(SymbolSet({{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}})), 0, kMost);
}

}  // namespace weft
