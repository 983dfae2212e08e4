#include "grammar/schema/schema_reader.h"

#include <utility>

#include "grammar/schema/schema_builder.h"
#include "grammar/schema/schema_index.h"
#include "grammar/schema/schema_values.h"

namespace weft {
namespace {

SchemaResult<void> CheckExtent(const nlohmann::ordered_json& schema,
                               const SchemaReadOptions& options) {
  const JsonExtent extent = ExtentOf(schema);
  const auto exhausted = [](std::string message) {
    return tl::unexpected<SchemaError>(
        SchemaError{ErrorCode::kResourceExhausted, "", "", std::move(message)});
  };
  if (extent.depth > options.max_depth) {
    return exhausted(
        fmt::format("is nested {} deep, expected at most {}", extent.depth, options.max_depth));
  }
  if (extent.values > options.max_values) {
    return exhausted(fmt::format("has {} values and names, expected at most {}", extent.values,
                                 options.max_values));
  }
  if (extent.text_bytes > options.max_text) {
    return exhausted(fmt::format("has {} bytes of text, expected at most {}", extent.text_bytes,
                                 options.max_text));
  }
  return {};
}

}  // namespace

SchemaResult<SchemaDocument> ReadSchema(const nlohmann::ordered_json& schema,
                                        const SchemaReadOptions& options) {
  WEFT_RETURN_IF_ERROR(CheckExtent(schema, options));
  WEFT_ASSIGN_OR_RETURN(SchemaIndex index, SchemaIndex::Create(schema, options.default_draft));
  return SchemaBuilder(index, options).Build();
}

}  // namespace weft
