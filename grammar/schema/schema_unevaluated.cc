// unevaluatedProperties and unevaluatedItems. They are about what no other keyword has looked at,
// in the schema or in those of the same place that hold. To look at less cannot make them true, so
// that it is enough to say: there are some of these schemas that hold, and what neither they nor
// the schema itself look at is as the keyword demands.
#include <algorithm>

#include <fmt/core.h>

#include "grammar/schema/schema_logic.h"

namespace weft {
namespace {

constexpr size_t kMostAlternatives = 256;

}  // namespace

// They are what may turn out to be too much only when it is asked for.
SchemaResult<void> SchemaLogic::CheckUnevaluated() {
  for (size_t i = 0; i < document_->nodes.size(); ++i) {
    const SchemaNode& node = document_->nodes[i];
    if (!node.unevaluated_properties && !node.unevaluated_items) continue;
    const FormulaId schema = Schema(static_cast<SchemaId>(i));
    Objects(schema);
    Arrays(schema);
    if (!failure_) continue;
    const std::string keyword =
        node.unevaluated_properties ? "unevaluatedProperties" : "unevaluatedItems";
    return tl::unexpected(SchemaError{ErrorCode::kResourceExhausted, node.pointer + "/" + keyword,
                                      keyword, *failure_});
  }
  return {};
}

SchemaLogic::Coverage SchemaLogic::OwnCoverage(const SchemaNode& node, ValueKind kind,
                                               bool with_unevaluated) {
  Coverage coverage;
  if (kind == ValueKind::kObject) {
    coverage.all = node.additional_properties || (with_unevaluated && node.unevaluated_properties);
    for (const auto& [name, schema] : node.properties) {
      coverage.names.insert(constants_.NameOf(name));
    }
    for (const auto& [pattern, schema] : node.pattern_properties) {
      coverage.patterns.insert(patterns_.at(pattern));
    }
    return coverage;
  }
  coverage.all = node.items || (with_unevaluated && node.unevaluated_items);
  coverage.prefix = std::ssize(node.prefix_items);
  if (node.contains) coverage.contains.insert(Schema(*node.contains));
  return coverage;
}

void SchemaLogic::Multiply(Alternatives& all, const Alternatives& others) {
  Alternatives product;
  for (const Alternative& a : all) {
    for (const Alternative& b : others) {
      Alternative both = a;
      both.condition = formulas_.And(a.condition, b.condition);
      if (both.condition == FormulaId::kFalse) continue;
      Coverage& coverage = both.coverage;
      coverage.all = coverage.all || b.coverage.all;
      coverage.prefix = std::max(coverage.prefix, b.coverage.prefix);
      coverage.names.insert(b.coverage.names.begin(), b.coverage.names.end());
      coverage.patterns.insert(b.coverage.patterns.begin(), b.coverage.patterns.end());
      coverage.contains.insert(b.coverage.contains.begin(), b.coverage.contains.end());
      product.insert(std::move(both));
    }
  }
  if (product.size() > kMostAlternatives) {
    Fail(fmt::format("stands beside schemas that may hold or not in more than {} combinations",
                     kMostAlternatives));
    product.clear();
  }
  all = std::move(product);
}

SchemaLogic::Alternatives SchemaLogic::AlternativesIf(FormulaId condition, SchemaId schema,
                                                      ValueKind kind) {
  Alternatives alternatives;
  for (Alternative each : AlternativesOf(schema, kind)) {
    if (each.coverage == Coverage{}) continue;
    each.condition = formulas_.And(each.condition, condition);
    alternatives.insert(std::move(each));
  }
  return alternatives;
}

const SchemaLogic::Alternatives& SchemaLogic::AlternativesOf(SchemaId schema, ValueKind kind) {
  const auto found = alternatives_.find({schema, kind});
  if (found != alternatives_.end()) return found->second;
  Alternatives alternatives = FindAlternatives(node(schema), kind, true);
  return alternatives_.emplace(std::pair(schema, kind), std::move(alternatives)).first->second;
}

SchemaLogic::Alternatives SchemaLogic::FindAlternatives(const SchemaNode& node, ValueKind kind,
                                                        bool with_unevaluated) {
  const Level level(*this);
  if (level.is_too_deep() || failure_) return {};
  Alternatives all = {{.coverage = OwnCoverage(node, kind, with_unevaluated)}};
  // Whether it holds or not.
  const auto multiply_if = [&](FormulaId condition, SchemaId schema) {
    Alternatives either = AlternativesIf(condition, schema, kind);
    if (either.empty()) return;
    either.insert(Alternative{});
    Multiply(all, either);
  };
  for (const SchemaId schema : node.all_of) Multiply(all, AlternativesOf(schema, kind));
  for (const SchemaId schema : node.any_of) {
    multiply_if(StructureOf(Schema(schema), kind), schema);
  }
  Alternatives one = {Alternative{}};
  for (const SchemaId schema : node.one_of) {
    one.merge(AlternativesIf(StructureOf(Schema(schema), kind), schema, kind));
  }
  Multiply(all, one);
  if (node.if_schema) {
    const FormulaId condition = StructureOf(Schema(*node.if_schema), kind);
    Alternatives then = AlternativesOf(*node.if_schema, kind);
    if (node.then_schema) Multiply(then, AlternativesOf(*node.then_schema, kind));
    Alternatives either = {Alternative{}};
    for (Alternative each : then) {
      each.condition = formulas_.And(each.condition, condition);
      either.insert(std::move(each));
    }
    if (node.else_schema) {
      either.merge(AlternativesIf(formulas_.Not(condition), *node.else_schema, kind));
    }
    Multiply(all, either);
  }
  if (kind != ValueKind::kObject) return all;
  for (const auto& [name, schema] : node.dependent_schemas) multiply_if(HasName(name), schema);
  return all;
}

FormulaId SchemaLogic::Unevaluated(const SchemaNode& node, ValueKind kind) {
  std::vector<FormulaId> ways;
  const FormulaId rest =
      Schema(kind == ValueKind::kObject ? *node.unevaluated_properties : *node.unevaluated_items);
  for (const Alternative& each : FindAlternatives(node, kind, false)) {
    const Coverage& coverage = each.coverage;
    if (coverage.all) {
      ways.push_back(each.condition);
      continue;
    }
    if (kind == ValueKind::kObject) {
      PropertyTable table;
      for (const NameId name : coverage.names) table.named.emplace_back(name, FormulaId::kTrue);
      for (const RegexId pattern : coverage.patterns) {
        table.patterns.emplace_back(pattern, FormulaId::kTrue);
      }
      table.others = rest;
      ways.push_back(formulas_.And(each.condition, AddTable(std::move(table))));
    } else {
      ItemTable table;
      table.prefix.assign(static_cast<size_t>(coverage.prefix), FormulaId::kTrue);
      std::vector<FormulaId> parts(coverage.contains.begin(), coverage.contains.end());
      parts.push_back(rest);
      table.rest = formulas_.Or(parts);
      ways.push_back(formulas_.And(each.condition, AddTable(std::move(table))));
    }
  }
  return formulas_.Or(ways);
}

}  // namespace weft
