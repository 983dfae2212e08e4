// Why a schema has no value.
#pragma once

#include <string>

#include "grammar/schema/schema_logic.h"
#include "grammar/schema/schema_node.h"

namespace weft {

// Of a document that no value satisfies, as far as the solver knows, and its logic: the pointer of
// the schema furthest in that has none by itself and that every value of the root must satisfy
// somewhere; "" for the root itself.
std::string PointerWithoutValue(const SchemaDocument& document, SchemaLogic logic);

}  // namespace weft
