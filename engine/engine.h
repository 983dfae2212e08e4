// The engine thread: one loop of drain the mailbox, plan, run, sample, commit.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/model_runner.h"
#include "engine/request.h"

namespace weft {

// Between two steps.
struct EngineState {
  int32_t running = 0;      // sequences
  int32_t waiting = 0;      // sequences; preempted ones included
  int64_t used_blocks = 0;  // of all groups of layers
  int64_t total_blocks = 0;
  double block_usage = 0;  // the share that is used, of the group in which it is the largest
};

// A choice that got its terminal event.
struct FinishedChoice {
  FinishReason reason = FinishReason::kStop;
  bool generates = true;  // false: its prompt was pooled
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;
  int32_t max_tokens = 0;
  int32_t choice_count = 1;  // of its request
  bool last = false;         // of its request
  RequestTimes times;
};

// So many tokens came so long after those before them in their choices.
struct TokenGap {
  std::chrono::nanoseconds gap{0};
  int32_t token_count = 0;
};

// What one step did, and the state after it; for metrics and for the tests' invariants.
struct StepReport : EngineState {
  int32_t prompt_tokens = 0;           // rows that computed prompt positions
  int32_t generated_tokens = 0;        // rows that computed generated positions
  int32_t sequences = 0;               // in this step
  int32_t preemptions = 0;             // in planning it
  int32_t finished_requests = 0;       // since the last report
  int32_t computed_prompt_tokens = 0;  // of the prompts that it completed, all their tokens
  int32_t cache_queries = 0;           // of these, tokens of prompts that could be cached
  int32_t cache_hits = 0;              // of these, tokens that were
  // Of the others, those whose keys and values were there, but no state from which to go on.
  int32_t cache_stateless = 0;
  int32_t sampled_tokens = 0;                    // that choices got, end tokens included
  std::vector<RequestTimes> first_tokens;        // of choices that got theirs (beams get none)
  std::vector<TokenGap> token_gaps;              // of sampled tokens but the first; no gap twice
  std::vector<FinishedChoice> finished_choices;  // since the last report
  int32_t masks = 0;                             // of what constraints allow, made for tokens
  std::chrono::nanoseconds mask_time{0};         // that they took, beside steps
  int32_t parked_sequences = 0;                  // whose masks were not ready behind their step
  std::chrono::nanoseconds duration{0};
  // What `duration` was predicted to be, for a step whose chunks were cut to the time; otherwise 0.
  std::chrono::nanoseconds predicted{0};
};

struct EngineOptions {
  int32_t max_context = 0;         // positions a sequence may have, prompt and output
  int32_t max_batch_tokens = 512;  // rows of one step; see also rows_of_a_step()
  int32_t max_sequences = 64;      // sequences running at once
  int32_t max_waiting = 1024;      // requests queued; one more is refused
  // How long a step with running streams, or prompts of several jobs, may take: chunks of prompts
  // are cut to it.
  std::chrono::nanoseconds max_stall = std::chrono::milliseconds(100);
  bool prefix_cache = true;  // what blocks hold is used again; see PrefixCache
  // The model is an encoder: requests pool, their prompts are computed in one step, however many
  // rows they have, and blocks hold nothing that could be used again.
  bool is_encoder = false;
  // The model is an encoder-decoder: requests have sources, of at most max_context positions, each
  // computed in one step.
  bool reads_sources = false;
  // A position goes on from a state of fixed size: it is worth saying where prompts may part, see
  // SharedCounts. For those who make requests; the engine sees it by its blocks.
  bool keeps_states = false;
  std::vector<TokenId> end_tokens;                       // the model's own
  std::vector<TokenId> banned_tokens = {};               // that it never generates
  std::function<std::string_view(TokenId)> token_bytes;  // for stop strings and text; thread-safe
  // Runs a task of some milliseconds at most soon, on a thread that computes, without waiting for
  // it: constraints find out beside a step what may come behind it. Unset: at once, on the engine's
  // thread.
  std::function<void(std::function<void()>)> run_beside = {};
  // Called on the engine thread after every step, and after requests ended between steps; optional;
  // must not block or throw.
  std::function<void(const StepReport&)> on_step;

  // The most rows that a step may have, and besides them rows of sources.
  int32_t rows_of_a_step() const {
    return is_encoder || reads_sources ? std::max(max_batch_tokens, max_context) : max_batch_tokens;
  }
};

class Engine {
 public:
  // Takes the runner; starts the engine thread.
  Engine(EngineOptions options, std::unique_ptr<ModelRunner> runner);
  // As Shutdown with a deadline of now.
  ~Engine();

  RequestId NextId();

  // From any thread. An error (queue full: kResourceExhausted; shutting down: kUnavailable; invalid
  // or can never fit: kInvalidArgument) means not accepted: the sink hears nothing. Otherwise it
  // gets its terminal events whatever happens.
  Result<void> Submit(Request request);
  // From any thread, never refused; unknown ids are ignored. The request's choices finish with
  // kAborted within one step.
  void Abort(RequestId id);
  // From any thread. New requests are refused from now on; running ones go on until `deadline`,
  // then are aborted. Returns when the engine thread has ended. A second call with an earlier
  // deadline hastens the first. Never from a sink.
  void Shutdown(std::chrono::steady_clock::time_point deadline);

  const EngineOptions& options() const;
  // After the last step; from any thread.
  EngineState Stats() const;
  // Requests that were accepted and have not been through a step yet; from any thread, at once.
  int32_t queued_count() const;
  // How many more the queue takes now; from any thread, at once.
  int32_t queue_room() const;
  // How long those that are queued will take to leave the queue, at the pace at which requests left
  // it lately; nullopt: none has left one that stood. From any thread, at once.
  std::optional<std::chrono::milliseconds> TimeToDrain() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace weft
