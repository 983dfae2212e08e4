// The texts of a whole reply: reasoning, calls and an answer, as the model's format parts them.
// Include from .cc files only.
#pragma once

#include <string>
#include <vector>

#include "engine/request.h"
#include "model/tokenizer/tokenizer.h"
#include "proto/output_format.h"
#include "proto/reply/reply_parser.h"
#include "server/api/structured/call_grammar.h"
#include "server/api/structured/structured_output.h"

namespace weft {

enum class CallUse { kNone, kMay, kMust };

struct ReplyGrammarRequest {
  const ReplyOptions& reply;  // what the reply is read with
  bool is_continued = false;  // it goes on with a message, in its text or in its reasoning
  CallUse calls = CallUse::kNone;
  std::vector<CallableTool> tools;  // those that may be called
  const OutputFormat& output;       // of an answer that is no call
  std::string tools_path;           // for errors
};

// Whether anything is to be constrained.
bool NeedsGrammar(const ReplyGrammarRequest& request);

// `end_tokens` end every text. Errors are 400.
ApiResult<CompiledOutput> CompileReply(const ReplyGrammarRequest& request,
                                       const Tokenizer& tokenizer,
                                       const std::vector<TokenId>& end_tokens);

}  // namespace weft
