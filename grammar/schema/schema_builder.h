// Makes nodes of the schemas that are reached, one a schema and dynamic scope.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "grammar/schema/schema_error.h"
#include "grammar/schema/schema_index.h"
#include "grammar/schema/schema_node.h"
#include "grammar/schema/schema_reader.h"

namespace weft {

class SchemaBuilder {
 public:
  // Borrows `index` and `options`.
  SchemaBuilder(SchemaIndex& index, const SchemaReadOptions& options);

  SchemaResult<SchemaDocument> Build();

  // For the readers of keywords; what they ask belongs to the schema that is being read. Errors
  // have no pointer.
  const nlohmann::ordered_json& schema() const { return index_.ValueOf(place_); }
  SchemaDraft draft() const { return index_.DraftOf(place_); }
  // Counts a value that is kept, against the limits of the document itself.
  SchemaResult<void> Charge(const nlohmann::ordered_json& value);
  // The node of a schema that stands in it.
  SchemaResult<SchemaId> Child(const nlohmann::ordered_json& child);
  // The nodes that $ref, $dynamicRef and $recursiveRef lead to.
  SchemaResult<SchemaId> Referred(std::string_view reference);
  SchemaResult<SchemaId> DynamicallyReferred(std::string_view reference);
  SchemaResult<SchemaId> RecursivelyReferred();

 private:
  // What dynamic references look up: of each dynamic anchor's name the outermost schema, in the
  // order in which resources were entered. Index into scopes_.
  using ScopeId = int32_t;
  using Scope = std::map<std::string, PlaceId>;

  struct Pending {
    PlaceId place;
    ScopeId scope;
  };

  SchemaResult<void> ReadNext();
  SchemaResult<void> CheckCircles() const;
  // What 2019-09 understands otherwise than 2020-12, in whose words nodes are.
  SchemaResult<void> CheckContains() const;
  SchemaResult<SchemaId> NodeAt(PlaceId place);
  SchemaResult<ScopeId> Enter(ScopeId scope, ResourceId resource);
  // The schema that `name` means in the scope, if there is one; else `otherwise`.
  PlaceId InScope(const std::string& name, PlaceId otherwise) const;

  SchemaIndex& index_;
  const SchemaReadOptions& options_;
  SchemaDocument document_;
  std::vector<Pending> pending_;  // by node; those from the table's size on are not yet read
  std::map<std::pair<PlaceId, ScopeId>, SchemaId> nodes_;
  std::vector<Scope> scopes_;
  std::map<Scope, ScopeId> scopes_by_content_;
  std::map<std::pair<ScopeId, ResourceId>, ScopeId> entered_;
  int64_t bindings_ = 0;  // names in scopes that were made
  int64_t values_ = 0;
  size_t text_ = 0;
  size_t pointer_text_ = 0;
  // Of the schema that is being read.
  PlaceId place_ = 0;
  ScopeId scope_ = 0;
};

}  // namespace weft
