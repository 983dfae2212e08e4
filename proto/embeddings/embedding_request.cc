#include "proto/embeddings/embedding_request.h"

#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"
#include "proto/prompt_reader.h"
#include "proto/truncation_reader.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::array kUnsupportedEmbeddingFields = {
    UnsupportedField{"add_special_tokens", "true"},
    UnsupportedField{"embed_dtype", "\"float32\""},
    UnsupportedField{"endianness", "\"native\""},
};
constexpr auto kSupportedEmbeddingFields = JoinFields(
    std::array<std::string_view, 9>{"model", "input", "encoding_format", "dimensions", "user",
                                    "pooling", "normalize", "prompt_name", "priority"},
    kTruncationFields);
constexpr auto kSupportedPoolingFields =
    JoinFields(kSupportedEmbeddingFields,
               std::array<std::string_view, 3>{"task", "use_activation", "raw_scores"});
constexpr auto kSupportedEmbedFields = JoinFields(
    std::array<std::string_view, 5>{"model", "inputs", "dimensions", "normalize", "prompt_name"},
    kTruncationFields);

constexpr auto kSupportedLlamaFields = std::to_array<std::string_view>(
    {"model", "content", "input", "encoding_format", "embd_normalize"});

template <typename Value>
struct Word {
  std::string_view text;
  Value value;
};

constexpr std::array kFormats = {
    Word<EmbeddingFormat>{"float", EmbeddingFormat::kFloat},
    Word<EmbeddingFormat>{"base64", EmbeddingFormat::kBase64},
    Word<EmbeddingFormat>{"int8", EmbeddingFormat::kInt8},
    Word<EmbeddingFormat>{"uint8", EmbeddingFormat::kUint8},
    Word<EmbeddingFormat>{"binary", EmbeddingFormat::kBinary},
    Word<EmbeddingFormat>{"ubinary", EmbeddingFormat::kUbinary},
};
constexpr std::array kPoolings = {
    Word<EmbeddingPooling>{"last", EmbeddingPooling::kLast},
    Word<EmbeddingPooling>{"mean", EmbeddingPooling::kMean},
};
constexpr std::array kTasks = {
    Word<PoolingTask>{"embed", PoolingTask::kEmbed},
    Word<PoolingTask>{"classify", PoolingTask::kClassify},
};

// One of some words; nullopt: the field is absent.
template <typename Value, size_t kCount>
ApiResult<std::optional<Value>> ReadWord(const json& body, const std::string& name,
                                         const std::array<Word<Value>, kCount>& words) {
  std::optional<std::string> text;
  WEFT_RETURN_IF_ERROR(ReadString(body, name, text));
  if (!text) return std::nullopt;
  std::string expected;
  for (size_t i = 0; i < kCount; ++i) {
    if (*text == words[i].text) return words[i].value;
    const std::string_view before = i == 0 ? "" : i + 1 == kCount ? " or " : ", ";
    expected += fmt::format("{}'{}'", before, words[i].text);
  }
  return RefuseValue(name, expected, json(*text));
}

// What all shapes have.
ApiResult<EmbeddingRequest> ReadCommonEmbedding(const json& body, std::string input_name,
                                                PromptKinds kinds) {
  EmbeddingRequest request;
  request.input_name = std::move(input_name);
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", request.model));
  WEFT_ASSIGN_OR_RETURN(request.input,
                        ReadPrompts(body, request.input_name, kMaxEmbeddingInputs, kinds));
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "dimensions", 1, kMaxInt32, request.dimensions));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "normalize", request.normalizes));
  std::optional<std::string> prompt_name;
  WEFT_RETURN_IF_ERROR(ReadString(body, "prompt_name", prompt_name));
  request.prompt_name = prompt_name.value_or("");
  WEFT_ASSIGN_OR_RETURN(request.truncation, ReadTruncation(body));
  return request;
}

// What OpenAI's shape has, and /pooling.
ApiResult<EmbeddingRequest> ReadEmbedding(const json& body, PromptKinds kinds) {
  WEFT_ASSIGN_OR_RETURN(EmbeddingRequest request, ReadCommonEmbedding(body, "input", kinds));
  WEFT_ASSIGN_OR_RETURN(const auto format, ReadWord(body, "encoding_format", kFormats));
  request.format = format.value_or(EmbeddingFormat::kFloat);
  WEFT_ASSIGN_OR_RETURN(const auto pooling, ReadWord(body, "pooling", kPoolings));
  request.pooling = pooling.value_or(EmbeddingPooling::kDefault);
  int32_t priority = 0;
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "priority", 0, kMaxInt32, priority));
  std::optional<std::string> user;
  WEFT_RETURN_IF_ERROR(ReadString(body, "user", user));
  WEFT_RETURN_IF_ERROR(RefuseUnsupported(body, kUnsupportedEmbeddingFields));
  return request;
}

}  // namespace

ApiResult<EmbeddingRequest> ParseEmbeddingRequest(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const json body, ParseBody(text));
  WEFT_ASSIGN_OR_RETURN(EmbeddingRequest request, ReadEmbedding(body, PromptKinds::kMixed));
  request.unknown_field_count =
      CountUnknownFields(body, kSupportedEmbeddingFields, kUnsupportedEmbeddingFields);
  return request;
}

ApiResult<EmbeddingRequest> ParseTeiEmbedRequest(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const json body, ParseBody(text));
  WEFT_ASSIGN_OR_RETURN(EmbeddingRequest request,
                        ReadCommonEmbedding(body, "inputs", PromptKinds::kOne));
  request.shape = EmbeddingShape::kTei;
  request.unknown_field_count = CountUnknownFields(body, kSupportedEmbedFields, {});
  return request;
}

ApiResult<EmbeddingRequest> ParseLlamaEmbeddingRequest(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const json body, ParseBody(text));
  const bool has_content = FindField(body, "content") != nullptr;
  WEFT_ASSIGN_OR_RETURN(
      EmbeddingRequest request,
      ReadCommonEmbedding(body, has_content ? "content" : "input", PromptKinds::kMixed));
  request.shape = EmbeddingShape::kLlama;
  std::optional<int32_t> norm;  // p of the p-norm that is to be 1; -1: none
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "embd_normalize", -1, kMaxInt32, norm));
  if (norm && *norm != -1 && *norm != 2) {
    return RefuseUnsupportedValue(
        "embd_normalize", "'embd_normalize' must be 2 (length 1) or -1 (as the model makes them)");
  }
  request.normalizes = norm != -1;
  WEFT_ASSIGN_OR_RETURN(const auto format, ReadWord(body, "encoding_format", kFormats));
  request.format = format.value_or(EmbeddingFormat::kFloat);
  request.unknown_field_count = CountUnknownFields(body, kSupportedLlamaFields, {});
  return request;
}

ApiResult<PoolingRequest> ParsePoolingRequest(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const json body, ParseBody(text));
  PoolingRequest request;
  WEFT_ASSIGN_OR_RETURN(request.task, ReadWord(body, "task", kTasks));
  WEFT_ASSIGN_OR_RETURN(request.embedding, ReadEmbedding(body, PromptKinds::kOne));
  bool is_activated = true;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "use_activation", is_activated));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "raw_scores", request.raw_scores));
  request.raw_scores |= !is_activated;
  request.embedding.shape = EmbeddingShape::kPooling;
  request.embedding.unknown_field_count =
      CountUnknownFields(body, kSupportedPoolingFields, kUnsupportedEmbeddingFields);
  return request;
}

}  // namespace weft
