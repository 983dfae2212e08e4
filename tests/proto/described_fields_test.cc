// Every field that proto/openapi.json describes, with every value that it must not have: wrong
// types, numbers out of their range, lists and texts too short or too long, NaN and infinities. The
// refusal names the field. What the document says is allowed is taken.
#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/batches/batch_object.h"
#include "proto/chat/chat_request.h"
#include "proto/classify/classify_request.h"
#include "proto/completions/completion_request.h"
#include "proto/decisions/decision_request.h"
#include "proto/embeddings/embedding_request.h"
#include "proto/messages/messages_request.h"
#include "proto/ollama/ollama_request.h"
#include "proto/openapi.h"
#include "proto/rerank/rerank_request.h"
#include "proto/responses/responses_request.h"
#include "proto/score/score_request.h"
#include "proto/sparse/sparse_request.h"

namespace weft {
namespace {

using nlohmann::json;

const json& Document() {
  static const json document = json::parse(OpenApiDocument());
  return document;
}

// Follows references.
const json& Resolved(const json& schema) {
  const json* resolved = &schema;
  while (resolved->contains("$ref")) {
    resolved = &Document()[json::json_pointer((*resolved)["$ref"].get<std::string>().substr(1))];
  }
  return *resolved;
}

// The properties of a schema and of what it is put together from.
json PropertiesOf(const json& unresolved) {
  const json& schema = Resolved(unresolved);
  json properties = schema.value("properties", json::object());
  const json parts = schema.value("allOf", json::array());
  for (const json& part : parts) {
    properties.update(PropertiesOf(part));
  }
  return properties;
}

struct Endpoint {
  std::string schema;
  json body;                                                         // the least that is accepted
  json companions;                                                   // what a field needs beside it
  std::function<ApiResult<int32_t>(const std::string& body)> parse;  // the unknown fields
};

void PrintTo(const Endpoint& endpoint, std::ostream* stream) { *stream << endpoint.schema; }

template <typename Request>
ApiResult<int32_t> UnknownFields(const ApiResult<Request>& request) {
  if (!request) return tl::unexpected(request.error());
  return request->unknown_field_count;
}

const json kWeather = json::parse(
    R"({"type":"function","function":{"name":"weather","parameters":{"type":"object"}}})");

std::vector<Endpoint> Endpoints() {
  return {
      {.schema = "CompletionRequest",
       .body = {{"prompt", "a"}},
       .companions = {{"stream_options", {{"stream", true}}},
                      {"max_tokens", {{"echo", true}}},
                      {"length_penalty", {{"use_beam_search", true}}},
                      {"early_stopping", {{"use_beam_search", true}}}},
       .parse =
           [](const std::string& body) { return UnknownFields(ParseCompletionRequest(body)); }},
      {.schema = "ChatCompletionRequest",
       .body = {{"messages", json::array({{{"role", "user"}, {"content", "a"}}})}},
       .companions = {{"stream_options", {{"stream", true}}},
                      {"top_logprobs", {{"logprobs", true}}},
                      {"tool_choice", {{"tools", json::array({kWeather})}}}},
       .parse = [](const std::string& body) { return UnknownFields(ParseChatRequest(body)); }},
      {.schema = "CreateResponseRequest",
       .body = {{"input", "a"}},
       .companions = {{"stream_options", {{"stream", true}}},
                      {"tool_choice",
                       {{"tools", json::array({{{"type", "function"}, {"name", "weather"}}})}}}},
       .parse = [](const std::string& body) -> ApiResult<int32_t> {
         const ApiResult<ResponsesRequest> request = ParseResponsesRequest(body);
         if (!request) return tl::unexpected(request.error());
         return request->chat.unknown_field_count;
       }},
      {.schema = "MessagesRequest",
       .body = {{"messages", json::array({{{"role", "user"}, {"content", "a"}}})},
                {"max_tokens", INT32_MAX}},
       .companions = json::object(),
       .parse = [](const std::string& body) -> ApiResult<int32_t> {
         const ApiResult<MessagesRequest> request = ParseMessagesRequest(body);
         if (!request) return tl::unexpected(request.error());
         return request->chat.unknown_field_count;
       }},
      {.schema = "OllamaChatRequest",
       .body = {{"messages", json::array({{{"role", "user"}, {"content", "a"}}})}},
       .companions = {{"top_logprobs", {{"logprobs", true}}}},
       .parse = [](const std::string& body) -> ApiResult<int32_t> {
         const ApiResult<OllamaRequest> request = ParseOllamaChatRequest(body);
         if (!request) return tl::unexpected(request.error());
         return request->chat.unknown_field_count;
       }},
      {.schema = "OllamaGenerateRequest",
       .body = {{"prompt", "a"}},
       .companions = {{"top_logprobs", {{"logprobs", true}}}},
       .parse = [](const std::string& body) -> ApiResult<int32_t> {
         const ApiResult<OllamaRequest> request = ParseOllamaGenerateRequest(body);
         if (!request) return tl::unexpected(request.error());
         return request->chat.unknown_field_count;
       }},
      {.schema = "OllamaEmbedRequest",
       .body = {{"input", "a"}},
       .companions = json::object(),
       .parse = [](const std::string& body) -> ApiResult<int32_t> {
         const ApiResult<OllamaEmbedRequest> request = ParseOllamaEmbedRequest(body);
         if (!request) return tl::unexpected(request.error());
         return request->embedding.unknown_field_count;
       }},
      {.schema = "OllamaEmbeddingsRequest",
       .body = {{"prompt", "a"}},
       .companions = json::object(),
       .parse = [](const std::string& body) -> ApiResult<int32_t> {
         const ApiResult<OllamaEmbedRequest> request = ParseOllamaEmbeddingsRequest(body);
         if (!request) return tl::unexpected(request.error());
         return request->embedding.unknown_field_count;
       }},
      {.schema = "OllamaShowRequest",
       .body = json::object(),
       .companions = json::object(),
       .parse =
           [](const std::string& body) { return UnknownFields(ParseOllamaShowRequest(body)); }},
      {.schema = "EmbeddingRequest",
       .body = {{"input", "a"}},
       .companions = json::object(),
       .parse = [](const std::string& body) { return UnknownFields(ParseEmbeddingRequest(body)); }},
      {.schema = "TeiEmbedRequest",
       .body = {{"inputs", "a"}},
       .companions = json::object(),
       .parse = [](const std::string& body) { return UnknownFields(ParseTeiEmbedRequest(body)); }},
      {.schema = "PoolingRequest",
       .body = {{"input", "a"}},
       .companions = json::object(),
       .parse = [](const std::string& body) -> ApiResult<int32_t> {
         const ApiResult<PoolingRequest> request = ParsePoolingRequest(body);
         if (!request) return tl::unexpected(request.error());
         return request->embedding.unknown_field_count;
       }},
      {.schema = "SparseRequest",
       .body = {{"inputs", "a"}},
       .companions = json::object(),
       .parse = [](const std::string& body) { return UnknownFields(ParseSparseRequest(body)); }},
      {.schema = "BatchRequest",
       .body = {{"input_file_id", "file-1"},
                {"endpoint", "/v1/completions"},
                {"completion_window", "24h"}},
       .companions = json::object(),
       .parse = [](const std::string& body) { return UnknownFields(ParseBatchRequest(body)); }},
      {.schema = "RerankRequest",
       .body = {{"query", "a"}, {"documents", {"a"}}},
       .companions = json::object(),
       .parse = [](const std::string& body) { return UnknownFields(ParseRerankRequest(body)); }},
      {.schema = "TeiRerankRequest",
       .body = {{"query", "a"}, {"texts", {"a"}}},
       .companions = json::object(),
       .parse = [](const std::string& body) { return UnknownFields(ParseAnyRerankRequest(body)); }},
      {.schema = "ClassifyRequest",
       .body = {{"input", "a"}},
       .companions = json::object(),
       .parse = [](const std::string& body) { return UnknownFields(ParseClassifyRequest(body)); }},
      {.schema = "PredictRequest",
       .body = {{"inputs", "a"}},
       .companions = json::object(),
       .parse = [](const std::string& body) { return UnknownFields(ParsePredictRequest(body)); }},
      {.schema = "DecisionRequest",
       .body = {{"input", "a"},
                {"questions", json::array({{{"type", "predicate"}, {"instructions", "a"}}})}},
       .companions = json::object(),
       .parse = [](const std::string& body) { return UnknownFields(ParseDecisionRequest(body)); }},
      {.schema = "LabelScoreRequest",
       .body = {{"query", "a"}, {"items", {"a"}}, {"label_token_ids", {1}}},
       .companions = json::object(),
       .parse =
           [](const std::string& body) {
             return UnknownFields(ParseLabelScoreRequest(body, LabelScoreShape::kSglang));
           }},
      {.schema = "ScoreRequest",
       .body = {{"text_1", "a"}, {"text_2", "a"}},
       .companions = json::object(),
       .parse = [](const std::string& body) { return UnknownFields(ParseScoreRequest(body)); }},
  };
}

// One schema out of those that a value may follow.
std::vector<json> Alternatives(const json& unresolved) {
  const json& schema = Resolved(unresolved);
  std::vector<json> alternatives;
  for (const char* key : {"anyOf", "oneOf"}) {
    const json parts = schema.value(key, json::array());
    for (const json& each : parts) {
      for (json& inner : Alternatives(each)) alternatives.push_back(std::move(inner));
    }
  }
  if (alternatives.empty()) alternatives.push_back(schema);
  return alternatives;
}

std::string TypeOf(const json& value) {
  if (value.is_number_integer()) return "integer";
  if (value.is_number()) return "number";
  return value.type_name();
}

bool AllowsType(const json& schema, const std::string& type) {
  if (!schema.contains("type")) return false;
  const json& types = schema["type"];
  const auto is_one = [&](const json& each) {
    return each == type || (type == "integer" && each == "number");
  };
  return types.is_array() ? std::ranges::any_of(types, is_one) : is_one(types);
}

// Whether a value of this type may be right; with enumerations, whether this very value is.
bool MayBe(const json& unresolved, const json& value) {
  return std::ranges::any_of(Alternatives(unresolved), [&](const json& schema) {
    if (schema.contains("const")) return schema["const"] == value;
    if (schema.contains("enum")) {
      const json& values = schema["enum"];
      return std::ranges::find(values, value) != values.end();
    }
    return AllowsType(schema, TypeOf(value));
  });
}

// Values for a field and whether they are right, as far as the schema of its own can say.
struct Try {
  json value;
  bool right = false;
};

void TryTypes(const json& schema, std::vector<Try>& tries) {
  for (const json& value :
       {json(nullptr), json(true), json(7), json(0.5), json("weft"), json::array(), json::object(),
        json::array({json::object()}), json::array({nullptr}), json(-1e300), json(1e300)}) {
    if (!MayBe(schema, value)) tries.push_back({value});
  }
}

void TryRange(const json& schema, std::vector<Try>& tries) {
  const bool whole = AllowsType(schema, "integer") && !AllowsType(schema, "number");
  for (const auto& [key, step] : {std::pair("minimum", -1), std::pair("maximum", 1)}) {
    if (!schema.contains(key)) continue;
    const json& end = schema[key];
    tries.push_back({end, true});
    // JSON Schema's integers may be written as floats, which hold these exactly.
    if (std::abs(end.get<double>()) < 0x1p53) tries.push_back({end.get<double>(), true});
    if (end == json(UINT64_MAX)) {
      tries.push_back({json(1.8446744073709552e19)});
    } else if (whole && end.get<int64_t>() == INT64_MIN) {
      tries.push_back({json(-9.3e18)});
    } else if (whole) {
      tries.push_back({end.get<int64_t>() + step});
    } else {
      tries.push_back({end.get<double>() + step * 0.001});
    }
  }
  if (whole) tries.push_back({0.5});
}

void TryEnumeration(const json& schema, std::vector<Try>& tries) {
  const json values = schema.value("enum", json::array());
  for (const json& value : values) tries.push_back({value, true});
}

// A value that a list's elements may have, or null.
json ElementOf(const json& unresolved, int number) {
  const json& items = Resolved(unresolved);
  if (items.contains("enum"))
    return items["enum"][static_cast<size_t>(number) % items["enum"].size()];
  if (AllowsType(items, "integer")) return 1;
  if (AllowsType(items, "string")) return "x";
  return nullptr;
}

void TryList(const json& schema, std::vector<Try>& tries) {
  if (!schema.contains("items") || !AllowsType(schema, "array")) return;
  const json& items = schema["items"];
  const int64_t least = schema.value("minItems", 0);
  tries.push_back({json::array(), least == 0});
  const json element = ElementOf(items, 0);
  if (element.is_null()) return;
  if (least < 2) tries.push_back({json::array({element}), true});
  if (schema.contains("maxItems")) {
    const auto most = schema["maxItems"].get<size_t>();
    tries.push_back({json(most, element), true});
    tries.push_back({json(most + 1, element)});
  }
  if (schema.value("uniqueItems", false)) tries.push_back({json::array({element, element})});
  for (const json& wrong : {json(nullptr), json(true), json(0.5), json("weft"), json(-1),
                            json(int64_t{1} << 40), json::object()}) {
    if (!MayBe(items, wrong) || wrong == -1 || wrong == int64_t{1} << 40) {
      if (MayBe(items, wrong) && Resolved(items).value("minimum", -2) < 0) continue;
      tries.push_back({json::array({element, wrong})});
    }
  }
}

void TryText(const json& schema, std::vector<Try>& tries) {
  if (!AllowsType(schema, "string") || schema.contains("contentMediaType")) return;
  const auto least = schema.value("minLength", size_t{0});
  tries.push_back({std::string(least, 'x'), true});
  if (least > 0) tries.push_back({std::string(least - 1, 'x')});
  if (!schema.contains("maxLength")) return;
  const auto most = schema["maxLength"].get<size_t>();
  tries.push_back({std::string(most, 'x'), true});
  tries.push_back({std::string(most + 1, 'x')});
}

// Values of one alternative only are right or wrong by it: the others must not allow their type.
std::vector<Try> TriesFor(const json& field) {
  std::vector<Try> tries;
  TryTypes(field, tries);
  for (const json& schema : Alternatives(field)) {
    TryRange(schema, tries);
    TryEnumeration(schema, tries);
    TryList(schema, tries);
    TryText(schema, tries);
  }
  return tries;
}

bool NamesField(const ApiError& error, const std::string& path) {
  return error.param == path || error.param.starts_with(path + ".") ||
         error.param.starts_with(path + "[");
}

class DescribedFieldTest : public testing::TestWithParam<Endpoint> {
 protected:
  static json Fields() {
    return PropertiesOf({{"$ref", "#/components/schemas/" + GetParam().schema}});
  }

  static json BodyWith(const std::string& name, const json& value) {
    json body = GetParam().body;
    body.update(GetParam().companions.value(name, json::object()));
    body[name] = value;
    return body;
  }

  static void Expect(const json& body, const std::string& path, bool right) {
    const ApiResult<int32_t> unknown = GetParam().parse(body.dump());
    const std::string shown = path + ": " + body.dump().substr(0, 300);
    if (right) {
      EXPECT_TRUE(unknown || !NamesField(unknown.error(), path))
          << shown << ": " << (unknown ? "" : unknown.error().message);
      return;
    }
    ASSERT_FALSE(unknown) << shown;
    EXPECT_TRUE(NamesField(unknown.error(), path)) << shown << ": " << unknown.error().param;
    EXPECT_EQ(unknown.error().status, 400) << shown;
  }
};

TEST_P(DescribedFieldTest, TakesWhatIsRightAndNamesWhatIsWrong) {
  int count = 0;
  const json fields = Fields();
  for (const auto& [name, field] : fields.items()) {
    for (const Try& each : TriesFor(field)) {
      Expect(BodyWith(name, each.value), name, each.right);
      ++count;
    }
    const json members = Resolved(field).value("properties", json::object());
    for (const auto& [member, schema] : members.items()) {
      for (const Try& each : TriesFor(schema)) {
        Expect(BodyWith(name, {{member, each.value}}), fmt::format("{}.{}", name, member),
               each.right);
        ++count;
      }
    }
  }
  EXPECT_GT(count, 5 * static_cast<int>(fields.size()));
}

TEST_P(DescribedFieldTest, IsKnown) {
  const json fields = Fields();
  for (const auto& [name, field] : fields.items()) {
    if (GetParam().body.contains(name) || !MayBe(field, nullptr)) continue;
    const ApiResult<int32_t> unknown = GetParam().parse(BodyWith(name, nullptr).dump());
    ASSERT_TRUE(unknown) << name << ": " << unknown.error().message;
    EXPECT_EQ(*unknown, 0) << name << " is described, but not known";
  }
}

TEST_P(DescribedFieldTest, IsNoNumberThatJsonLacks) {
  const json fields = Fields();
  for (const auto& [name, field] : fields.items()) {
    for (const std::string_view literal : {"NaN", "Infinity", "-Infinity", "nan", "inf", "1e999",
                                           "-1e999", "0x10", "+1", ".5", "01"}) {
      std::string body = BodyWith(name, "HERE").dump();
      body.replace(body.find("\"HERE\""), 6, literal);
      const ApiResult<int32_t> unknown = GetParam().parse(body);
      ASSERT_FALSE(unknown) << body;
      EXPECT_EQ(unknown.error().code, "invalid_json") << body;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DescribedFieldTest, testing::ValuesIn(Endpoints()),
                         [](const auto& test) { return test.param.schema; });

}  // namespace
}  // namespace weft
