// JSON Schema as it is written: 2020-12, 2019-09, drafts 7, 6 and 4.
//
// A keyword means what the draft that has it says, whichever draft `$schema` names: `const` in a
// schema of draft 4 is enforced, and so are `dependencies`, an array as `items` (with
// additionalItems) and `"exclusiveMinimum": true` in one of 2020-12. What depends on
// the draft: up to 7, `$ref` hides what stands beside it; in 4, `id` is what is `$id` since, and an
// integer is a matter of spelling; in 2019-09, `contains` beside unevaluatedItems is refused, since
// it means something else there.
// Without `$schema` a document is of the default draft.
#pragma once

#include <cstddef>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "grammar/schema/schema_error.h"
#include "grammar/schema/schema_node.h"

namespace weft {

enum class SchemaDraft { k4, k6, k7, k2019_09, k2020_12 };

struct SchemaReadOptions {
  // For schemas without `$schema`.
  SchemaDraft default_draft = SchemaDraft::k2020_12;

  // Of the document, checked before anything is made of it.
  int max_depth = 256;           // of values in values
  int64_t max_values = 1 << 20;  // names of members among them
  size_t max_text = 16 << 20;    // bytes of all strings and names
  // Of what it is read into.
  int64_t max_nodes = 100'000;
  size_t max_pointer_text = 64 << 20;  // bytes of all nodes' pointers
};

// The nodes that can be reached from the schema's root, every keyword in them read or refused.
SchemaResult<SchemaDocument> ReadSchema(const nlohmann::ordered_json& schema,
                                        const SchemaReadOptions& options);

}  // namespace weft
