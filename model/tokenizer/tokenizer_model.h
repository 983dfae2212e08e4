// SentencePiece's tokenizer.model, spiece.model or sentencepiece.bpe.model: a protobuf message
// ModelProto (https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto).
// BPE and Unigram models; WORD and CHAR models, white space as a suffix, and pieces of type UNUSED
// in merges are refused by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/tokenizer/piece_ids.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/tokenizer_json.h"

namespace weft {

Result<std::shared_ptr<const Tokenizer>> LoadTokenizerModel(std::string_view bytes,
                                                            const std::string& path,
                                                            const SpecialTokenHints& hints,
                                                            int64_t vocab_size);

// The same for pieces whose ids are `ids`'s; one that has none is unknown, and so is a text that no
// piece spells, unless a token does.
Result<std::shared_ptr<const Tokenizer>> LoadTokenizerModel(std::string_view bytes,
                                                            const std::string& path,
                                                            const SpecialTokenHints& hints,
                                                            int64_t vocab_size, PieceIds ids);

}  // namespace weft
