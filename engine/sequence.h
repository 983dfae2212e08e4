// One generated continuation: what the scheduler plans and the engine extends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/block_digest.h"
#include "engine/constrained_text.h"
#include "engine/request.h"
#include "engine/sequence_blocks.h"
#include "engine/stop_matcher.h"
#include "model/tensor.h"

namespace weft {

class LiveRequest;
class SparsePooler;

// Of which positions logits are wanted, besides those of prompt logprobs.
enum class WantedLogits {
  kNone,
  kLast,  // of the last token, whichever that is
  kAll,
};

enum class SequenceState {
  kAwaitingPrompt,  // a later choice, until the first one's prompt is computed; holds nothing
  kWaiting,         // in the line: new, preempted, or a later choice without a slot; no blocks
  kRunning,         // holds blocks and takes part in steps, unless it is parked
  kFinished,
};

// Who is served first: smaller is "older". Unique among live sequences.
struct SequenceAge {
  int32_t priority = 0;
  uint64_t arrival = 0;  // of the request, counted by the engine
  int32_t choice = 0;
  bool is_background() const { return priority >= kBackgroundPriority; }
  bool operator==(const SequenceAge&) const = default;
  bool operator<(const SequenceAge& other) const {
    return std::tie(priority, arrival, choice) <
           std::tie(other.priority, other.arrival, other.choice);
  }
};

// Owned by its LiveRequest, used by the engine thread alone. Everything that decides about its next
// token lives here or in the request, and survives preemption.
struct Sequence {
  Sequence(LiveRequest& owner, SequenceAge its_age, BlockPools& pools, StopMatcher matcher)
      : request(&owner), age(its_age), blocks(pools), stop_matcher(std::move(matcher)) {}

  LiveRequest* request;
  SequenceAge age;
  RequestId job_id = 0;  // Request::job_id
  SequenceState state = SequenceState::kWaiting;
  // While it runs: the running sequences that it counts as, itself and those of the choices that
  // await its prompt for which there was room.
  int32_t slot_count = 1;
  int32_t awaiting_count = 0;  // choices that await its prompt
  // While it is the next in line but too few slots are free: the last arrival that may overtake it.
  std::optional<uint64_t> last_to_overtake;

  std::span<const TokenId> source;      // the request's
  bool source_computed = false;         // `blocks` hold it, or will behind this step
  std::vector<TokenId> tokens;          // prompt, then output; empty while kAwaitingPrompt
  int32_t prompt_count = 0;             // positions below are TokenPhase::kPrompt for life
  int32_t second_text = kNoSecondText;  // Request::second_text
  int32_t computed_count = 0;           // leading positions whose K and V are in `blocks`
  int32_t reached_count = 0;            // the most that it had when it was preempted
  // The first prompt position whose logits are still wanted for prompt logprobs; prompt_count if
  // none is.
  int32_t next_prompt_logprob = 0;
  // The prompt positions whose hidden states are still to be pooled.
  int32_t next_pooled = 0;
  int32_t pooled_end = 0;
  WantedLogits wanted_logits = WantedLogits::kLast;
  SparsePooler* sparse_pooler = nullptr;  // EngineCore's, in the step that computes its text

  // The prefix cache: how many leading positions it may find there instead of computing them. Where
  // others' are not to be used, those that its own request has computed.
  int32_t cache_limit = std::numeric_limits<int32_t>::max();
  CacheSalt cache_salt{};
  int32_t cached_count = 0;  // positions of the prompt that it never computed
  // Of a model with states: the positions of whose keys and values there were when it was first
  // admitted, with a state behind them or without; the last of the blocks up to where the cache has
  // them now, if it has no state there; the blocks where others part from it; and those behind
  // which it has left states that nobody wanted, because a step ended there.
  int32_t found_count = 0;
  std::optional<int32_t> last_found_block;
  std::vector<int32_t> parting_blocks;
  std::vector<int32_t> passing_states;
  // PrefixCache's: of the first full blocks of `tokens`, which only grow, and of all blocks of the
  // source.
  std::vector<BlockDigest> block_digests;
  std::vector<BlockDigest> source_digests;

  double logprob_sum = 0;            // FinishEvent's
  RequestTimes::Time last_token_at;  // the epoch: it got none yet
  double mirostat_mu = 0;            // SamplingHistory's; the penalties' state are the tokens

  // Beam search: it and the others, all of whose last positions are computed in one step. Otherwise
  // null.
  const std::vector<Sequence*>* beams = nullptr;

  SequenceBlocks blocks;
  StopMatcher stop_matcher;
  std::shared_ptr<ConstrainedText> text;  // nullptr: any token may come; or it awaits the prompt
  std::vector<float> kept_logits;         // of its last position, while it is parked

  bool is_background() const { return age.is_background(); }
  int32_t source_count() const { return static_cast<int32_t>(source.size()); }
  bool needs_source() const { return !source.empty() && !source_computed; }
  // Positions of the prompt that were computed although the cache had their keys and values, for
  // want of a state from which to go on.
  int32_t stateless_count() const { return std::max(found_count - cached_count, 0); }
  // What the client's text has come to.
  int32_t input_count() const { return source.empty() ? prompt_count : source_count(); }
  int32_t token_count() const { return static_cast<int32_t>(tokens.size()); }
  int32_t pending_count() const { return token_count() - computed_count; }
  // The position up to which it may be computed alone: the last one of a beam waits for the others.
  int32_t chunk_end() const { return token_count() - (has_siblings() ? 1 : 0); }
  // Its prompt is computed and nothing generated yet: of the first choice, once in its life.
  bool has_computed_prompt() const {
    return state == SequenceState::kRunning && pending_count() == 0 && output_count() == 0;
  }
  // Between steps: all of it is computed, and it waits for what its constraint allows next.
  bool is_parked() const { return state == SequenceState::kRunning && pending_count() == 0; }
  bool has_siblings() const;
  // Without as many it cannot run: the beams of a search decode together.
  int32_t least_slots() const { return beams == nullptr ? 1 : static_cast<int32_t>(beams->size()); }
  int32_t output_count() const { return token_count() - prompt_count; }
  int32_t choice() const { return age.choice; }
};

inline bool Sequence::has_siblings() const {
  // The second beam starts with the first one's first token.
  return beams != nullptr && beams->size() > 1 &&
         beams->back()->state != SequenceState::kAwaitingPrompt;
}

}  // namespace weft
