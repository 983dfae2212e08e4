#include "proto/sparse/sparse_response.h"

#include <iterator>

#include <fmt/format.h>

namespace weft {

std::string ToJson(std::span<const SparseVector> vectors) {
  std::string text = "[";
  for (const SparseVector& vector : vectors) {
    text += text.size() == 1 ? "[" : ",[";
    for (size_t i = 0; i < vector.tokens.size(); ++i) {
      fmt::format_to(std::back_inserter(text), R"({}{{"index":{},"value":{}}})", i == 0 ? "" : ",",
                     vector.tokens[i], vector.weights[i]);
    }
    text += ']';
  }
  text += ']';
  return text;
}

}  // namespace weft
