// From a piece of text to token ids by a unigram language model: of all ways to spell the text by
// tokens, the one whose scores (logarithms of probabilities) have the greatest sum
// (https://arxiv.org/abs/1804.10959), as SentencePiece and Hugging Face's tokenizers find it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer/byte_trie.h"
#include "model/tokenizer/piece_model.h"
#include "model/tokenizer/vocabulary.h"

namespace weft {

// A token that texts may be spelled with.
struct UnigramPiece {
  TokenId id = 0;
  double score = 0.0;  // finite
};

struct UnigramOptions {
  std::optional<TokenId> unknown = std::nullopt;  // without it, what cannot be spelled is dropped
  double unknown_score = 0.0;  // of a character that is no token, see kUnknownPenalty
  bool byte_fallback = false;  // unknown characters become <0xAB> tokens if these are there
  // Whether unknown characters that, together, some token of the vocabulary spells become it, one
  // that is no piece.
  bool finds_unknown = false;
  // Whether sums are rounded to float32, as SentencePiece's are; Hugging Face's are float64. Scores
  // have float32's range then.
  bool float32_sums = false;
};

// How much less than the lowest score of all pieces an unknown character has.
inline constexpr double kUnknownPenalty = 10.0;

// Immutable after construction. The time is linear in the text, times the longest piece's length;
// the memory 16 bytes for each of the text's between two places that no piece crosses.
class UnigramModel final : public PieceModel {
 public:
  // The spellings are the vocabulary's; those that are empty or not UTF-8 are never used, and of
  // several pieces with one spelling the last is.
  UnigramModel(std::shared_ptr<const Vocabulary> vocabulary, std::span<const UnigramPiece> pieces,
               const UnigramOptions& options);

  void Encode(std::string_view piece, PieceScratch* scratch,
              std::vector<TokenId>* ids) const override;
  // A byte token, or else what U+FFFD is.
  void EncodeInvalidByte(char byte, PieceScratch* scratch,
                         std::vector<TokenId>* ids) const override;

 private:
  class Output;

  void AddTokens(std::string_view rest, size_t at, std::vector<UnigramStep>* steps) const;
  double Sum(double a, double b) const;
  static void Offer(double score, TokenId id, size_t size_bytes, UnigramStep* step);
  bool HasByteTokens(std::string_view bytes) const;
  std::optional<TokenId> UnknownTokenOf(std::string_view text) const;

  std::shared_ptr<const Vocabulary> vocabulary_;
  UnigramOptions options_;
  ByteTrie trie_;                         // spelling -> id
  std::vector<double> scores_;            // by id
  std::array<TokenId, 256> byte_tokens_;  // of each byte; negative: there is none
};

}  // namespace weft
