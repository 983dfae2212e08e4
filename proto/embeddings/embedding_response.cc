#include "proto/embeddings/embedding_response.h"

#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "proto/json_dump.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little);

// RFC 4648, section 4.
void AppendBase64(std::span<const unsigned char> bytes, std::string& output) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const std::span<const unsigned char> group =
        bytes.subspan(i, std::min<size_t>(3, bytes.size() - i));
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j) bits = bits << 8 | (j < group.size() ? group[j] : 0U);
    for (size_t j = 0; j < 4; ++j) {
      output += j <= group.size() ? kAlphabet[bits >> (18 - 6 * j) & 63] : '=';
    }
  }
}

void AppendBytes(const std::vector<float>& numbers, std::string& output) {
  std::vector<unsigned char> bytes(numbers.size() * sizeof(float));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  output += '"';
  AppendBase64(bytes, output);
  output += '"';
}

}  // namespace

void AppendNumbers(const std::vector<float>& numbers, std::string& output) {
  output += '[';
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) output += ',';
    fmt::format_to(std::back_inserter(output), "{}", numbers[i]);
  }
  output += ']';
}

uint64_t EmbeddingJsonBytes(int64_t count, int64_t dimensions, bool base64) {
  constexpr int64_t kNumberBytes = 16;  // "-0.000123456789,"
  constexpr int64_t kEntryBytes = 80;
  constexpr int64_t kEnvelopeBytes = 1024;
  const int64_t numbers = base64 ? dimensions * 16 / 3 + 4 : dimensions * kNumberBytes;
  return static_cast<uint64_t>(count * (kEntryBytes + numbers) + kEnvelopeBytes);
}

std::string ToJson(const EmbeddingResponse& response) {
  const int64_t count = std::ssize(response.embeddings);
  const int64_t dimensions = count == 0 ? 0 : std::ssize(response.embeddings[0]);
  std::string text;
  text.reserve(EmbeddingJsonBytes(count, dimensions, response.base64));
  text += R"({"object":"list","data":[)";
  for (size_t i = 0; i < response.embeddings.size(); ++i) {
    if (i > 0) text += ',';
    text += fmt::format(R"({{"object":"embedding","index":{},"embedding":)", i);
    if (response.base64) {
      AppendBytes(response.embeddings[i], text);
    } else {
      AppendNumbers(response.embeddings[i], text);
    }
    text += '}';
  }
  const std::string model = DumpJson(nlohmann::json(response.model));
  text += fmt::format(R"(],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})", model,
                      response.prompt_tokens, response.prompt_tokens);
  return text;
}

}  // namespace weft
