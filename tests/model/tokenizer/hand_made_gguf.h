// GGUF metadata of a small vocabulary, made by hand, which a test can spoil.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/formats/gguf.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

class HandMadeGguf {
 public:
  explicit HandMadeGguf(std::vector<std::string> spellings, std::vector<int64_t> kinds)
      : spellings_(std::move(spellings)) {
    values["tokenizer.ggml.tokens"] =
        std::vector<std::string_view>(spellings_.begin(), spellings_.end());
    values["tokenizer.ggml.token_type"] = std::move(kinds);
  }
  HandMadeGguf(const HandMadeGguf&) = delete;

  Result<std::shared_ptr<const Tokenizer>> Load(int64_t vocab_size) const {
    return Tokenizer::FromGguf(GgufMetadata("made.gguf", values), vocab_size);
  }
  std::string Error(int64_t vocab_size) const {
    const auto tokenizer = Load(vocab_size);
    return tokenizer ? "" : tokenizer.error().message;
  }

  std::map<std::string, GgufValue, std::less<>> values;

 private:
  std::vector<std::string> spellings_;
};

}  // namespace weft
