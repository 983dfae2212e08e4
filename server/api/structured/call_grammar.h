// Calls of tools as each format writes them, so that ReplyParser reads the calls that are meant.
// Include from .cc files only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"
#include "proto/output_format.h"
#include "proto/reply/reply_format.h"
#include "server/api/structured/argument_grammar.h"
#include "server/api/structured/tag_writer.h"

namespace weft {

struct CallableTool {
  std::string name;
  const nlohmann::ordered_json* parameters = nullptr;  // a schema; null in JSON: any object
  // Not nullptr: what the one parameter, a string, must be instead.
  const OutputFormat* input = nullptr;
  bool strict = false;  // refused where the schema cannot be enforced
  std::string path;     // of the parameters in the request
};

// Calls as a part of a reply.
struct CallGrammar {
  GrammarExpr one;    // a call
  GrammarExpr some;   // one or several
  bool ends = false;  // nothing may follow
  // What begins a call: no other text has it.
  std::vector<std::string_view> openings = {};
  int32_t loose_tool_count = 0;  // tools of whose schemas not all is enforced
};

// Of formats that write messages, the calls are messages with their headers, from where the prompt
// has ended; in a row where there can be several. Errors are 400: the schema of a strict tool.
ApiResult<CallGrammar> WriteCalls(TagWriter* tags, CallFormat format,
                                  const std::vector<CallableTool>& tools);

}  // namespace weft
