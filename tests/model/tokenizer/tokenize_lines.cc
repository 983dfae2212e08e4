// Not a test: the ids of many texts, for tests/tools/check_tokenizers.py.
//   tokenize_lines MODEL [plain]
// MODEL is a GGUF file or a directory. Standard input has a JSON string a line, standard output
// gets its ids, without special tokens around them, in a line; `plain`: special tokens in a text
// are text.
#include <iostream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "model/checkpoint.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "tokenize_lines MODEL [plain]\n");
    return 2;
  }
  const auto tokenizer = weft::LoadTokenizer(argv[1]);
  if (!tokenizer) {
    fmt::print(stderr, "{}\n", tokenizer.error().message);
    return 1;
  }
  const bool is_plain = argc > 2 && std::string_view(argv[2]) == "plain";
  const weft::EncodeOptions options = {.add_special_tokens = false,
                                       .parse_special_tokens = !is_plain};
  for (std::string line; std::getline(std::cin, line);) {
    const auto ids = (*tokenizer)->Encode(nlohmann::json::parse(line).get<std::string>(), options);
    if (!ids) {
      fmt::print(stderr, "{}: {}\n", line, ids.error().message);
      return 1;
    }
    fmt::print("{}\n", fmt::join(*ids, " "));
  }
  return 0;
}
