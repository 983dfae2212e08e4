#include "base/utf8.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

std::string IncrementalDecoder::Append(std::string_view bytes) {
  pending_.append(bytes);
  std::string text;
  text.reserve(pending_.size());
  size_t offset = 0;
  while (offset < pending_.size()) {
    const Utf8Character character = DecodeUtf8(pending_, offset);
    if (character.status == Utf8Status::kIncomplete) break;
    if (character.status == Utf8Status::kValid) {
      text.append(pending_, offset, character.size_bytes);
    } else {
      text.append(kReplacementCharacter);
    }
    offset += character.size_bytes;
  }
  pending_.erase(0, offset);
  return text;
}

std::string IncrementalDecoder::Finish() {
  const bool unfinished = !pending_.empty();
  pending_.clear();
  return std::string(unfinished ? kReplacementCharacter : std::string_view());
}

}  // namespace weft
