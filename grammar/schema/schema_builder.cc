#include "grammar/schema/schema_builder.h"

#include <algorithm>
#include <optional>

#include "grammar/schema/schema_circles.h"
#include "grammar/schema/schema_keywords.h"
#include "grammar/schema/schema_values.h"

namespace weft {
namespace {

// Names in all dynamic scopes together.
constexpr int64_t kMaxBindings = 1 << 20;

tl::unexpected<SchemaError> Exhausted(std::string message) {
  return tl::unexpected<SchemaError>(
      SchemaError{ErrorCode::kResourceExhausted, "", "", std::move(message)});
}

}  // namespace

SchemaBuilder::SchemaBuilder(SchemaIndex& index, const SchemaReadOptions& options)
    : index_(index), options_(options), scopes_(1) {
  scopes_by_content_[Scope()] = 0;
}

SchemaResult<SchemaDocument> SchemaBuilder::Build() {
  WEFT_ASSIGN_OR_RETURN(document_.root, NodeAt(0));
  while (document_.nodes.size() < pending_.size()) WEFT_RETURN_IF_ERROR(ReadNext());
  WEFT_RETURN_IF_ERROR(CheckCircles());
  WEFT_RETURN_IF_ERROR(CheckContains());
  return std::move(document_);
}

SchemaResult<void> SchemaBuilder::CheckCircles() const {
  const std::optional<SchemaId> node = ReferenceInCircle(document_.nodes);
  if (!node) return {};
  std::string keyword = "$ref";
  for (const char* const other : {"$dynamicRef", "$recursiveRef"}) {
    if (index_.ValueOf(pending_[*node].place).contains(other)) keyword = other;
  }
  return tl::unexpected<SchemaError>(SchemaError{
      ErrorCode::kInvalidArgument, fmt::format("{}/{}", document_.nodes[*node].pointer, keyword),
      keyword, "leads back to itself without a step into the instance"});
}

SchemaResult<void> SchemaBuilder::CheckContains() const {
  const std::vector<SchemaNode>& nodes = document_.nodes;
  const bool has_unevaluated = std::ranges::any_of(
      nodes, [](const SchemaNode& node) { return node.unevaluated_items.has_value(); });
  for (size_t i = 0; has_unevaluated && i < nodes.size(); ++i) {
    if (!nodes[i].contains || index_.DraftOf(pending_[i].place) != SchemaDraft::k2019_09) continue;
    return tl::unexpected<SchemaError>(SchemaError{
        ErrorCode::kUnsupported, nodes[i].pointer + "/contains", "contains",
        "does not count as evaluating items in 2019-09, and there is unevaluatedItems: that is "
        "enforced as 2020-12 has it only"});
  }
  return {};
}

SchemaResult<void> SchemaBuilder::ReadNext() {
  const Pending next = pending_[document_.nodes.size()];
  place_ = next.place;
  scope_ = next.scope;
  SchemaNode node;
  node.pointer = index_.PointerOf(place_);
  pointer_text_ += node.pointer.size();
  if (pointer_text_ > options_.max_pointer_text) {
    return Exhausted(
        fmt::format("names of schemas come to more than {} bytes", options_.max_pointer_text));
  }
  WEFT_RETURN_IF_ERROR(ReadKeywords(*this, node));
  document_.nodes.push_back(std::move(node));
  return {};
}

SchemaResult<SchemaId> SchemaBuilder::Child(const nlohmann::ordered_json& child) {
  return NodeAt(index_.PlaceOf(child));
}

SchemaResult<SchemaId> SchemaBuilder::Referred(std::string_view reference) {
  WEFT_ASSIGN_OR_RETURN(const SchemaIndex::Target target, index_.Resolve(place_, reference));
  return NodeAt(target.place);
}

SchemaResult<SchemaId> SchemaBuilder::DynamicallyReferred(std::string_view reference) {
  WEFT_ASSIGN_OR_RETURN(const SchemaIndex::Target target, index_.Resolve(place_, reference));
  const auto& anchors = index_.DynamicAnchorsOf(index_.ResourceOf(target.place));
  // Only what is a dynamic anchor where the reference leads to by itself is looked for further out.
  const auto found = anchors.find(target.anchor);
  const bool is_dynamic =
      !target.anchor.empty() && found != anchors.end() && found->second == target.place;
  return NodeAt(is_dynamic ? InScope(target.anchor, target.place) : target.place);
}

SchemaResult<SchemaId> SchemaBuilder::RecursivelyReferred() {
  const ResourceId resource = index_.ResourceOf(place_);
  const PlaceId root = index_.RootOf(resource);
  const bool is_dynamic = index_.DynamicAnchorsOf(resource).contains("");
  return NodeAt(is_dynamic ? InScope("", root) : root);
}

SchemaResult<void> SchemaBuilder::Charge(const nlohmann::ordered_json& value) {
  const JsonExtent extent = ExtentOf(value);
  values_ += extent.values;
  text_ += extent.text_bytes;
  if (values_ > options_.max_values || text_ > options_.max_text) {
    return Exhausted(
        fmt::format("has values read again in each dynamic scope, with more than {} in all or {} "
                    "bytes of text",
                    options_.max_values, options_.max_text));
  }
  return {};
}

SchemaResult<SchemaId> SchemaBuilder::NodeAt(PlaceId place) {
  const nlohmann::ordered_json& schema = index_.ValueOf(place);
  if (!schema.is_object() && !schema.is_boolean()) {
    return tl::unexpected<SchemaError>(SchemaError{
        ErrorCode::kInvalidArgument, "", "",
        fmt::format("{} is no schema, expected an object, true or false", Described(schema))});
  }
  WEFT_ASSIGN_OR_RETURN(const ScopeId scope, Enter(scope_, index_.ResourceOf(place)));
  const auto [found, is_new] =
      nodes_.emplace(std::pair(place, scope), static_cast<SchemaId>(pending_.size()));
  if (is_new) {
    if (static_cast<int64_t>(pending_.size()) >= options_.max_nodes) {
      return Exhausted(fmt::format("comes to more than {} schemas", options_.max_nodes));
    }
    pending_.push_back({place, scope});
  }
  return found->second;
}

SchemaResult<SchemaBuilder::ScopeId> SchemaBuilder::Enter(ScopeId scope, ResourceId resource) {
  const auto& anchors = index_.DynamicAnchorsOf(resource);
  if (anchors.empty()) return scope;
  const auto [known, is_new] = entered_.emplace(std::pair(scope, resource), scope);
  if (!is_new) return known->second;
  bindings_ += static_cast<int64_t>(scopes_[scope].size() + anchors.size());
  if (bindings_ > kMaxBindings) {
    return Exhausted(
        fmt::format("has dynamic scopes with more than {} names in all", kMaxBindings));
  }
  Scope inner = scopes_[scope];
  inner.insert(anchors.begin(), anchors.end());  // what is bound further out stays
  const auto [found, is_new_scope] =
      scopes_by_content_.emplace(inner, static_cast<ScopeId>(scopes_.size()));
  if (is_new_scope) scopes_.push_back(std::move(inner));
  known->second = found->second;
  return found->second;
}

PlaceId SchemaBuilder::InScope(const std::string& name, PlaceId otherwise) const {
  const auto found = scopes_[scope_].find(name);
  return found == scopes_[scope_].end() ? otherwise : found->second;
}

}  // namespace weft
