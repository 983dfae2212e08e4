// Python's str(), repr() and ascii().
#pragma once

#include <string>

#include "base/result.h"
#include "model/tokenizer/jinja/runtime.h"
#include "model/tokenizer/jinja/value.h"

namespace weft::jinja {

Result<void> AppendStr(Runtime& runtime, const Value& value, std::string* out);
Result<void> AppendRepr(Runtime& runtime, const Value& value, std::string* out);
Result<std::string> Str(Runtime& runtime, const Value& value);
// str(), without a copy where it is a string already.
Result<Value> ToStringValue(Runtime& runtime, const Value& value);
// ascii(): repr() with escapes in place of what ASCII has not.
Result<std::string> AsciiRepr(Runtime& runtime, const Value& value);

}  // namespace weft::jinja
