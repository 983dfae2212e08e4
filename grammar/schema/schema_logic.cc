#include "grammar/schema/schema_logic.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/check.h"
#include "base/utf8.h"
#include "grammar/regex/decimal.h"
#include "grammar/regex/formats.h"
#include "grammar/regex/number_regex.h"
#include "grammar/regex/pattern.h"

namespace weft {
namespace {

bool IsOf(const nlohmann::ordered_json& value, ValueKind kind) {
  switch (kind) {
    case ValueKind::kNull:
      return value.is_null();
    case ValueKind::kFalse:
      return value.is_boolean() && !value.get<bool>();
    case ValueKind::kTrue:
      return value.is_boolean() && value.get<bool>();
    case ValueKind::kNumber:
      return value.is_number();
    case ValueKind::kString:
      return value.is_string();
    case ValueKind::kObject:
      return value.is_object();
    case ValueKind::kArray:
      return value.is_array();
  }
  return false;
}

SchemaError UnsupportedText(const SchemaNode& node, const std::string& keyword,
                            const Error& error) {
  return {error.code, node.pointer + "/" + keyword, keyword, error.message};
}

}  // namespace

SchemaResult<SchemaLogic> SchemaLogic::Create(std::shared_ptr<const SchemaDocument> document) {
  SchemaLogic logic(std::move(document));
  const SchemaResult<void> checked = logic.CheckTexts();
  if (!checked) return tl::unexpected(checked.error());
  logic.Numbers(FormulaId::kTrue);  // most machines ask for them
  return logic;
}

// Patterns and formats are compiled, whether they will be asked for or not.
SchemaResult<void> SchemaLogic::CheckTexts() {
  const auto add_pattern = [this](const SchemaNode& node, const std::string& keyword,
                                  const std::string& text) -> SchemaResult<void> {
    if (patterns_.contains(text)) return {};
    const Result<RegexId> regex = ParsePattern(&regexes_, text, PatternDialect::kEcma);
    if (!regex) return tl::unexpected(UnsupportedText(node, keyword, regex.error()));
    patterns_.emplace(text, *regex);
    return {};
  };
  for (const SchemaNode& node : document_->nodes) {
    if (node.pattern) WEFT_RETURN_IF_ERROR(add_pattern(node, "pattern", *node.pattern));
    for (const auto& [pattern, schema] : node.pattern_properties) {
      WEFT_RETURN_IF_ERROR(add_pattern(node, "patternProperties", pattern));
    }
    const Result<RegexId> numbers = NumberRegex(&regexes_, NumberSetOf(node));
    if (!numbers) {
      const std::string keyword = node.multiple_of ? "multipleOf" : "minimum or maximum";
      return tl::unexpected(
          SchemaError{numbers.error().code, node.pointer, keyword, numbers.error().message});
    }
    if (!node.format || formats_.contains(*node.format) || IsAnnotationFormat(*node.format)) {
      continue;
    }
    const std::optional<RegexId> regex = FormatRegex(&regexes_, *node.format);
    if (!regex) {
      return tl::unexpected(
          SchemaError{ErrorCode::kUnsupported, node.pointer + "/format", "format",
                      fmt::format("'{}' is no format that can be enforced", *node.format)});
    }
    formats_.emplace(*node.format, *regex);
  }
  return CheckUnevaluated();
}

FormulaId SchemaLogic::root() { return Schema(document_->root); }

Result<void> SchemaLogic::status() const {
  if (failure_) return weft::Fail(ErrorCode::kResourceExhausted, "{}", *failure_);
  WEFT_RETURN_IF_ERROR(formulas_.status());
  return regexes_.status();
}

void SchemaLogic::Fail(std::string message) {
  if (!failure_) failure_ = std::move(message);
}

bool SchemaLogic::AllowsKind(const SchemaNode& node, ValueKind kind) const {
  if (node.boolean_schema && !*node.boolean_schema) return false;
  if (!node.types) return true;
  switch (kind) {
    case ValueKind::kNull:
      return node.types->Has(JsonType::kNull);
    case ValueKind::kFalse:
    case ValueKind::kTrue:
      return node.types->Has(JsonType::kBoolean);
    case ValueKind::kNumber:
      return node.types->Has(JsonType::kNumber) || node.types->Has(JsonType::kInteger) ||
             node.types->Has(JsonType::kPlainInteger);
    case ValueKind::kString:
      return node.types->Has(JsonType::kString);
    case ValueKind::kObject:
      return node.types->Has(JsonType::kObject);
    case ValueKind::kArray:
      return node.types->Has(JsonType::kArray);
  }
  return false;
}

// Of `enum` and `const`, where given, the values of this kind.
FormulaId SchemaLogic::OneOfValues(const SchemaNode& node, ValueKind kind) {
  FormulaId all = FormulaId::kTrue;
  if (node.enum_values) {
    std::vector<FormulaId> parts;
    for (const nlohmann::ordered_json& value : *node.enum_values) {
      if (IsOf(value, kind)) parts.push_back(Equals(constants_.Of(value)));
    }
    all = formulas_.Or(parts);
  }
  if (!node.const_value) return all;
  const FormulaId one =
      IsOf(*node.const_value, kind) ? Equals(constants_.Of(*node.const_value)) : FormulaId::kFalse;
  return formulas_.And(all, one);
}

FormulaId SchemaLogic::InPlace(const SchemaNode& node) {
  std::vector<FormulaId> parts;
  const auto schemas = [this](const std::vector<SchemaId>& ids) {
    std::vector<FormulaId> all;
    for (const SchemaId id : ids) all.push_back(Schema(id));
    return all;
  };
  for (const SchemaId id : node.all_of) parts.push_back(Schema(id));
  if (!node.any_of.empty()) parts.push_back(formulas_.Or(schemas(node.any_of)));
  if (!node.one_of.empty()) parts.push_back(formulas_.ExactlyOne(schemas(node.one_of)));
  if (node.not_schema) parts.push_back(formulas_.Not(Schema(*node.not_schema)));
  if (node.if_schema) {
    const FormulaId condition = Schema(*node.if_schema);
    if (node.then_schema) {
      parts.push_back(formulas_.Or(formulas_.Not(condition), Schema(*node.then_schema)));
    }
    if (node.else_schema) parts.push_back(formulas_.Or(condition, Schema(*node.else_schema)));
  }
  return formulas_.And(parts);
}

bool SchemaLogic::HoldsFor(FormulaId value, ValueKind constant) {
  return StructureOf(value, constant) == FormulaId::kTrue;
}

std::optional<std::vector<ConstantId>> SchemaLogic::ListedValues(FormulaId value) {
  const std::vector<FormulaId> parts = formulas_.kind(value) == FormulaKind::kAnd
                                           ? formulas_.PartsOf(value)
                                           : std::vector<FormulaId>{value};
  for (const FormulaId part : parts) {
    if (formulas_.kind(part) != FormulaKind::kAtom) continue;
    const Atom atom = formulas_.atom(part);
    if (atom.kind == AtomKind::kEquals) return {{static_cast<ConstantId>(atom.subject)}};
    const SchemaNode& node = this->node(atom.subject);
    if (node.const_value) return {{constants_.Of(*node.const_value)}};
    if (!node.enum_values) continue;
    std::set<ConstantId> values;
    for (const nlohmann::ordered_json& each : *node.enum_values) {
      values.insert(constants_.Of(each));
    }
    return {{values.begin(), values.end()}};
  }
  return std::nullopt;
}

FormulaId SchemaLogic::Objects(FormulaId value) { return StructureOf(value, ValueKind::kObject); }

FormulaId SchemaLogic::Arrays(FormulaId value) { return StructureOf(value, ValueKind::kArray); }

FormulaId SchemaLogic::StructureOf(FormulaId value, ValueKind kind) {
  auto& known = structures_[static_cast<size_t>(kind)];
  const auto found = known.find(value);
  if (found != known.end()) return found->second;
  const Level level(*this);
  if (level.is_too_deep()) return FormulaId::kFalse;
  // In the order of the document, which is that of the tables that are made, and so of properties.
  std::vector<FormulaId> atoms;
  for (const FormulaStore::Occurrence& each : formulas_.Occurrences(value)) {
    if (each.atom != value) atoms.push_back(each.atom);
  }
  std::ranges::sort(atoms);
  for (const FormulaId atom : atoms) StructureOf(atom, kind);
  const FormulaId structure = formulas_.Replace(value, [&](FormulaId id, const Atom& atom) {
    if (id != value) return StructureOf(id, kind);  // once for all formulas that have it
    return atom.kind == AtomKind::kSchema
               ? StructureOfNode(node(atom.subject), kind)
               : StructureOfConstant(static_cast<ConstantId>(atom.subject), kind);
  });
  structures_[static_cast<size_t>(kind)].emplace(value, structure);
  return structure;
}

FormulaId SchemaLogic::StructureOfNode(const SchemaNode& node, ValueKind kind) {
  if (!AllowsKind(node, kind)) return FormulaId::kFalse;
  if (node.boolean_schema) return FormulaId::kTrue;
  std::vector<FormulaId> parts;
  parts.push_back(StructureOf(OneOfValues(node, kind), kind));
  if (kind == ValueKind::kObject) AddObjectKeywords(node, parts);
  if (kind == ValueKind::kArray) AddArrayKeywords(node, parts);
  parts.push_back(StructureOf(InPlace(node), kind));
  return formulas_.And(parts);
}

FormulaId SchemaLogic::StructureOfConstant(ConstantId id, ValueKind kind) {
  const Constant constant = constants_[id];
  if (constant.kind != kind) return FormulaId::kFalse;
  std::vector<FormulaId> parts;
  if (kind == ValueKind::kObject) {
    PropertyTable table;
    for (const auto& [name, value] : constant.members) {
      parts.push_back(
          formulas_.Of({.kind = AtomKind::kHasName, .subject = static_cast<int32_t>(name)}));
      table.named.emplace_back(name, Equals(value));
    }
    table.others = FormulaId::kFalse;
    parts.push_back(AddTable(std::move(table)));
  } else if (kind == ValueKind::kArray) {
    ItemTable table;
    for (const ConstantId item : constant.items) table.prefix.push_back(Equals(item));
    table.rest = FormulaId::kFalse;
    parts.push_back(Counted(AtomKind::kMinItems, std::ssize(constant.items)));
    parts.push_back(AddTable(std::move(table)));
  }
  return formulas_.And(parts);
}

FormulaId SchemaLogic::AddTable(PropertyTable table) {
  for (const auto& [name, value] : table.named) table.by_name.emplace(name, value);
  property_tables_.push_back(std::move(table));
  return formulas_.Of({.kind = AtomKind::kProperties,
                       .subject = static_cast<int32_t>(property_tables_.size()) - 1});
}

FormulaId SchemaLogic::AddTable(ItemTable table) {
  item_tables_.push_back(std::move(table));
  return formulas_.Of(
      {.kind = AtomKind::kItems, .subject = static_cast<int32_t>(item_tables_.size()) - 1});
}

FormulaId SchemaLogic::HasName(std::string_view name) {
  return formulas_.Of(
      {.kind = AtomKind::kHasName, .subject = static_cast<int32_t>(constants_.NameOf(name))});
}

FormulaId SchemaLogic::Counted(AtomKind kind, int64_t count, int32_t subject) {
  if (count <= 0) return FormulaId::kTrue;
  return formulas_.Of({.kind = kind, .subject = subject, .count = count});
}

void SchemaLogic::AddObjectKeywords(const SchemaNode& node, std::vector<FormulaId>& parts) {
  if (!node.properties.empty() || !node.pattern_properties.empty() || node.additional_properties) {
    PropertyTable table;
    for (const auto& [name, schema] : node.properties) {
      table.named.emplace_back(constants_.NameOf(name), Schema(schema));
    }
    for (const auto& [pattern, schema] : node.pattern_properties) {
      table.patterns.emplace_back(patterns_.at(pattern), Schema(schema));
    }
    if (node.additional_properties) table.others = Schema(*node.additional_properties);
    parts.push_back(AddTable(std::move(table)));
  }
  if (node.property_names) {
    PropertyTable table;
    const RegexId refused = regexes_.Not(Strings(Schema(*node.property_names)));
    table.patterns.emplace_back(refused, FormulaId::kFalse);
    parts.push_back(AddTable(std::move(table)));
  }
  for (const std::string& name : node.required) parts.push_back(HasName(name));
  if (node.min_properties) {
    parts.push_back(Counted(AtomKind::kMinProperties, *node.min_properties));
  }
  if (node.max_properties && *node.max_properties < std::numeric_limits<int64_t>::max()) {
    parts.push_back(formulas_.Not(Counted(AtomKind::kMinProperties, *node.max_properties + 1)));
  }
  for (const auto& [name, others] : node.dependent_required) {
    std::vector<FormulaId> all;
    for (const std::string& other : others) all.push_back(HasName(other));
    parts.push_back(formulas_.Or(formulas_.Not(HasName(name)), formulas_.And(all)));
  }
  for (const auto& [name, schema] : node.dependent_schemas) {
    parts.push_back(formulas_.Or(formulas_.Not(HasName(name)), Objects(Schema(schema))));
  }
  if (node.unevaluated_properties) parts.push_back(Unevaluated(node, ValueKind::kObject));
}

void SchemaLogic::AddArrayKeywords(const SchemaNode& node, std::vector<FormulaId>& parts) {
  if (!node.prefix_items.empty() || node.items) {
    ItemTable table;
    for (const SchemaId schema : node.prefix_items) table.prefix.push_back(Schema(schema));
    if (node.items) table.rest = Schema(*node.items);
    parts.push_back(AddTable(std::move(table)));
  }
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (node.contains) {
    const auto subject = static_cast<int32_t>(Schema(*node.contains));
    parts.push_back(Counted(AtomKind::kContains, node.min_contains.value_or(1), subject));
    if (node.max_contains && *node.max_contains < kMost) {
      parts.push_back(formulas_.Not(Counted(AtomKind::kContains, *node.max_contains + 1, subject)));
    }
  }
  if (node.min_items) parts.push_back(Counted(AtomKind::kMinItems, *node.min_items));
  if (node.max_items && *node.max_items < kMost) {
    parts.push_back(formulas_.Not(Counted(AtomKind::kMinItems, *node.max_items + 1)));
  }
  if (node.unique_items) parts.push_back(formulas_.Of({.kind = AtomKind::kUnique}));
  if (node.unevaluated_items) parts.push_back(Unevaluated(node, ValueKind::kArray));
}

bool SchemaLogic::Matches(RegexId regex, std::string_view utf8) {
  for (size_t at = 0; at < utf8.size();) {
    const Utf8Character character = DecodeUtf8(utf8, at);
    const std::span<const RegexEdge> edges = regexes_.Edges(regex);
    const auto edge = std::ranges::lower_bound(edges, character.code_point, {}, &RegexEdge::last);
    if (edge == edges.end() || edge->first > character.code_point) return false;
    regex = edge->next;
    at += character.size_bytes;
  }
  return regexes_.Nullable(regex);
}

FormulaId SchemaLogic::ValueOf(int32_t table, NameId name) {
  const PropertyTable& properties = this->properties(table);
  std::vector<FormulaId> parts;
  bool is_listed = false;
  const auto found = properties.by_name.find(name);
  if (found != properties.by_name.end()) {
    is_listed = true;
    parts.push_back(found->second);
  }
  for (const auto& [pattern, value] : properties.patterns) {
    if (!Matches(pattern, constants_.name(name))) continue;
    is_listed = true;
    parts.push_back(value);
  }
  return is_listed ? formulas_.And(parts) : properties.others;
}

FormulaId SchemaLogic::ItemAt(int32_t table, int64_t index) const {
  const ItemTable& items = this->items(table);
  return index < std::ssize(items.prefix) ? items.prefix[static_cast<size_t>(index)] : items.rest;
}

}  // namespace weft
