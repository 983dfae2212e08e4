#include "proto/logprob_json.h"

#include <utility>

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json TokenJson(const ChatTokenLogprob& token, const ordered_json& no_bytes) {
  ordered_json value;
  value["token"] = token.token;
  value["logprob"] = token.logprob;
  ordered_json& bytes = value["bytes"];
  if (token.bytes.empty()) bytes = no_bytes;
  for (const char byte : token.bytes) bytes.push_back(static_cast<unsigned char>(byte));
  return value;
}

}  // namespace

ordered_json LogprobJson(const ChatLogprob& logprob, const ordered_json& no_bytes) {
  ordered_json entry = TokenJson(logprob.chosen, no_bytes);
  ordered_json& top = entry["top_logprobs"] = ordered_json::array();
  for (const ChatTokenLogprob& candidate : logprob.top) {
    top.push_back(TokenJson(candidate, no_bytes));
  }
  return entry;
}

}  // namespace weft
