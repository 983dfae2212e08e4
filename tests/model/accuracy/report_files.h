// What the accuracy reports exchange with another engine to be compared with it on the same tokens.
#pragma once

#include <fstream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "tests/model/accuracy/accuracy.h"
#include "tests/model/formats/gguf_builder.h"

namespace weft {

// For another engine: int32, the windows' length, then their tokens. Each window starts afresh.
// Throws std::runtime_error where there is none.
inline void WriteTokens(const Windows& windows, const std::string& path) {
  if (windows.empty()) throw std::runtime_error("no text, or one too short for one window");
  ByteWriter tokens;
  tokens.Number(static_cast<int32_t>(windows.front().size()));
  for (const std::vector<TokenId>& window : windows) {
    tokens.Bytes(std::as_bytes(std::span(window)));
  }
  std::ofstream(path, std::ios::binary) << AsText(tokens.bytes());
}

// What another engine has left, a row of float32 for each token, as many as `like` has; nothing
// without such a file. Throws std::runtime_error where its length is another.
inline std::optional<Logits> ReadLogits(const std::string& path, const Logits& like) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  Logits logits = like;
  for (std::vector<float>& row : logits) {
    file.read(reinterpret_cast<char*>(row.data()),
              static_cast<std::streamsize>(row.size() * sizeof(float)));
  }
  if (!file || file.peek() != std::ifstream::traits_type::eof()) {
    throw std::runtime_error(path + ": not as long as the reference's logits");
  }
  return logits;
}

}  // namespace weft
