// BERT's vocab.txt, a token a line, which comes without a tokenizer.json. It becomes what
// transformers makes of it, as the value of a tokenizer.json.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/tokenizer/tokenizer_json.h"

namespace weft {

// `text` from the file at `path`. How texts are cleaned and which tokens are special, `hints` say,
// or else the defaults of BertTokenizer; other classes than its likes are refused by name.
Result<nlohmann::json> ReadBertVocabulary(std::string_view text, const std::string& path,
                                          const SpecialTokenHints& hints);

}  // namespace weft
