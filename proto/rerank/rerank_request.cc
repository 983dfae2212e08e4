#include "proto/rerank/rerank_request.h"

#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"
#include "proto/truncation_reader.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::array kUnsupportedRerankFields = {
    UnsupportedField{"max_chunks_per_doc", "null"},
    UnsupportedField{"rank_fields", "null"},
    UnsupportedField{"return_embeddings", "false"},
};
constexpr auto kRerankFields = JoinFields(
    std::array<std::string_view, 11>{"model", "query", "documents", "top_n", "return_documents",
                                     "max_tokens_per_doc", "instruction", "raw_scores", "priority",
                                     "user", "use_activation"},
    kTruncationFields);
constexpr auto kTeiRerankFields =
    JoinFields(std::array<std::string_view, 7>{"model", "query", "texts", "raw_scores",
                                               "return_text", "instruction", "top_n"},
               kTruncationFields);

ApiResult<std::string> ReadQuery(const json& body) {
  std::optional<std::string> query;
  WEFT_RETURN_IF_ERROR(ReadString(body, "query", query));
  if (!query) return RefuseMissing("query", "send what the documents are compared with");
  return *std::move(query);
}

// Of a document the text: it is a string, or, of Cohere's and Jina's, an object with one.
ApiResult<std::string> ReadDocument(const json& value, const std::string& path, bool as_tei) {
  if (value.is_string()) return value.get<std::string>();
  if (as_tei) return RefuseValue(path, "a string", value);
  if (!value.is_object()) return RefuseValue(path, "a string, or an object with a 'text'", value);
  const json* text = FindField(value, "text");
  if (text == nullptr) return RefuseMissing(path + ".text", "send the document's text");
  if (!text->is_string()) return RefuseValue(path + ".text", "a string", *text);
  return text->get<std::string>();
}

ApiResult<std::vector<std::string>> ReadRankedDocuments(const json& body, const std::string& name,
                                                        bool as_tei) {
  const json* list = FindField(body, name);
  if (list == nullptr) return RefuseMissing(name, "send the texts to rank");
  if (!list->is_array()) return RefuseValue(name, "an array of texts", *list);
  if (list->empty()) {
    return tl::unexpected(
        InvalidField(name, fmt::format("'{}' is an empty array; send at least one text", name)));
  }
  if (list->size() > kMaxRankedDocuments) {
    return tl::unexpected(
        InvalidField(name, fmt::format("'{}' has {} texts; send at most {} a request", name,
                                       list->size(), kMaxRankedDocuments)));
  }
  std::vector<std::string> documents;
  documents.reserve(list->size());
  for (const json& element : *list) {
    ApiResult<std::string> document =
        ReadDocument(element, fmt::format("{}[{}]", name, documents.size()), as_tei);
    if (!document) return tl::unexpected(std::move(document).error());
    documents.push_back(*std::move(document));
  }
  return documents;
}

// What both shapes have.
ApiResult<RerankRequest> ReadCommon(const json& body, bool as_tei) {
  RerankRequest request;
  request.as_tei = as_tei;
  if (as_tei) request.documents_path = "texts";
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", request.model));
  ApiResult<std::string> query = ReadQuery(body);
  if (!query) return tl::unexpected(std::move(query).error());
  request.query = *std::move(query);
  auto documents = ReadRankedDocuments(body, request.documents_path, as_tei);
  if (!documents) return tl::unexpected(std::move(documents).error());
  request.documents = *std::move(documents);
  int32_t top_n = 0;
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "top_n", 0, kMaxInt32, top_n));
  if (top_n > 0) request.top_n = top_n;  // 0: all, as vLLM has it
  WEFT_RETURN_IF_ERROR(ReadString(body, "instruction", request.instruction));
  WEFT_RETURN_IF_ERROR(ReadBool(body, "raw_scores", request.raw_scores));
  const ApiResult<TruncationFields> truncation = ReadTruncation(body);
  if (!truncation) return tl::unexpected(truncation.error());
  request.truncation = *truncation;
  return request;
}

ApiResult<RerankRequest> ReadRerank(const json& body) {
  ApiResult<RerankRequest> request = ReadCommon(body, false);
  if (!request) return request;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "return_documents", request->returns_documents));
  WEFT_RETURN_IF_ERROR(
      ReadInteger(body, "max_tokens_per_doc", 1, kMaxInt32, request->max_tokens_per_doc));
  bool is_activated = true;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "use_activation", is_activated));
  request->raw_scores |= !is_activated;
  int32_t priority = 0;
  WEFT_RETURN_IF_ERROR(ReadInteger(body, "priority", 0, kMaxInt32, priority));
  std::optional<std::string> user;
  WEFT_RETURN_IF_ERROR(ReadString(body, "user", user));
  WEFT_RETURN_IF_ERROR(RefuseUnsupported(body, kUnsupportedRerankFields));
  request->unknown_field_count = CountUnknownFields(body, kRerankFields, kUnsupportedRerankFields);
  return request;
}

ApiResult<RerankRequest> ReadTeiRerank(const json& body) {
  ApiResult<RerankRequest> request = ReadCommon(body, true);
  if (!request) return request;
  WEFT_RETURN_IF_ERROR(ReadBool(body, "return_text", request->returns_documents));
  request->unknown_field_count = CountUnknownFields(body, kTeiRerankFields, {});
  return request;
}

}  // namespace

ApiResult<RerankRequest> ParseRerankRequest(std::string_view text) {
  ApiResult<json> body = ParseBody(text);
  if (!body) return tl::unexpected(std::move(body).error());
  return ReadRerank(*body);
}

ApiResult<RerankRequest> ParseAnyRerankRequest(std::string_view text) {
  ApiResult<json> body = ParseBody(text);
  if (!body) return tl::unexpected(std::move(body).error());
  const bool has_documents = FindField(*body, "documents") != nullptr;
  const bool has_texts = FindField(*body, "texts") != nullptr;
  if (has_texts && has_documents) {
    return tl::unexpected(
        InvalidField("texts", "'documents' and 'texts' are two lists to rank; send one of them"));
  }
  const bool as_tei = !has_documents && body->contains("texts");
  return as_tei ? ReadTeiRerank(*body) : ReadRerank(*body);
}

}  // namespace weft
