// Python's three ways to put values into a text: "..." % values, "...".format(...), strftime.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/tokenizer/jinja/runtime.h"
#include "model/tokenizer/jinja/value.h"

namespace weft::jinja {

// format % arguments: a tuple, a dict for "%(name)s", or one value.
Result<Value> PercentFormat(Runtime& runtime, const Value& format, const Value& arguments);
// format.format(*positional, **keyword)
Result<Value> BraceFormat(Runtime& runtime, const Value& format, const CallArguments& arguments);
// datetime.strftime in the C locale.
Result<std::string> FormatTime(std::string_view format, const std::tm& time);

}  // namespace weft::jinja
