#include "model/tokenizer/jinja/repr.h"

#include <iterator>

#include <fmt/format.h>

#include "base/quoted.h"
#include "model/tokenizer/jinja/builtins.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/text.h"

namespace weft::jinja {
namespace {

Result<void> AppendItems(Runtime& runtime, const std::vector<Value>& items, std::string* out) {
  bool first = true;
  for (const Value& item : items) {
    if (!first) out->append(", ");
    first = false;
    WEFT_RETURN_IF_ERROR(AppendRepr(runtime, item, out));
  }
  return {};
}

Result<void> AppendEntries(Runtime& runtime, const std::vector<DictObject::Entry>& entries,
                           std::string* out) {
  out->push_back('{');
  bool first = true;
  for (const auto& [key, value] : entries) {
    if (!first) out->append(", ");
    first = false;
    WEFT_RETURN_IF_ERROR(AppendRepr(runtime, key, out));
    out->append(": ");
    WEFT_RETURN_IF_ERROR(AppendRepr(runtime, value, out));
  }
  out->push_back('}');
  return {};
}

Result<void> AppendViewRepr(Runtime& runtime, const Value& view, std::string* out) {
  out->append(TypeName(view)).append("([");
  WEFT_ASSIGN_OR_RETURN(const std::vector<Value> items, Collect(runtime, view));
  WEFT_RETURN_IF_ERROR(AppendItems(runtime, items, out));
  out->append("])");
  return {};
}

Result<void> AppendNamespaceRepr(Runtime& runtime, const Value& value, std::string* out) {
  out->append("<Namespace {");
  bool first = true;
  for (const auto& [name, attribute] : value.name_space().attributes) {
    if (!first) out->append(", ");
    first = false;
    AppendQuoted(name, out);
    out->append(": ");
    WEFT_RETURN_IF_ERROR(AppendRepr(runtime, attribute, out));
  }
  out->append("}>");
  return {};
}

std::string RangeText(const RangeObject& range) {
  return range.step == 1 ? fmt::format("range({}, {})", range.start, range.stop)
                         : fmt::format("range({}, {}, {})", range.start, range.stop, range.step);
}

}  // namespace

Result<void> AppendRepr(Runtime& runtime, const Value& value, std::string* out) {
  const DepthGuard guard(runtime);
  if (!guard.ok() || !runtime.Spend(1) || !runtime.budget().FitsString(out->size())) {
    return runtime.Exceeded();
  }
  switch (value.kind()) {
    case Kind::kString:
      if (value.string().is_markup) out->append("Markup(");
      AppendQuoted(value.text(), out);
      if (value.string().is_markup) out->push_back(')');
      return {};
    case Kind::kMissing:
    case Kind::kUndefined:
      out->append("Undefined");
      return {};
    case Kind::kList: {
      out->push_back('[');
      WEFT_RETURN_IF_ERROR(AppendItems(runtime, value.items(), out));
      out->push_back(']');
      return {};
    }
    case Kind::kTuple: {
      out->push_back('(');
      WEFT_RETURN_IF_ERROR(AppendItems(runtime, value.items(), out));
      out->append(value.items().size() == 1 ? ",)" : ")");
      return {};
    }
    case Kind::kDict:
      return AppendEntries(runtime, value.dict().entries, out);
    case Kind::kDictView:
      return AppendViewRepr(runtime, value, out);
    case Kind::kNamespace:
      return AppendNamespaceRepr(runtime, value, out);
    default:
      return AppendStr(runtime, value, out);
  }
}

Result<void> AppendStr(Runtime& runtime, const Value& value, std::string* out) {
  switch (value.kind()) {
    case Kind::kString:
      if (!runtime.SpendBytes(value.text().size()) ||
          !runtime.budget().FitsString(uint64_t{out->size()} + value.text().size())) {
        return runtime.Exceeded();
      }
      out->append(value.text());
      return {};
    case Kind::kMissing:
    case Kind::kUndefined:
      return {};
    case Kind::kNone:
      out->append("None");
      return {};
    case Kind::kBool:
      out->append(value.as_bool() ? "True" : "False");
      return {};
    case Kind::kInt:
      fmt::format_to(std::back_inserter(*out), "{}", value.as_int());
      return {};
    case Kind::kBigInt:
      fmt::format_to(std::back_inserter(*out), "{}", value.as_big_int());
      return {};
    case Kind::kFloat:
      out->append(FloatText(value.as_float()));
      return {};
    case Kind::kRange:
      out->append(RangeText(value.range()));
      return {};
    case Kind::kIterator:
      out->append("<generator object>");
      return {};
    case Kind::kCallable:
      out->append(value.callable().Describe());
      return {};
    default:
      return AppendRepr(runtime, value, out);
  }
}

Result<std::string> Str(Runtime& runtime, const Value& value) {
  std::string out;
  WEFT_RETURN_IF_ERROR(AppendStr(runtime, value, &out));
  return out;
}

Result<Value> ToStringValue(Runtime& runtime, const Value& value) {
  if (value.is_string()) return value;
  WEFT_ASSIGN_OR_RETURN(std::string text, Str(runtime, value));
  return runtime.NewString(std::move(text));
}

Result<std::string> AsciiRepr(Runtime& runtime, const Value& value) {
  std::string text;
  WEFT_RETURN_IF_ERROR(AppendRepr(runtime, value, &text));
  std::string out;
  ForEachCharacter(text, [&](char32_t c, std::string_view bytes) {
    const auto code = static_cast<uint32_t>(c);
    out.append(code < 0x80      ? std::string(bytes)
               : code < 0x100   ? fmt::format("\\x{:02x}", code)
               : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                : fmt::format("\\U{:08x}", code));
  });
  return out;
}

}  // namespace weft::jinja
