// Jinja's filters, by what they work on.
#pragma once

#include "base/result.h"
#include "model/tokenizer/jinja/builtins.h"

namespace weft::jinja {

// text_filters.cc
Result<Value> FilterCapitalize(Runtime& runtime, const Value& self,
                               const BoundArguments& arguments);
Result<Value> FilterCenter(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterEscape(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterForceEscape(Runtime& runtime, const Value& self,
                                const BoundArguments& arguments);
Result<Value> FilterFormat(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterIndent(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterLower(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterReplace(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterSafe(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterString(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterStripTags(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterTitle(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterToJson(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterTrim(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterTruncate(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterUpper(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterUrlEncode(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterWordCount(Runtime& runtime, const Value& self, const BoundArguments& arguments);

// number_filters.cc
Result<Value> FilterAbs(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterFileSize(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterFloat(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterInt(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterRound(Runtime& runtime, const Value& self, const BoundArguments& arguments);

// sequence_filters.cc
Result<Value> FilterAttr(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterDefault(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterDictSort(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterFirst(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterGroupBy(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterJoin(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterLast(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterLength(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterList(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterMax(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterMin(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterSort(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterSum(Runtime& runtime, const Value& self, const BoundArguments& arguments);

// lazy_filters.cc: those that make iterators
Result<Value> FilterBatch(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterItems(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterMap(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterReject(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterRejectAttr(Runtime& runtime, const Value& self,
                               const BoundArguments& arguments);
Result<Value> FilterReverse(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterSelect(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterSelectAttr(Runtime& runtime, const Value& self,
                               const BoundArguments& arguments);
Result<Value> FilterSlice(Runtime& runtime, const Value& self, const BoundArguments& arguments);
Result<Value> FilterUnique(Runtime& runtime, const Value& self, const BoundArguments& arguments);

// The attribute that `attribute=` means: "a.b.0", a number, or None for the item itself. With
// `fold_case`, texts come in lower case. `fallback` (missing: none) replaces what is undefined.
class AttributeGetter {
 public:
  static Result<AttributeGetter> Make(Runtime& runtime, const Value& attribute, bool fold_case,
                                      Value fallback = {});
  Result<Value> Get(Runtime& runtime, const Value& item) const;

 private:
  std::vector<Value> parts_;
  bool fold_case_ = false;
  Value fallback_;
};

// The same for "a,b.c": a list of values.
class MultiAttributeGetter {
 public:
  static Result<MultiAttributeGetter> Make(Runtime& runtime, const Value& attribute,
                                           bool fold_case);
  Result<Value> Get(Runtime& runtime, const Value& item) const;

 private:
  std::vector<AttributeGetter> getters_;
};

// Positions of `keys` in ascending order, or descending; equal ones keep their order.
Result<std::vector<size_t>> SortedOrder(Runtime& runtime, const std::vector<Value>& keys,
                                        bool descending);

bool ArgumentTruth(const BoundArguments& arguments, size_t i);

}  // namespace weft::jinja
