// What a scope knows about its names while a template is resolved: jinja2.idtracking's Symbols.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/jinja/ast.h"

namespace weft::jinja {

// A function while it is resolved: hands out slots. Scopes that do not overlap in time but have the
// same level share a name's slot, as they do in Jinja.
struct FunctionBuilder {
  FunctionBuilder* outer = nullptr;
  Function* function = nullptr;
  std::map<std::pair<int, std::string>, int> slots;  // by level and name

  int SlotOf(int level, const std::string& name) {
    const auto [found, inserted] = slots.try_emplace({level, name}, function->slot_count);
    if (inserted) ++function->slot_count;
    return found->second;
  }
};

class Symbols {
 public:
  struct Reference {
    FunctionBuilder* function = nullptr;
    int index = -1;
    friend bool operator<(const Reference& a, const Reference& b) {
      return a.function != b.function ? a.function < b.function : a.index < b.index;
    }
  };

  // `apart`: a scope that is alive at the same time as one of the same level.
  Symbols(const Symbols* parent, FunctionBuilder* function, bool apart = false)
      : parent_(parent),
        level_((parent == nullptr ? 0 : parent->level_ + 1) + (apart ? kApart : 0)),
        function_(function) {}

  void DeclareParameter(const std::string& name) {
    stores_.insert(name);
    Define(name, Action::kParameter);
  }

  void StoreName(const std::string& name) {
    stores_.insert(name);
    if (references_.contains(name)) return;
    const Reference* outer = FindOuter(name);
    if (outer != nullptr) {
      Define(name, Action::kAlias, outer);
    } else {
      Define(name, Action::kUndefined);
    }
  }

  void LoadName(const std::string& name) {
    if (Find(name) == nullptr) Define(name, Action::kResolve);
  }

  // After an if: what its branches did to copies of these symbols.
  void Merge(const std::vector<Symbols>& branches) {
    std::set<std::string> stored;
    for (const Symbols& branch : branches) {
      for (const std::string& name : branch.stores_) {
        if (!stores_.contains(name)) stored.insert(name);
      }
    }
    for (const Symbols& branch : branches) {
      for (const auto& [name, reference] : branch.references_) references_[name] = reference;
      for (const auto& [name, load] : branch.loads_) loads_[name] = load;
      stores_.insert(branch.stores_.begin(), branch.stores_.end());
    }
    for (const std::string& name : stored) {
      if (const Reference* outer = FindOuter(name)) {
        loads_[name] = {Action::kAlias, *outer};
      } else {
        loads_[name] = {Action::kResolve, {}};
      }
    }
  }

  const Reference* Find(const std::string& name) const {
    const auto found = references_.find(name);
    if (found != references_.end()) return &found->second;
    return FindOuter(name);
  }

  FunctionBuilder* function() const { return function_; }
  size_t size() const { return references_.size(); }

  // What to do where the scope begins and ends.
  Scope ToScope() const {
    Scope scope;
    for (const auto& [name, load] : loads_) {
      const Reference& own = references_.at(name);
      scope.owned.push_back(own.index);
      if (load.action == Action::kParameter) continue;
      Load result;
      result.index = own.index;
      if (load.action == Action::kAlias) {
        result.from = Load::From::kOuter;
        result.outer = SlotFrom(load.outer);
      } else if (load.action == Action::kResolve) {
        result.from = Load::From::kContext;
        result.name = name;
      }
      scope.loads.push_back(std::move(result));
    }
    return scope;
  }

  // The place of a variable, seen from this scope's function.
  Slot SlotFrom(const Reference& reference) const {
    Slot slot{0, reference.index};
    for (const FunctionBuilder* f = function_; f != reference.function; f = f->outer) ++slot.hops;
    return slot;
  }

 private:
  static constexpr int kApart = 1 << 20;

  enum class Action : uint8_t { kParameter, kResolve, kAlias, kUndefined };
  struct LoadPlan {
    Action action = Action::kUndefined;
    Reference outer;
  };

  const Reference* FindOuter(const std::string& name) const {
    return parent_ == nullptr ? nullptr : parent_->Find(name);
  }
  void Define(const std::string& name, Action action, const Reference* outer = nullptr) {
    references_[name] = {function_, function_->SlotOf(level_, name)};
    loads_[name] = {action, outer == nullptr ? Reference{} : *outer};
  }

  const Symbols* parent_;
  int level_;
  FunctionBuilder* function_;
  std::map<std::string, Reference> references_;
  std::map<std::string, LoadPlan> loads_;
  std::set<std::string> stores_;
};

}  // namespace weft::jinja
