#include "model/tokenizer/tokenizer.h"

namespace weft {

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromDirectory(const std::string& directory,
                                                                  int64_t) {
  return Fail(ErrorCode::kUnsupported, "{}: tokenizer.json is not read yet", directory);
}

}  // namespace weft
