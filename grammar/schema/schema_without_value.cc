#include "grammar/schema/schema_without_value.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "grammar/schema/schema_solver.h"

namespace weft {
namespace {

// Schemas that have a value wherever this one has.
std::vector<SchemaId> NeededBy(const SchemaNode& node) {
  std::vector<SchemaId> needed = node.all_of;
  if (node.any_of.size() == 1) needed.push_back(node.any_of[0]);
  if (node.one_of.size() == 1) needed.push_back(node.one_of[0]);
  for (const auto& [name, schema] : node.properties) {
    if (std::ranges::find(node.required, name) != node.required.end()) needed.push_back(schema);
  }
  const auto least = static_cast<size_t>(node.min_items.value_or(0));
  for (size_t i = 0; i < std::min(least, node.prefix_items.size()); ++i) {
    needed.push_back(node.prefix_items[i]);
  }
  if (node.items && least > node.prefix_items.size()) needed.push_back(*node.items);
  if (node.contains && node.min_contains != 0) needed.push_back(*node.contains);
  return needed;
}

}  // namespace

std::string PointerWithoutValue(const SchemaDocument& document, SchemaLogic logic) {
  SchemaSolver solver(&logic, {.any_order = true});
  std::vector<bool> is_passed(document.nodes.size());
  std::optional<SchemaId> next = document.root;
  SchemaId last = document.root;
  while (next) {
    last = *std::exchange(next, std::nullopt);
    is_passed[static_cast<size_t>(last)] = true;
    for (const SchemaId id : NeededBy(document.nodes[static_cast<size_t>(last)])) {
      const FormulaId value = logic.formulas().Of({.kind = AtomKind::kSchema, .subject = id});
      if (is_passed[static_cast<size_t>(id)] || solver.IsSatisfiable(value)) continue;
      if (!solver.has_given_up()) next = id;
      break;
    }
  }
  return document.nodes[static_cast<size_t>(last)].pointer;
}

}  // namespace weft
