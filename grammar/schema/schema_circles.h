// Schemas that ask for themselves at the same place of the instance mean nothing (JSON Schema
// Core, section 9.4.1).
#pragma once

#include <optional>

#include "grammar/schema/schema_node.h"

namespace weft {

// A node whose reference closes such a circle.
std::optional<SchemaId> ReferenceInCircle(const std::vector<SchemaNode>& nodes);

}  // namespace weft
