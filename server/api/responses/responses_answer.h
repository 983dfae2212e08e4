// The answer of /v1/responses, put together from the engine's events. Include from .cc files only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/responses/custom_input.h"
#include "proto/responses/response_tools.h"
#include "proto/responses/responses_response.h"
#include "server/api/conversation/reply_stream.h"
#include "server/api/generation_answer.h"
#include "server/api/responses/response_store.h"
#include "server/models/served_model.h"

namespace weft {

struct ResponsesAnswerOptions {
  const ServedModel* model = nullptr;
  std::string owner;  // see StoredResponse
  std::string id;     // kResponseIdPrefix and what makes it, and the ids of its items, unique
  bool logprobs = false;
  bool seals_reasoning = false;  // see ResponsesRequest
  ResponseTools tools;
  bool stream = false;
  bool background = false;  // needs the store
  ReplySetup reply;
  nlohmann::ordered_json echo;            // see ResponsesRequest
  ResponseStore* store = nullptr;         // nullptr: the response is not stored
  ResponseSocketState* socket = nullptr;  // not nullptr: remembers the response
  bool generates = true;  // otherwise it is about its request alone: nothing comes out
  StoredItems history;    // see StoredResponse
  StoredItems input;
};

inline constexpr std::string_view kResponseIdPrefix = "resp_";
// The id of an item of a response: "msg_...".
std::string MakeItemId(std::string_view type, std::string_view response_id, size_t index);

class ResponsesAnswer : public GenerationAnswer {
 public:
  explicit ResponsesAnswer(ResponsesAnswerOptions options);

  void Begin(std::string_view request_id, int64_t created) override;
  std::string TakeStreamText() override;
  std::string WholeBody() override;
  std::string StreamError(const ApiError& error) const override;

  // Of a response that nobody waits for.
  const std::string& owner() const { return options_.owner; }
  const std::string& id() const { return options_.id; }
  // As far as it has come, into the store. False: there is no room for it, or it has been deleted.
  bool StoreUnfinished();
  // Ends it early, in the store too; nothing may be consumed afterwards.
  void Fail(const ApiError& error);
  void Cancel();

 private:
  void OnPromptLogprobs(int32_t prompt_index, const PromptLogprobs& entries) override;
  void OnTokens(int32_t prompt_index, const TokensEvent& event) override;
  void OnFinish(int32_t prompt_index, const FinishEvent& event) override;

  void AddDelta(ReplyDelta delta);
  void BeginCall(ReplyDelta delta);
  void AddArguments(const std::string& text);
  // Of the item under way.
  void AddText(const std::string& text, std::vector<ChatLogprob> logprobs);
  // The last item, begun here unless it is one of this kind under way.
  ResponseItem& OpenItem(ItemKind kind);
  void BeginItem(ResponseItem item);
  void EndItem(std::string_view status);
  bool HasAnswer() const;
  std::shared_ptr<const StoredResponse> ToStored(bool finished) const;
  bool Store(bool finished);

  ResponsesAnswerOptions options_;
  ReplyStream reply_;
  ResponseObject response_;
  ResponseEvents events_;              // of a stream
  std::vector<ChatLogprob> logprobs_;  // of tokens whose text has not come yet
  CustomInputReader input_reader_;     // of the call of a custom tool that is under way
};

}  // namespace weft
