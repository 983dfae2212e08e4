// From a piece of text to token ids: what byte-pair encoding, Unigram and WordPiece have in common.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/tensor.h"
#include "model/tokenizer/merge_table.h"
#include "model/tokenizer/piece_cache.h"

namespace weft {

inline constexpr TokenId kNoToken = -1;

// The best way to one offset of a text; the Unigram model's.
struct UnigramStep {
  double score = 0.0;       // of all tokens up to here
  TokenId id = kNoToken;    // the last one; kNoToken: a character that no token is
  uint32_t size_bytes = 0;  // of the last one; 0: no way is known yet
};

// Working memory of the calls for one text; one caller, one thread.
struct PieceScratch {
  PieceCache cache;
  std::vector<TokenId> symbols;    // BPE
  MergeScratch merge;              // BPE
  std::vector<UnigramStep> steps;  // Unigram
  std::vector<size_t> ends;        // Unigram: where the tokens of the best way end, the last first
};

// Immutable after construction.
class PieceModel {
 public:
  virtual ~PieceModel() = default;
  // Appends the ids of `piece`, valid UTF-8.
  virtual void Encode(std::string_view piece, PieceScratch* scratch,
                      std::vector<TokenId>* ids) const = 0;
  // Appends what stands for one byte that is not part of a UTF-8 character.
  virtual void EncodeInvalidByte(char byte, PieceScratch* scratch,
                                 std::vector<TokenId>* ids) const = 0;
};

}  // namespace weft
