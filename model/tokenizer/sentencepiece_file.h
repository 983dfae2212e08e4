// What a SentencePiece file says: a protobuf message ModelProto
// (https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/vocabulary.h"

namespace weft {

inline constexpr uint64_t kModelTypeUnigram = 1;
inline constexpr uint64_t kModelTypeBpe = 2;

// The fields of TrainerSpec and NormalizerSpec that matter, with the format's defaults.
struct TrainerSpec {
  uint64_t model_type = kModelTypeUnigram;
  bool treat_whitespace_as_suffix = false;
  bool byte_fallback = false;
  int32_t unknown_id = 0;
  int32_t bos_id = 1;
  int32_t eos_id = 2;
};

struct NormalizerSpec {
  std::string_view precompiled_charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

struct SentencePieceFile {
  std::vector<Token> tokens;  // one or more, none without text
  std::vector<float> scores;  // of each; finite
  TrainerSpec trainer;
  NormalizerSpec normalizer;
};

// The result views `bytes`. kCorrupt, which names `path`: no such message, or more than
// `max_pieces`.
Result<SentencePieceFile> ReadSentencePieceFile(std::string_view bytes, const std::string& path,
                                                int64_t max_pieces);

}  // namespace weft
