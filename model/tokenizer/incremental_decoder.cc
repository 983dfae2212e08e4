#include <algorithm>

#include "base/utf8.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

std::string_view LeadingSpaces::Strip(std::string_view bytes) {
  size_t count = 0;
  while (count < std::min(bytes.size(), left_) && bytes[count] == ' ') ++count;
  left_ = count == bytes.size() ? left_ - count : 0;  // behind the first other byte all is text
  return bytes.substr(count);
}

std::string IncrementalDecoder::Append(std::string_view bytes) {
  pending_.append(leading_spaces_.Strip(bytes));
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
