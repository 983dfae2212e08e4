// What a client asks of the engine, and what it gets back.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/prefix_index.h"
#include "engine/sampling_params.h"
#include "engine/token_constraint.h"
#include "model/forward_batch.h"
#include "model/spec.h"
#include "model/tensor.h"

namespace weft {

using RequestId = uint64_t;

// Request::priority from here on: computed with what others leave of steps; see Scheduler.
inline constexpr int32_t kBackgroundPriority = 1'000'000;

struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0;  // natural logarithm, of the distribution before temperature and filters
  int32_t rank = 1;   // of the token in the vocabulary, from 1; equal ones: lower id first
  std::vector<std::pair<TokenId, float>>
      top;  // the k likeliest, in falling order; equal ones: lower id first
};

enum class FinishReason { kStop, kLength, kAborted, kFailed };

// When things happened to a request, on the steady clock; the epoch: they did not. For
// measurements: nothing is decided by them.
struct RequestTimes {
  using Time = std::chrono::steady_clock::time_point;

  Time received;     // Request::received
  Time submitted;    // accepted into the queue
  Time started;      // the first step with rows of the prompt began
  Time first_token;  // the prompt was computed, and with it the first token of every choice
  Time finished;     // of the choice
};

// Text is bytes of whole tokens, cut by stop strings; it may end inside a UTF-8 character. Bytes
// that could still become part of a stop string are held back until they cannot (none with
// include_stop). The end or stop token that ends a choice is not among `tokens`; the tokens of a
// stop string are.
struct TokensEvent {
  int32_t choice = 0;
  std::string text;
  std::vector<TokenId> tokens;  // generated since the last event (those of held-back text included)
  std::vector<TokenLogprob> logprobs;  // one a token, if asked for
  int32_t cached_tokens = 0;           // as FinishEvent's; of a beam 0
  RequestTimes times = {};             // so far
};

// How far a prompt is. The first one comes before anything of it has been computed, the last one
// with all of it.
struct PromptProgress {
  int32_t prompt_tokens = 0;
  int32_t cached_tokens = 0;     // found in the prefix cache
  int32_t processed_tokens = 0;  // those included; larger each time
  RequestTimes::Time started;    // as RequestTimes has it
  RequestTimes::Time now;
};

// The terminal event of one choice; the last one of a request has `last` set and is the request's
// terminal event.
struct FinishEvent {
  int32_t choice = 0;
  FinishReason reason = FinishReason::kStop;
  std::string stop_string;            // the one that matched, if one did
  std::optional<TokenId> stop_token;  // the end or stop token, if one ended it
  Error error;  // kFailed: what went wrong; kInvalidArgument: by what the request asks for
  int32_t prompt_tokens = 0;      // or the source's
  int32_t completion_tokens = 0;  // of this choice, the end token included
  int32_t cached_tokens = 0;  // of the prompt, found in the prefix cache instead of being computed
  double logprob_sum = 0;     // of the completion's tokens, where logprobs were asked for
  RequestTimes times;
  bool last = false;
};

// What PoolingParams ask for.
struct PooledResult {
  // kEmbedding: as long as the model's embeddings, not scaled; kLabels: a logit a label;
  // kTokenLogits: a logit for each of PoolingParams::tokens, in their order; kSparse: weights above
  // 0, at most as many as the vocabulary.
  std::vector<float> values;
  std::vector<TokenId> tokens;  // kSparse: whose weights they are, ascending; otherwise empty
  // kTokenLogits: a logit less this is the natural logarithm of the token's probability.
  double log_sum = 0;

  bool operator==(const PooledResult&) const = default;
};

// Where a request's events go. Called on the engine thread; must not block or throw. Every accepted
// request gets exactly one FinishEvent per choice, whatever happens, and nothing for that choice
// after it.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual void OnPromptLogprobs(
      std::vector<TokenLogprob> logprobs) = 0;  // at most once, before any token; first entry: the
                                                // first prompt token, logprob 0, no top
  // Once, before the terminal event of a request with `pooling` that does not fail; others never
  // get one.
  virtual void OnPooled(PooledResult result) = 0;
  // Of a request with `reports_progress`, before its first token.
  virtual void OnPromptProgress(PromptProgress) {}
  virtual void OnTokens(TokensEvent event) = 0;
  virtual void OnFinish(FinishEvent event) = 0;
};

// The text that tokens have which otherwise have none: control tokens whose text a reply cannot be
// understood without.
using VisibleTokens = std::map<TokenId, std::string>;

// What is made of a prompt in place of text. The model must make it: ModelSpec::makes.
struct PoolingParams {
  PooledOutput output = PooledOutput::kEmbedding;
  // kEmbedding and kLabels: of the hidden states as they are after the final norm.
  Pooling pooling = Pooling::kLast;
  std::vector<TokenId> tokens = {};  // kTokenLogits: whose logits are wanted, at least one
};

// How many of a prompt's first tokens are likely to begin another prompt.
struct SharedCounts {
  // All of them, or of a conversation those before its template asks for an answer.
  int32_t prompt = std::numeric_limits<int32_t>::max();
  // Those before the last message of a conversation, which may be edited, or another's first one.
  int32_t before_message = 0;
};

struct Request {
  RequestId id = 0;  // unique among live requests; Engine::NextId makes them
  // Of the first request of those that a client asked for in one; they share slots as one, see
  // Scheduler. 0: its own id.
  RequestId job_id = 0;
  // What an encoder-decoder reads; empty with other models. The prompt is then how its text begins.
  std::vector<TokenId> source;
  std::vector<TokenId> prompt;          // not empty
  int32_t second_text = kNoSecondText;  // where one begins in the prompt; see SequenceSpan
  SamplingParams sampling;
  int32_t choice_count = 1;  // n: continuations that share the prompt's blocks
  int32_t priority = 0;      // lower first; equal: first come, first served
  // Nothing is generated. One choice, max_tokens 0, nothing of the sampling parameters is looked
  // at.
  std::optional<PoolingParams> pooling;
  std::string tenant;
  // Whether blocks that other requests have computed may be used. Its own are kept in any case, and
  // its choices share them.
  bool reads_prefix_cache = true;
  SharedCounts shared_counts;
  CacheSalt cache_salt{};  // requests share blocks with those of the same salt alone
  // When whoever asks had asked; the epoch: at Submit.
  RequestTimes::Time received;
  RequestTimes::Time submitted;                                   // Engine::Submit sets it
  std::optional<std::chrono::steady_clock::time_point> deadline;  // aborted when it passes
  std::shared_ptr<const VisibleTokens> visible_tokens;            // optional
  std::shared_ptr<const TokenConstraint> constraint;              // optional
  bool reports_progress = false;                                  // see PromptProgress
  // The constrained text comes to its end within max_tokens, as far as its constraint finds a way:
  // what is drawn gives way to that in time. Needs a constraint, and no beams.
  bool finish_by_length = false;
  std::shared_ptr<TokenSink> sink;
};

}  // namespace weft
