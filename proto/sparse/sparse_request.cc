#include "proto/sparse/sparse_request.h"

#include <array>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_reader.h"
#include "proto/prompt_reader.h"
#include "proto/truncation_reader.h"
#include "proto/unsupported_fields.h"

namespace weft {
namespace {

constexpr auto kSparseFields = JoinFields(
    std::array<std::string_view, 3>{"model", "inputs", "prompt_name"}, kTruncationFields);

}  // namespace

ApiResult<SparseRequest> ParseSparseRequest(std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const nlohmann::json body, ParseBody(text));
  SparseRequest request;
  WEFT_RETURN_IF_ERROR(ReadString(body, "model", request.model));
  WEFT_ASSIGN_OR_RETURN(request.inputs, ReadPrompts(body, "inputs", kMaxSparseInputs));
  std::optional<std::string> prompt_name;
  WEFT_RETURN_IF_ERROR(ReadString(body, "prompt_name", prompt_name));
  request.prompt_name = prompt_name.value_or("");
  WEFT_ASSIGN_OR_RETURN(request.truncation, ReadTruncation(body));
  request.unknown_field_count = CountUnknownFields(body, kSparseFields, {});
  return request;
}

}  // namespace weft
