// Where the schemas of a document stand, and by which names references find them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "grammar/schema/schema_error.h"
#include "grammar/schema/schema_reader.h"

namespace weft {

// Indices of the places of schemas, and of resources (schemas with a URI of their own, and the
// document), in the order in which they are met.
using PlaceId = int32_t;
using ResourceId = int32_t;

// The draft that a value of `$schema` names; `unspecified` where it names the newest one, whichever
// that is. nullopt: none that is read here.
std::optional<SchemaDraft> DraftNamed(std::string_view uri, SchemaDraft unspecified);

// Up to draft 7 `$ref` stands for the whole schema, whatever else is in it.
bool IsReferenceAlone(const nlohmann::ordered_json& schema, SchemaDraft draft);

class SchemaIndex {
 public:
  // A schema that a reference leads to, and by what.
  struct Target {
    PlaceId place = 0;
    std::string anchor;  // its name, where it is found by one; "" else
  };

  // Borrows `document`, whose nesting and size are bounded already.
  static SchemaResult<SchemaIndex> Create(const nlohmann::ordered_json& document,
                                          SchemaDraft default_draft);

  // Where a value stands that a keyword says is a schema.
  PlaceId PlaceOf(const nlohmann::ordered_json& schema) const;

  const nlohmann::ordered_json& ValueOf(PlaceId place) const { return *places_[place].value; }
  SchemaDraft DraftOf(PlaceId place) const { return places_[place].draft; }
  ResourceId ResourceOf(PlaceId place) const { return places_[place].resource; }
  std::string PointerOf(PlaceId place) const;

  // What `reference` means at `place`. The error has no pointer. Places are added where it leads
  // into the value of a keyword that is unknown.
  SchemaResult<Target> Resolve(PlaceId place, std::string_view reference);

  PlaceId RootOf(ResourceId resource) const { return resources_[resource].root; }
  // The $dynamicAnchors of a resource, by name; "" is `"$recursiveAnchor": true` at its root.
  const std::unordered_map<std::string, PlaceId>& DynamicAnchorsOf(ResourceId resource) const {
    return resources_[resource].dynamic_anchors;
  }

 private:
  struct Place {
    const nlohmann::ordered_json* value = nullptr;
    PlaceId parent = -1;
    std::string step;  // from the parent, as a JSON pointer
    ResourceId resource = 0;
    SchemaDraft draft = SchemaDraft::k2020_12;
  };
  struct Resource {
    std::string uri;
    PlaceId root = 0;
    std::unordered_map<std::string, PlaceId> anchors;
    std::unordered_map<std::string, PlaceId> dynamic_anchors;
  };
  using Members = std::unordered_map<std::string_view, const nlohmann::ordered_json*>;

  SchemaIndex() = default;

  // What is there already stays as it is.
  void Add(const nlohmann::ordered_json& value, PlaceId parent, std::string step);
  // Adds all schemas in those from `first` on.
  SchemaResult<void> AddChildrenFrom(PlaceId first);
  SchemaResult<void> ReadNames(PlaceId place);
  SchemaResult<void> ReadId(PlaceId place, const std::string& id);
  void AddAnchor(PlaceId place, const std::string& name);
  void AddChildren(PlaceId place);
  SchemaResult<PlaceId> FollowPointer(PlaceId root, std::string_view pointer);
  const nlohmann::ordered_json* MemberOf(const nlohmann::ordered_json& object,
                                         const std::string& name);

  std::vector<Place> places_;
  std::vector<Resource> resources_;
  std::unordered_map<const nlohmann::ordered_json*, PlaceId> places_by_value_;
  std::unordered_map<std::string, ResourceId> resources_by_uri_;
  std::unordered_map<const nlohmann::ordered_json*, Members> members_;  // of objects with many
};

}  // namespace weft
