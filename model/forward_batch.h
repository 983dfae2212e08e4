// One step's ragged batch. Prefill chunks and decode tokens look the same in it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "model/tensor.h"

namespace weft {

// Whether a position lies in its sequence's prompt. It belongs to the position for life:
// recomputation after preemption keeps it.
enum class TokenPhase : uint8_t { kPrompt, kGenerated };

inline constexpr int32_t kNoSecondText = std::numeric_limits<int32_t>::max();

// In a block table: none.
inline constexpr int32_t kNoBlock = -1;

// The rows of one sequence: consecutive rows of the batch, consecutive positions.
struct SequenceSpan {
  int32_t first_row = 0;
  int32_t row_count = 0;
  int32_t first_position = 0;
  // Where a second text begins, which an encoder may tell from the first.
  int32_t second_text = kNoSecondText;
  int32_t source_count = 0;  // positions of its source, which an encoder-decoder's sequence has
  // One a group of KvCache: the blocks of positions 0 .. first_position + row_count - 1, of which
  // those that no row sees are not read, and may be kNoBlock; where the group is the source's,
  // those of the source.
  std::span<const std::span<const int32_t>> block_tables;
};

// The hidden state, after the final norm, of entry `index` of ForwardBatch::hidden_rows; the buffer
// is reused afterwards. Called once for every entry, in their order, by the thread that called
// Forward; what it throws comes out of Forward.
using HiddenVisitor = std::function<void(int64_t index, std::span<const float> hidden)>;

// All spans belong to the caller and outlive the call. Rows of different sequences never share a
// written block.
struct ForwardBatch {
  std::span<const TokenId> token_ids;           // one a row, each in [0, vocab_size)
  std::span<const int32_t> positions;           // one a row
  std::span<const TokenPhase> phases;           // one a row
  std::span<const SequenceSpan> sequences;      // cover all rows, in order
  std::span<const int32_t> logit_rows;          // ascending: the rows whose logits are wanted
  std::span<const int32_t> hidden_rows{};       // ascending: the rows whose hidden state is wanted
  const HiddenVisitor* visit_hidden = nullptr;  // set if there are such rows
  // Of an encoder-decoder: whole sources, which are computed first, and of which no logits and
  // hidden states are wanted. nullptr: none are to be computed.
  const ForwardBatch* sources = nullptr;

  int64_t row_count() const { return static_cast<int64_t>(token_ids.size()); }
};

// Logits of entry `index` of ForwardBatch::logit_rows: logits[token], vocab_size of them, in a
// buffer that is reused afterwards and may be overwritten. Called once for every entry, in no
// order, by the threads that compute, several at a time; calls at the same time have different
// thread indices. Must not throw.
using LogitsVisitor = std::function<void(int64_t index, int thread_index, float* logits)>;

}  // namespace weft
