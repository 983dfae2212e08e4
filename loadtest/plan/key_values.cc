#include "loadtest/plan/key_values.h"

#include <algorithm>

#include "base/quoted.h"

namespace weft {

Result<KeyValues> ParseKeyValues(std::string_view text) {
  KeyValues pairs;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view piece = text.substr(begin, end - begin);
    const size_t equals = piece.find('=');
    if (equals == std::string_view::npos && !pairs.empty()) {
      std::string_view& value = pairs.back().second;
      value = {value.data(), value.size() + 1 + piece.size()};
    } else if (equals == std::string_view::npos || equals == 0) {
      return Fail(ErrorCode::kInvalidArgument, "{}: expected KEY=VALUE,KEY=VALUE,..., found {}",
                  Quoted(text), Quoted(piece));
    } else {
      pairs.emplace_back(piece.substr(0, equals), piece.substr(equals + 1));
    }
    begin = end + 1;
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (pairs[i].first == pairs[j].first) {
        return Fail(ErrorCode::kInvalidArgument, "{}: {} stands there twice", Quoted(text),
                    Quoted(pairs[i].first));
      }
    }
  }
  return pairs;
}

}  // namespace weft
