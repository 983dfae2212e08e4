// unevaluatedProperties and unevaluatedItems. They are about what no other keyword has looked at,
// in the schema or in those of the same place that hold. To look at less cannot make them true, so
// that it is enough to say: there are some of these schemas that hold, and what neither they nor
// the schema itself look at is as the keyword demands.
#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "grammar/schema/schema_logic.h"

namespace weft {
namespace {

constexpr size_t kMostAlternatives = 256;

}  // namespace

SchemaLogic::Coverage SchemaLogic::OwnCoverage(const SchemaNode& node, ValueKind kind,
                                               bool with_unevaluated) {
  Coverage coverage;
  if (kind == ValueKind::kObject) {
    coverage.all = node.additional_properties || (with_unevaluated && node.unevaluated_properties);
    for (const auto& [name, schema] : node.properties) {
      coverage.names.push_back(constants_.NameOf(name));
    }
    for (const auto& [pattern, schema] : node.pattern_properties) {
      coverage.patterns.push_back(patterns_.at(pattern));
    }
    return coverage;
  }
  coverage.all = node.items || (with_unevaluated && node.unevaluated_items);
  coverage.prefix = std::ssize(node.prefix_items);
  if (node.contains) coverage.contains.push_back(Schema(*node.contains));
  return coverage;
}

void SchemaLogic::Multiply(Alternatives& all, const Alternatives& others, const SchemaNode& node) {
  Alternatives product;
  for (const Alternative& a : all) {
    for (const Alternative& b : others) {
      Alternative both = a;
      both.condition = formulas_.And(a.condition, b.condition);
      if (both.condition == FormulaId::kFalse) continue;
      Coverage& coverage = both.coverage;
      coverage.all = coverage.all || b.coverage.all;
      coverage.prefix = std::max(coverage.prefix, b.coverage.prefix);
      std::ranges::copy(b.coverage.names, std::back_inserter(coverage.names));
      std::ranges::copy(b.coverage.patterns, std::back_inserter(coverage.patterns));
      std::ranges::copy(b.coverage.contains, std::back_inserter(coverage.contains));
      product.push_back(std::move(both));
    }
  }
  if (product.size() > kMostAlternatives) {
    Fail(
        fmt::format("{}: an unevaluated keyword beside schemas that may hold or not in more than "
                    "{} combinations",
                    node.pointer.empty() ? "the schema" : node.pointer, kMostAlternatives));
    product.resize(1);
  }
  all = std::move(product);
}

SchemaLogic::Alternatives SchemaLogic::AlternativesIf(FormulaId condition, SchemaId schema,
                                                      ValueKind kind) {
  Alternatives alternatives = AlternativesOf(node(schema), kind, true);
  std::erase_if(alternatives, [](const Alternative& each) {
    const Coverage& coverage = each.coverage;
    return !coverage.all && coverage.names.empty() && coverage.patterns.empty() &&
           coverage.prefix == 0 && coverage.contains.empty();
  });
  for (Alternative& each : alternatives) {
    each.condition = formulas_.And(each.condition, condition);
  }
  return alternatives;
}

SchemaLogic::Alternatives SchemaLogic::AlternativesOf(const SchemaNode& node, ValueKind kind,
                                                      bool with_unevaluated) {
  const Level level(*this);
  if (level.is_too_deep() || failure_) return {Alternative{}};
  Alternatives all = {{.coverage = OwnCoverage(node, kind, with_unevaluated)}};
  const auto append = [](Alternatives& to, Alternatives from) {
    std::ranges::move(from, std::back_inserter(to));
  };
  for (const SchemaId schema : node.all_of) {
    Multiply(all, AlternativesOf(this->node(schema), kind, true), node);
  }
  for (const SchemaId schema : node.any_of) {
    Alternatives with = {Alternative{}};
    append(with, AlternativesIf(StructureOf(Schema(schema), kind), schema, kind));
    if (with.size() > 1) Multiply(all, with, node);
  }
  Alternatives one = {Alternative{}};
  for (const SchemaId schema : node.one_of) {
    append(one, AlternativesIf(StructureOf(Schema(schema), kind), schema, kind));
  }
  if (one.size() > 1) Multiply(all, one, node);
  if (node.if_schema) {
    const FormulaId condition = StructureOf(Schema(*node.if_schema), kind);
    Alternatives yes = AlternativesOf(this->node(*node.if_schema), kind, true);
    if (node.then_schema) {
      Multiply(yes, AlternativesOf(this->node(*node.then_schema), kind, true), node);
    }
    for (Alternative& each : yes) each.condition = formulas_.And(each.condition, condition);
    Alternatives either = {Alternative{}};
    append(either, std::move(yes));
    if (node.else_schema) {
      append(either, AlternativesIf(formulas_.Not(condition), *node.else_schema, kind));
    }
    Multiply(all, either, node);
  }
  if (kind != ValueKind::kObject) return all;
  for (const auto& [name, schema] : node.dependent_schemas) {
    Alternatives with = {Alternative{}};
    append(with, AlternativesIf(HasName(name), schema, kind));
    if (with.size() > 1) Multiply(all, with, node);
  }
  return all;
}

FormulaId SchemaLogic::Unevaluated(const SchemaNode& node, ValueKind kind) {
  std::vector<FormulaId> ways;
  const FormulaId rest =
      Schema(kind == ValueKind::kObject ? *node.unevaluated_properties : *node.unevaluated_items);
  for (const Alternative& each : AlternativesOf(node, kind, false)) {
    const Coverage& coverage = each.coverage;
    if (coverage.all) {
      ways.push_back(each.condition);
      continue;
    }
    if (kind == ValueKind::kObject) {
      PropertyTable table;
      for (const NameId name : coverage.names) {
        const auto is_this = [&](const auto& named) { return named.first == name; };
        if (std::ranges::any_of(table.named, is_this)) continue;
        table.named.emplace_back(name, FormulaId::kTrue);
      }
      for (const RegexId pattern : coverage.patterns) {
        table.patterns.emplace_back(pattern, FormulaId::kTrue);
      }
      table.others = rest;
      ways.push_back(formulas_.And(each.condition, AddTable(std::move(table))));
    } else {
      ItemTable table;
      table.prefix.assign(static_cast<size_t>(coverage.prefix), FormulaId::kTrue);
      std::vector<FormulaId> parts = coverage.contains;
      parts.push_back(rest);
      table.rest = formulas_.Or(parts);
      ways.push_back(formulas_.And(each.condition, AddTable(std::move(table))));
    }
  }
  return formulas_.Or(ways);
}

}  // namespace weft
