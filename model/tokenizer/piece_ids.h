// The vocab.json that lies beside a SentencePiece file in the directories of Marian (opus-mt) and
// M2M100 and says which id a piece has: that of its text. The files' own ids mean nothing there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/vocabulary.h"

namespace weft {

struct PieceIds {
  std::vector<Token> tokens;  // by id; special ones are kControl or kUnknown
  std::string unknown;        // its text, which is there, as are the others
  std::string bos;            // empty: there is none
  std::string eos;
  std::string before;      // what stands before a text; empty: nothing. Behind it stands `eos`.
  bool has_codes = false;  // TokenizerParts::unknown_code
};

// transformers' MarianTokenizer. kUnsupported: a vocabulary of its own for the target.
Result<PieceIds> ReadMarianIds(std::string_view text, const std::string& path,
                               const SpecialTokenHints& hints, int64_t vocab_size);
// M2M100Tokenizer, whose languages have the ids behind those of the file.
Result<PieceIds> ReadM2M100Ids(std::string_view text, const std::string& path,
                               const SpecialTokenHints& hints, int64_t vocab_size);

}  // namespace weft
