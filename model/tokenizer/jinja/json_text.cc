// json.dumps().
#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "model/tokenizer/jinja/builtins.h"
#include "model/tokenizer/jinja/operators.h"
#include "model/tokenizer/jinja/repr.h"

namespace weft::jinja {
namespace {

class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonStyle& style) : runtime_(runtime), style_(style) {}

  Result<void> Write(const Value& value) {
    const DepthGuard guard(runtime_);
    if (!guard.ok() || !runtime_.Spend(1) || !runtime_.budget().FitsString(out_.size())) {
      return runtime_.Exceeded();
    }
    switch (value.kind()) {
      case Kind::kNone:
        out_.append("null");
        return {};
      case Kind::kBool:
        out_.append(value.as_bool() ? "true" : "false");
        return {};
      case Kind::kInt:
      case Kind::kBigInt:
        return AppendStr(runtime_, value, &out_);
      case Kind::kFloat:
        WriteFloat(value.as_float());
        return {};
      case Kind::kString:
        return WriteString(value.text());
      case Kind::kList:
      case Kind::kTuple:
        return WriteList(value.items());
      case Kind::kDict:
        return WriteDict(value.dict());
      default:
        return Fault("object of type {} is not JSON serializable", TypeName(value));
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  void WriteFloat(double value) {
    if (std::isnan(value)) {
      out_.append("NaN");
    } else if (std::isinf(value)) {
      out_.append(value < 0 ? "-Infinity" : "Infinity");
    } else {
      out_.append(FloatText(value));
    }
  }

  Result<void> WriteString(std::string_view text) {
    if (!runtime_.SpendBytes(text.size()) ||
        !runtime_.budget().FitsString(uint64_t{out_.size()} + text.size())) {
      return runtime_.Exceeded();
    }
    out_.push_back('"');
    size_t plain = 0;  // where what needs no escape began
    for (size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<uint8_t>(text[i]);
      if (c >= ' ' && c != '"' && c != '\\' && (c < 0x80 || !style_.ensure_ascii)) continue;
      out_.append(text, plain, i - plain);
      if (c < 0x80) {
        AppendEscape(text[i]);
        plain = i + 1;
        continue;
      }
      size_t end = i + 1;
      while (end < text.size() && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) ++end;
      AppendCodePoint(FirstCharacter(text.substr(i, end - i)));
      plain = end;
      i = end - 1;
    }
    out_.append(text, plain, text.size() - plain);
    out_.push_back('"');
    return {};
  }

  void AppendEscape(char c) {
    constexpr std::string_view kCharacters = "\"\\\n\r\t\f\b";
    constexpr std::string_view kLetters = "\"\\nrtfb";
    if (const size_t found = kCharacters.find(c); found != std::string_view::npos) {
      out_.push_back('\\');
      out_.push_back(kLetters[found]);
    } else {
      AppendUnit(static_cast<uint8_t>(c));
    }
  }
  void AppendCodePoint(char32_t c) {
    if (c < 0x10000) {
      AppendUnit(static_cast<uint32_t>(c));
    } else {
      AppendUnit(0xD800 + static_cast<uint32_t>((c - 0x10000) >> 10));
      AppendUnit(0xDC00 + static_cast<uint32_t>((c - 0x10000) & 0x3FF));
    }
  }
  void AppendUnit(uint32_t unit) { fmt::format_to(std::back_inserter(out_), "\\u{:04x}", unit); }

  void NewLine() {
    if (!style_.has_indent) return;
    out_.push_back('\n');
    for (int i = 0; i < level_; ++i) out_.append(style_.indent);
  }

  Result<void> WriteList(const std::vector<Value>& items) {
    if (items.empty()) {
      out_.append("[]");
      return {};
    }
    out_.push_back('[');
    ++level_;
    bool first = true;
    for (const Value& item : items) {
      if (!first) out_.append(style_.item_separator);
      first = false;
      NewLine();
      WEFT_RETURN_IF_ERROR(Write(item));
    }
    --level_;
    NewLine();
    out_.push_back(']');
    return {};
  }

  Result<void> WriteKey(const Value& key) {
    switch (key.kind()) {
      case Kind::kString:
        return WriteString(key.text());
      case Kind::kNone:
      case Kind::kBool:
      case Kind::kInt:
      case Kind::kFloat:
        out_.push_back('"');
        WEFT_RETURN_IF_ERROR(Write(key));
        out_.push_back('"');
        return {};
      default:
        return Fault("keys must be str, int, float, bool or None, not {}", TypeName(key));
    }
  }

  Result<void> WriteDict(const DictObject& dict) {
    if (dict.entries.empty()) {
      out_.append("{}");
      return {};
    }
    std::vector<const DictObject::Entry*> entries;
    for (const DictObject::Entry& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) {
      WEFT_RETURN_IF_ERROR(Sort(&entries));
    }
    out_.push_back('{');
    ++level_;
    bool first = true;
    for (const DictObject::Entry* entry : entries) {
      if (!first) out_.append(style_.item_separator);
      first = false;
      NewLine();
      WEFT_RETURN_IF_ERROR(WriteKey(entry->first));
      out_.append(style_.key_separator);
      WEFT_RETURN_IF_ERROR(Write(entry->second));
    }
    --level_;
    NewLine();
    out_.push_back('}');
    return {};
  }

  Result<void> Sort(std::vector<const DictObject::Entry*>* entries) const {
    Result<void> status;
    std::stable_sort(entries->begin(), entries->end(), [&](const auto* a, const auto* b) {
      if (!status) return false;
      const auto less = Compare(runtime_, Comparison::kLess, a->first, b->first);
      if (!less) status = tl::unexpected(less.error());
      return less && *less;
    });
    return status;
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  std::string out_;
  int level_ = 0;
};

}  // namespace

Result<std::string> ToJson(Runtime& runtime, const Value& value, const JsonStyle& style) {
  JsonWriter writer(runtime, style);
  WEFT_RETURN_IF_ERROR(writer.Write(value));
  return writer.Take();
}

}  // namespace weft::jinja
