#include "grammar/schema/schema_circles.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace weft {
namespace {

std::vector<SchemaId> SchemasInPlace(const SchemaNode& node) {
  std::vector<SchemaId> schemas;
  for (const auto* list : {&node.all_of, &node.any_of, &node.one_of}) {
    schemas.insert(schemas.end(), list->begin(), list->end());
  }
  for (const auto& one : {node.not_schema, node.if_schema, node.then_schema, node.else_schema}) {
    if (one) schemas.push_back(*one);
  }
  for (const auto& [name, schema] : node.dependent_schemas) schemas.push_back(schema);
  return schemas;
}

struct PathStep {
  SchemaId node;
  std::vector<SchemaId> rest;  // of those in its place, still to be visited
};

// The circle is the path from `first` on, and back. Who does not lead to a schema inside it has a
// reference, and in a circle there is one.
SchemaId ReferenceOf(const std::vector<SchemaNode>& nodes, const std::vector<PathStep>& path,
                     SchemaId first) {
  SchemaId next = first;
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    const bool is_inside =
        nodes[next].pointer.starts_with(fmt::format("{}/", nodes[step->node].pointer));
    if (!is_inside) return step->node;
    next = step->node;
    if (next == first) break;
  }
  return first;
}

}  // namespace

std::optional<SchemaId> ReferenceInCircle(const std::vector<SchemaNode>& nodes) {
  enum class Visit : uint8_t { kNone, kOpen, kDone };
  std::vector<Visit> visits(nodes.size(), Visit::kNone);
  std::vector<PathStep> path;
  const auto open = [&](SchemaId node) {
    visits[node] = Visit::kOpen;
    path.push_back({node, SchemasInPlace(nodes[node])});
  };
  for (SchemaId start = 0; start < static_cast<SchemaId>(nodes.size()); ++start) {
    if (visits[start] == Visit::kNone) open(start);
    while (!path.empty()) {
      PathStep& step = path.back();
      if (step.rest.empty()) {
        visits[step.node] = Visit::kDone;
        path.pop_back();
        continue;
      }
      const SchemaId next = step.rest.back();
      step.rest.pop_back();
      if (visits[next] == Visit::kNone) {
        open(next);
      } else if (visits[next] == Visit::kOpen) {
        return ReferenceOf(nodes, path, next);
      }
    }
  }
  return std::nullopt;
}

}  // namespace weft
