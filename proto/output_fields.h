// The fields of a request that say what its text must be: OpenAI's, vLLM's and llama.cpp's. Include
// from .cc files only.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/generation_request.h"

namespace weft {

// Those that all endpoints that generate have. A schema's members keep their order, so that
// requests are read with ParseOrderedBody as far as these go.
inline constexpr auto kOutputFields = std::to_array<std::string_view>(
    {// vLLM's, then its older names
     "structured_outputs", "structural_tag", "guided_json", "guided_regex", "guided_choice",
     "guided_grammar", "guided_json_object", "guided_whitespace_pattern", "guided_decoding_backend",
     "grammar", "json_schema",  // llama.cpp's
     "regex", "ebnf",           // SGLang's
     "finish_by_length"});

// The field that an endpoint has besides, {"type":"json_schema",...}.
struct TypedFormat {
  std::string path;                         // "response_format"
  nlohmann::ordered_json* value = nullptr;  // nullptr or null: absent
  // As chats have it: the schema lies in "json_schema", and there are the types that vLLM and
  // llama.cpp add. Else it lies in the format itself.
  bool is_chats = false;
};

// Reads what of `fields` is in kOutputFields, and `format`, into `request`: `output` and
// `finish_by_length`. Schemas are moved out of them. Whether a schema, a grammar or a regex can be
// enforced is not known here. Errors (400) name the field by its JSON path; besides wrong types,
// what is refused is two fields that each say what the text must be, and members that nobody knows,
// since nothing would enforce them.
ApiResult<void> ReadOutputFields(nlohmann::ordered_json& fields, const TypedFormat& format,
                                 GenerationRequest& request);

}  // namespace weft
