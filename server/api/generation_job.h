// A request of any endpoint that generates, made ready for the engine: model found, prompts
// tokenised, everything checked against the model. No sockets, no engine thread.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/request.h"
#include "proto/api_error.h"
#include "proto/request_rules.h"
#include "proto/sampling_fields.h"
#include "server/api/context_words.h"
#include "server/api/generation_answer.h"
#include "server/api/generation_summary.h"
#include "server/api/request_models.h"
#include "server/http/byte_budget.h"
#include "server/models/served_model.h"
#include "server/tracing/request_trace.h"

namespace weft {

class GrammarConstraint;
class ResponsesAnswer;

// Log probabilities are what can make an answer large out of all proportion.
struct LogprobUse {
  uint64_t bytes_each = 0;   // of an entry, until the answer is sent; 0: none are wanted
  int64_t count = 0;         // entries so far; those of prompts from the beginning
  int64_t asked_count = 0;   // those of the tokens that the client wants at most, if it says so
  bool is_streamed = false;  // those of generated tokens go with their chunks, and do not count
  std::string path;          // of the field that asks for them
};

// The bytes of an entry, as measured: in the shapes of completions and of chats.
inline constexpr uint64_t kCompletionLogprobBytes = 256;
inline constexpr uint64_t kChatLogprobBytes = 1024;

struct GenerationJob {
  ModelLease lease;                    // so that the model stays
  const ServedModel* model = nullptr;  // it
  RequestTimes::Time received;         // the HTTP request was there
  // None is empty; an engine request each. With an encoder-decoder they are its sources, and each
  // text begins with `target_prefix`.
  std::vector<std::vector<TokenId>> prompts;
  std::vector<TokenId> target_prefix;
  SharedCounts shared_counts;                                   // of each prompt; see Request
  std::vector<int32_t> second_texts;                            // a prompt; see Request. Or empty
  int32_t choice_count = 1;                                     // a prompt
  int32_t priority = 0;                                         // see Request
  std::optional<PoolingParams> pooling;                         // see Request
  int32_t max_in_flight = std::numeric_limits<int32_t>::max();  // engine requests at a time
  int32_t in_flight = 0;  // of them now: accepted, without their terminal event
  SamplingParams sampling;
  std::shared_ptr<const VisibleTokens> visible_tokens;  // see Request
  std::shared_ptr<const GrammarConstraint> constraint;  // see Request
  bool finish_by_length = false;                        // see Request
  bool reports_progress = false;                        // see Request
  bool reads_prefix_cache = true;                       // see Request
  CacheSalt cache_salt{};                               // see Request
  bool has_seed = false;                                // otherwise the server draws one
  bool stream = false;
  int32_t unknown_field_count = 0;
  int32_t loose_tool_count = 0;            // see CompiledOutput
  std::vector<std::string> dropped_tools;  // types of those that were left out, each once
  // Not 0: there is so much to work through, and nothing else is set; see PrepareContext.
  size_t excess_bytes = 0;
  std::unique_ptr<GenerationAnswer> answer;
  LogprobUse logprobs;
  uint64_t answer_bytes = 0;              // what the answer takes, where that is known beforehand
  bool keeps_stream = false;              // the answer of a stream grows until its end
  std::optional<ByteBudget::Hold> hold;   // see job_memory.h
  uint64_t prepared_bytes = 0;            // of it
  uint64_t generated_bytes = 0;           // of it
  ResponsesAnswer* background = nullptr;  // the answer, if nobody waits for it
  RequestTrace trace;
};

// What has become of it so far; it has an answer.
GenerationSummary Summarize(const GenerationJob& job);

class ResponseStore;
struct ResponseSocketState;

// What there is to prepare a job with; all of it outlives the job.
struct PrepareContext {
  RequestModels& models;
  const RequestRules& rules;
  ResponseStore* responses = nullptr;  // what /v1/responses comes back to
  std::string_view owner = {};         // the name of the request's key; empty: there are no keys
  // Where a body and what it refers to, or what its texts come to together, are longer, the job is
  // an excess: it has to be prepared where that may take long (law 5), with memory held for it.
  size_t max_bytes = std::numeric_limits<size_t>::max();
  ResponseSocketState* socket = nullptr;  // of a request that came over a WebSocket
  // Otherwise a request whose constraint has to be compiled is an excess, too.
  bool may_compile = true;
};

// Nothing but that the request has to be prepared where that may take long.
GenerationJob ExcessJob(const PrepareContext& context);

// What the request's fields say about the prefix cache.
void SetCacheUse(const SamplingFields& fields, GenerationJob& job);
// From now on the job shares blocks with others of this owner alone, and the same salt of theirs.
void KeepPrefixesOf(std::string_view owner, GenerationJob& job);

// Everything between the body and Engine::Submit; one function an endpoint. May take long for a
// long body (law 5).
using PrepareFunction = ApiResult<GenerationJob> (*)(std::string_view body,
                                                     const PrepareContext& context);

// 400 "context_length_exceeded" at this field.
ApiError TooLong(std::string param, std::string message);

// How many tokens may be generated after a prompt of this length; `default_tokens` without
// `asked`, as far as the context has room. Errors (400 "context_length_exceeded") name
// `prompt_path` or `max_tokens_path`, in `words`.
struct LengthRequest {
  int64_t prompt_tokens = 0;  // the longest prompt's
  std::string prompt_path;
  std::optional<int32_t> asked;
  std::string max_tokens_path = "max_tokens";
  int32_t min_tokens = 0;
  int64_t default_tokens = 0;
  bool clamps = false;  // less room than is asked for is no error
  ContextWords words = OpenAiContextWords;
};
ApiResult<int32_t> FitMaxTokens(const ServedModel& model, const LengthRequest& request);

// More choices than the engine runs at once cannot share their prompt.
ApiResult<void> CheckChoiceCount(const ServedModel& model, int32_t choice_count,
                                 const std::string& path = "n");

}  // namespace weft
