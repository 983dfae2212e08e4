#include "proto/embeddings/embedding_response.h"

#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "proto/json_dump.h"
#include "proto/usage_json.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little);

void AppendBytes(const std::vector<float>& numbers, std::string& output) {
  std::string bytes(numbers.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  output += '"';
  AppendBase64(bytes, &output);
  output += '"';
}

void AppendWholeNumbers(const std::vector<int32_t>& numbers, std::string& output) {
  fmt::format_to(std::back_inserter(output), "[{}]", fmt::join(numbers, ","));
}

void AppendEmbedding(const std::vector<float>& numbers, EmbeddingFormat format,
                     std::string& output) {
  switch (format) {
    case EmbeddingFormat::kFloat:
      return AppendNumbers(numbers, output);
    case EmbeddingFormat::kBase64:
      return AppendBytes(numbers, output);
    default:
      return AppendWholeNumbers(WholeNumbers(numbers, format), output);
  }
}

// What stands around the vectors.
struct ShapeText {
  std::string begin;
  std::string_view before;  // each vector; its index stands between this and `between`
  std::string_view between;
  std::string_view after;
  std::string end;
};

ShapeText TextOfShape(const EmbeddingResponse& response, EmbeddingShape shape) {
  if (shape == EmbeddingShape::kTei) return {"[", "", "", "", "]"};
  if (shape == EmbeddingShape::kLlama) {
    return {"[", R"({"index":)", R"(,"embedding":[)", "]}", "]"};
  }
  if (shape == EmbeddingShape::kOllamaOne) {
    return {R"({"embedding":)", "", "", "", response.embeddings.empty() ? "[]}" : "}"};
  }
  const std::string model = DumpJson(nlohmann::json(response.model));
  if (shape == EmbeddingShape::kOllama) {
    return {fmt::format(R"({{"model":{},"embeddings":[)", model), "", "", "",
            fmt::format(R"(],"total_duration":{},"load_duration":{},"prompt_eval_count":{}}})",
                        response.total_ns, response.load_ns, response.prompt_tokens)};
  }
  const std::string usage =
      DumpJson(PooledUsageJson(response.prompt_tokens, response.truncated_tokens));
  if (shape == EmbeddingShape::kOpenAi) {
    return {R"({"object":"list","data":[)", R"({"object":"embedding","index":)", R"(,"embedding":)",
            "}", fmt::format(R"(],"model":{},"usage":{}}})", model, usage)};
  }
  return {fmt::format(R"({{"id":{},"object":"list","created":{},"model":{},"data":[)",
                      DumpJson(nlohmann::json(response.id)), response.created, model),
          R"({"index":)", R"(,"object":"pooling","data":)", "}",
          fmt::format(R"(],"usage":{}}})", usage)};
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

uint64_t EmbeddingJsonBytes(int64_t count, int64_t dimensions, EmbeddingFormat format) {
  constexpr int64_t kNumberBytes = 16;      // "-0.000123456789,"
  constexpr int64_t kWholeNumberBytes = 5;  // "-128,"
  constexpr int64_t kEntryBytes = 80;
  constexpr int64_t kEnvelopeBytes = 1024;
  int64_t bytes = dimensions * kWholeNumberBytes;
  if (format == EmbeddingFormat::kFloat) bytes = dimensions * kNumberBytes;
  if (format == EmbeddingFormat::kBase64) bytes = dimensions * 16 / 3 + 4;
  return static_cast<uint64_t>(count * (kEntryBytes + bytes) + kEnvelopeBytes);
}

std::string ToJson(const EmbeddingResponse& response, EmbeddingShape shape) {
  const int64_t count = std::ssize(response.embeddings);
  const int64_t dimensions = count == 0 ? 0 : std::ssize(response.embeddings[0]);
  const ShapeText around = TextOfShape(response, shape);
  std::string text;
  text.reserve(EmbeddingJsonBytes(count, dimensions, response.format));
  text += around.begin;
  for (size_t i = 0; i < response.embeddings.size(); ++i) {
    if (i > 0) text += ',';
    text += around.before;
    if (!around.between.empty()) text += std::to_string(i);
    text += around.between;
    AppendEmbedding(response.embeddings[i], response.format, text);
    text += around.after;
  }
  text += around.end;
  return text;
}

}  // namespace weft
