// What each keyword says, read into a node.
#pragma once

#include "grammar/schema/schema_builder.h"
#include "grammar/schema/schema_error.h"
#include "grammar/schema/schema_node.h"

namespace weft {

// Reads the builder's schema into `node`, whose pointer is known: every keyword of every draft is
// read as the draft that has it means it, whichever `$schema` names, or refused. Names that are
// none are annotations, but for slips.
SchemaResult<void> ReadKeywords(SchemaBuilder& builder, SchemaNode& node);

}  // namespace weft
