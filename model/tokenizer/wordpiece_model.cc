#include "model/tokenizer/wordpiece_model.h"

#include <algorithm>

namespace weft {
namespace {

bool HasMoreCharacters(std::string_view text, size_t limit) {
  const auto begins_character = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; };
  return text.size() > limit &&
         static_cast<size_t>(std::ranges::count_if(text, begins_character)) > limit;
}

}  // namespace

void WordPieceModel::Encode(std::string_view word, PieceScratch* scratch,
                            std::vector<TokenId>* ids) const {
  const std::span<const TokenId> cached = scratch->cache.Find(word);
  if (!cached.empty()) {
    ids->insert(ids->end(), cached.begin(), cached.end());
    return;
  }
  const size_t first = ids->size();
  if (HasMoreCharacters(word, options_.max_characters) || !AppendPieces(word, ids)) {
    ids->resize(first);
    if (options_.unknown) ids->push_back(*options_.unknown);
  }
  scratch->cache.Insert(word, std::span(*ids).subspan(first));
}

// False if no token goes on somewhere.
bool WordPieceModel::AppendPieces(std::string_view word, std::vector<TokenId>* ids) const {
  const ByteTrie* trie = &beginnings_;
  while (!word.empty()) {
    const ByteTrie::Match piece = trie->Longest(word);
    if (piece.size_bytes == 0) return false;
    ids->push_back(piece.value);
    word.remove_prefix(piece.size_bytes);
    trie = &continuations_;
  }
  return true;
}

}  // namespace weft
