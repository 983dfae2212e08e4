// What comes of a streamed answer of /v1/chat/completions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

struct ReplyCall {
  std::string name;
  std::string arguments;  // JSON, as far as it has come
};

class ChatReply {
 public:
  enum class Part { kReasoning, kContent };
  using Show = std::function<void(Part part, std::string_view text)>;

  // The data of one event; what it adds is shown. Errors: the server's own, and what is no chunk.
  Result<void> Take(std::string_view data, const Show& show);

  const std::string& content() const { return content_; }
  const std::map<int64_t, ReplyCall>& calls() const { return calls_; }  // by their index
  const std::string& finish_reason() const { return finish_reason_; }   // empty: it has not ended

 private:
  std::string content_;
  std::map<int64_t, ReplyCall> calls_;
  std::string finish_reason_;
};

// The message of an error object of OpenAI's, or the beginning of the text that is none.
std::string ErrorMessageOf(std::string_view body);

}  // namespace weft
