// From a word to token ids by BERT's WordPiece: the longest token that the word begins with, then
// the longest of those that continue words, and so on; a word for which that fails is unknown.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer/byte_trie.h"
#include "model/tokenizer/piece_model.h"

namespace weft {

struct WordPieceOptions {
  std::optional<TokenId> unknown;  // without it, words that cannot be spelled are dropped
  size_t max_characters = 100;     // a longer word is unknown
};

// Immutable after construction.
class WordPieceModel final : public PieceModel {
 public:
  // What words begin with, and what they go on with (without the "##" of their spellings): valid
  // UTF-8, with token ids for values.
  WordPieceModel(std::span<const ByteTrie::Entry> beginnings,
                 std::span<const ByteTrie::Entry> continuations, const WordPieceOptions& options)
      : beginnings_(beginnings), continuations_(continuations), options_(options) {}

  void Encode(std::string_view word, PieceScratch* scratch,
              std::vector<TokenId>* ids) const override;
  // Nothing: BERT's normalizer drops U+FFFD, which stands for such a byte elsewhere.
  void EncodeInvalidByte(char, PieceScratch*, std::vector<TokenId>*) const override {}

 private:
  bool AppendPieces(std::string_view word, std::vector<TokenId>* ids) const;

  ByteTrie beginnings_;
  ByteTrie continuations_;
  WordPieceOptions options_;
};

}  // namespace weft
