// What `weft chat` asks of a server, Weft or any other that speaks OpenAI's API, by libcurl.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "server/commands/chat/chat_reply.h"

namespace weft {

struct ChatServer {
  std::string url;        // "http://host:port", before "/v1/..."
  std::string unix_path;  // not empty: connects there
  std::string api_key;    // empty: none
};

// Not thread-safe. Proxies are those of the environment, certificates the system's. Redirects are
// not followed: the key goes where the user has said.
class ChatClient {
 public:
  // `is_stopped` is asked while an answer comes, and when a signal does.
  ChatClient(ChatServer server, std::function<bool()> is_stopped);
  ~ChatClient();
  ChatClient(const ChatClient&) = delete;
  ChatClient& operator=(const ChatClient&) = delete;

  // The ids of the models there are.
  Result<std::vector<std::string>> Models();
  // The answer to `body`, of which `reply` has all that came, whatever went wrong; false: it was
  // stopped.
  Result<bool> Answer(const nlohmann::ordered_json& body, const ChatReply::Show& show,
                      ChatReply& reply);

 private:
  struct Handle;
  struct Exchange;

  Result<bool> Perform(const std::string& path, const std::string* body, Exchange& exchange);

  const ChatServer server_;
  const std::function<bool()> is_stopped_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace weft
