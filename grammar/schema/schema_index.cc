#include "grammar/schema/schema_index.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/quoted.h"
#include "grammar/schema/keywords.h"
#include "grammar/schema/uri_reference.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr ResourceId kAmbiguous = -1;
// A base is copied for every reference beside it.
constexpr size_t kMaxUriBytes = 4096;

template <typename... Args>
tl::unexpected<SchemaError> RefuseName(ErrorCode code, std::string pointer, std::string keyword,
                                       fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<SchemaError>(SchemaError{code, std::move(pointer), std::move(keyword),
                                                 fmt::format(format, std::forward<Args>(args)...)});
}

const std::string* StringMember(const ordered_json& object, std::string_view name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

std::string_view IdKeyword(SchemaDraft draft) { return draft == SchemaDraft::k4 ? "id" : "$id"; }

bool IsTrue(const ordered_json& object, std::string_view name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::optional<size_t> IndexInArray(std::string_view token, size_t size) {
  if (token.empty() || token.size() > 9 || (token.size() > 1 && token[0] == '0')) {
    return std::nullopt;
  }
  size_t index = 0;
  for (const char c : token) {
    if (c < '0' || c > '9') return std::nullopt;
    index = index * 10 + static_cast<size_t>(c - '0');
  }
  return index < size ? std::optional(index) : std::nullopt;
}

}  // namespace

std::optional<SchemaDraft> DraftNamed(std::string_view uri, SchemaDraft unspecified) {
  if (uri.ends_with('#')) uri.remove_suffix(1);
  if (uri.starts_with("http:")) {
    uri.remove_prefix(5);
  } else if (uri.starts_with("https:")) {
    uri.remove_prefix(6);
  }
  if (uri == "//json-schema.org/draft/2020-12/schema") return SchemaDraft::k2020_12;
  if (uri == "//json-schema.org/draft/2019-09/schema") return SchemaDraft::k2019_09;
  if (uri == "//json-schema.org/draft-07/schema") return SchemaDraft::k7;
  if (uri == "//json-schema.org/draft-06/schema") return SchemaDraft::k6;
  if (uri == "//json-schema.org/draft-04/schema") return SchemaDraft::k4;
  if (uri == "//json-schema.org/schema") return unspecified;
  return std::nullopt;
}

bool IsReferenceAlone(const ordered_json& schema, SchemaDraft draft) {
  return draft <= SchemaDraft::k7 && StringMember(schema, "$ref") != nullptr;
}

SchemaResult<SchemaIndex> SchemaIndex::Create(const ordered_json& document,
                                              SchemaDraft default_draft) {
  SchemaIndex index;
  index.resources_.push_back({});
  index.resources_by_uri_[""] = 0;
  index.Add(document, -1, "");
  index.places_[0].draft = default_draft;
  WEFT_RETURN_IF_ERROR(index.AddChildrenFrom(0));
  return index;
}

PlaceId SchemaIndex::PlaceOf(const ordered_json& schema) const {
  const auto found = places_by_value_.find(&schema);
  WEFT_CHECK(found != places_by_value_.end());
  return found->second;
}

void SchemaIndex::Add(const ordered_json& value, PlaceId parent, std::string step) {
  if (!places_by_value_.emplace(&value, static_cast<PlaceId>(places_.size())).second) return;
  Place added{&value, parent, std::move(step)};
  if (parent >= 0) {
    added.resource = places_[parent].resource;
    added.draft = places_[parent].draft;
  }
  places_.push_back(std::move(added));
}

SchemaResult<void> SchemaIndex::AddChildrenFrom(PlaceId first) {
  for (PlaceId place = first; place < static_cast<PlaceId>(places_.size()); ++place) {
    if (!places_[place].value->is_object()) continue;
    WEFT_RETURN_IF_ERROR(ReadNames(place));
    AddChildren(place);
  }
  return {};
}

SchemaResult<void> SchemaIndex::ReadNames(PlaceId place) {
  const ordered_json& schema = *places_[place].value;
  const SchemaDraft outer = places_[place].draft;
  const std::string* dialect = StringMember(schema, "$schema");
  // Within a resource the draft does not change.
  if (dialect != nullptr && (place == 0 || StringMember(schema, IdKeyword(outer)) != nullptr)) {
    places_[place].draft = DraftNamed(*dialect, outer).value_or(outer);
  }
  const SchemaDraft draft = places_[place].draft;
  if (IsReferenceAlone(schema, draft)) return {};
  if (const auto* id = StringMember(schema, IdKeyword(draft))) {
    WEFT_RETURN_IF_ERROR(ReadId(place, *id));
  }
  if (const std::string* name = StringMember(schema, "$anchor")) {
    AddAnchor(place, *name);
  }
  Resource& resource = resources_[places_[place].resource];
  if (const std::string* name = StringMember(schema, "$dynamicAnchor")) {
    AddAnchor(place, *name);
    resource.dynamic_anchors.emplace(*name, place);
  }
  if (resource.root == place && IsTrue(schema, "$recursiveAnchor")) {
    resource.dynamic_anchors.emplace("", place);
  }
  return {};
}

SchemaResult<void> SchemaIndex::ReadId(PlaceId place, const std::string& id) {
  const std::string keyword(IdKeyword(places_[place].draft));
  const SplitUri split = SplitFragment(id);
  if (!split.resource.empty()) {
    const std::string& base = resources_[places_[place].resource].uri;
    if (id.size() > kMaxUriBytes || base.size() > kMaxUriBytes) {
      return RefuseName(
          ErrorCode::kResourceExhausted, fmt::format("{}/{}", PointerOf(place), keyword), keyword,
          "comes to a URI of {} bytes, expected at most {}", id.size() + base.size(), kMaxUriBytes);
    }
    Resource resource{ResolveUri(base, split.resource), place, {}, {}};
    const auto id_of_resource = static_cast<ResourceId>(resources_.size());
    const auto [found, is_new] = resources_by_uri_.emplace(resource.uri, id_of_resource);
    if (!is_new) found->second = kAmbiguous;
    resources_.push_back(std::move(resource));
    places_[place].resource = id_of_resource;
  }
  // Up to draft 7 this is how anchors are written. ("#/properties/a", which generators write, is no
  // name that is ever looked up.)
  if (!split.fragment.value_or("").empty()) AddAnchor(place, std::string(*split.fragment));
  return {};
}

void SchemaIndex::AddAnchor(PlaceId place, const std::string& name) {
  const auto [found, is_new] = resources_[places_[place].resource].anchors.emplace(name, place);
  if (!is_new && found->second != place) found->second = kAmbiguous;
}

void SchemaIndex::AddChildren(PlaceId place) {
  const ordered_json& schema = *places_[place].value;
  for (const auto& [keyword, value] : schema.items()) {
    const SchemaHolding holding = HoldingOf(keyword);
    if (holding == SchemaHolding::kNone) continue;
    if (holding == SchemaHolding::kNamed && value.is_object()) {
      for (const auto& [name, child] : value.items()) {
        Add(child, place, fmt::format("/{}/{}", keyword, PointerToken(name)));
      }
    } else if (value.is_array() &&
               (holding == SchemaHolding::kList || holding == SchemaHolding::kOneOrList)) {
      for (size_t i = 0; i < value.size(); ++i) {
        Add(value[i], place, fmt::format("/{}/{}", keyword, i));
      }
    } else if (holding == SchemaHolding::kOne || holding == SchemaHolding::kOneOrList) {
      Add(value, place, fmt::format("/{}", keyword));
    }
  }
}

std::string SchemaIndex::PointerOf(PlaceId place) const {
  std::vector<const std::string*> steps;
  for (; place >= 0; place = places_[place].parent) steps.push_back(&places_[place].step);
  std::string pointer;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) pointer += **step;
  return pointer;
}

SchemaResult<SchemaIndex::Target> SchemaIndex::Resolve(PlaceId place, std::string_view reference) {
  const SplitUri split = SplitFragment(reference);
  ResourceId resource = places_[place].resource;
  if (!split.resource.empty()) {
    const auto found = resources_by_uri_.find(ResolveUri(resources_[resource].uri, split.resource));
    if (found == resources_by_uri_.end()) {
      return RefuseName(ErrorCode::kUnsupported, "", "",
                        "is {}, which is not in this document, and nothing is fetched",
                        Quoted(reference));
    }
    if (found->second == kAmbiguous) {
      return RefuseName(ErrorCode::kInvalidArgument, "", "",
                        "is {}, which several schemas of this document say they are",
                        Quoted(reference));
    }
    resource = found->second;
  }
  const std::optional<std::string> fragment = PercentDecoded(split.fragment.value_or(""));
  if (!fragment) {
    return RefuseName(ErrorCode::kInvalidArgument, "", "",
                      "is {}, where '%' stands without two hexadecimal digits", Quoted(reference));
  }
  if (fragment->empty()) return Target{resources_[resource].root, ""};
  if (fragment->starts_with('/')) {
    const auto found = FollowPointer(resources_[resource].root, *fragment);
    if (!found) {
      return RefuseName(found.error().code, "", "", "is {}, {}", Quoted(reference),
                        found.error().message);
    }
    return Target{*found, ""};
  }
  const auto& anchors = resources_[resource].anchors;
  const auto found = anchors.find(*fragment);
  if (found == anchors.end() || found->second == kAmbiguous) {
    return RefuseName(ErrorCode::kInvalidArgument, "", "", "is {}, but {} the anchor {}",
                      Quoted(reference),
                      found == anchors.end() ? "there is no schema with" : "several schemas have",
                      Quoted(*fragment));
  }
  return Target{found->second, *fragment};
}

SchemaResult<PlaceId> SchemaIndex::FollowPointer(PlaceId root, std::string_view pointer) {
  const ordered_json* value = places_[root].value;
  PlaceId around = root;  // the innermost schema on the way
  std::string step;       // from there
  while (!pointer.empty()) {
    const size_t end = pointer.find('/', 1);
    const std::string_view token = pointer.substr(1, end == pointer.npos ? end : end - 1);
    pointer = end == pointer.npos ? std::string_view() : pointer.substr(end);
    const std::optional<std::string> name = PointerTokenName(token);
    const ordered_json* next = nullptr;
    if (name && value->is_object()) next = MemberOf(*value, *name);
    if (const auto index = IndexInArray(token, value->size()); value->is_array() && index) {
      next = &(*value)[*index];
    }
    if (next == nullptr) {
      return RefuseName(ErrorCode::kInvalidArgument, "", "", "but there is no {} on the way",
                        Quoted(token));
    }
    value = next;
    step.append("/").append(token);
    if (const auto found = places_by_value_.find(value); found != places_by_value_.end()) {
      around = found->second;
      step.clear();
    }
  }
  if (step.empty()) return around;
  const auto place = static_cast<PlaceId>(places_.size());
  Add(*value, around, std::move(step));
  WEFT_RETURN_IF_ERROR(AddChildrenFrom(place));
  return place;
}

const ordered_json* SchemaIndex::MemberOf(const ordered_json& object, const std::string& name) {
  constexpr size_t kFew = 16;
  if (object.size() <= kFew) {
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
  }
  Members& members = members_[&object];
  if (members.empty()) {
    for (const auto& [key, value] : object.items()) members.emplace(key, &value);
  }
  const auto found = members.find(name);
  return found == members.end() ? nullptr : found->second;
}

}  // namespace weft
