#include "tests/engine/fake_model_runner.h"

#include <algorithm>

#include <fmt/core.h>

namespace weft {

uint64_t Mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

namespace {
uint64_t Continue(uint64_t history, TokenId token) {
  return Mix(history ^ static_cast<uint64_t>(token) << 1);
}
}  // namespace

FakeModelRunner::FakeModelRunner(const Options& options)
    : options_(options), slots_(static_cast<size_t>(options.block_size * options.block_count)) {
  // Steps of 1/4 from -4 to 3.75: ties are frequent.
  fill_logits = [this](uint64_t hash, TokenId, int32_t, float* logits) {
    for (int64_t i = 0; i < options_.vocab_size; ++i) {
      const uint64_t bits = Mix(hash ^ Mix(static_cast<uint64_t>(i)));
      logits[i] = static_cast<float>(bits % 32) / 4 - 4;
    }
  };
}

void FakeModelRunner::Complain(const std::string& what) {
  if (complaint_.empty()) complaint_ = what;
}

FakeModelRunner::Slot* FakeModelRunner::SlotAt(const SequenceSpan& span, int32_t position) {
  const auto index = static_cast<size_t>(position / options_.block_size);
  if (index >= span.block_table.size()) {
    Complain(fmt::format("position {} lies behind the block table", position));
    return nullptr;
  }
  const int64_t block = span.block_table[index];
  if (block < 0 || block >= options_.block_count) {
    Complain(fmt::format("block {} does not exist", block));
    return nullptr;
  }
  return &slots_[static_cast<size_t>(block * options_.block_size + position % options_.block_size)];
}

void FakeModelRunner::Write(const ForwardBatch& batch, const SequenceSpan& span) {
  const auto writer = static_cast<int32_t>(&span - batch.sequences.data());
  for (int32_t i = 0; i < span.row_count; ++i) {
    const auto row = static_cast<size_t>(span.first_row + i);
    const int32_t position = span.first_position + i;
    if (batch.positions[row] != position) Complain("positions of a span are not consecutive");
    if (batch.token_ids[row] < 0 || batch.token_ids[row] >= options_.vocab_size)
      Complain("a token is not in the vocabulary");
    Slot* slot = SlotAt(span, position);
    if (slot == nullptr) continue;
    const int32_t block = span.block_table[static_cast<size_t>(position / options_.block_size)];
    int32_t& block_writer = writer_of_block_[static_cast<size_t>(block)];
    if (block_writer >= 0 && block_writer != writer)
      Complain(fmt::format("block {} is written by two sequences in one step", block));
    block_writer = writer;
    if (is_read_only && is_read_only(block))
      Complain(fmt::format("block {} is written, which others read", block));
    const Slot* before = position > 0 ? SlotAt(span, position - 1) : nullptr;
    *slot = {.written = true,
             .token = batch.token_ids[row],
             .position = position,
             .history = Continue(before != nullptr ? before->history : 0, batch.token_ids[row])};
  }
}

uint64_t FakeModelRunner::HashHistory(const SequenceSpan& span, int32_t position) {
  uint64_t hash = 0;
  for (int32_t p = 0; p <= position; ++p) {
    const Slot* slot = SlotAt(span, p);
    if (slot == nullptr) return 0;
    if (!slot->written || slot->position != p)
      Complain(fmt::format("position {} reads a slot that was not written for it", p));
    hash = Continue(hash, slot->token);
    if (slot->history != hash)
      Complain(fmt::format("position {} reads what was computed behind other tokens", p));
  }
  return hash;
}

bool FakeModelRunner::HoldsEndOf(std::span<const TokenId> tokens, int32_t block) const {
  uint64_t history = 0;
  for (const TokenId token : tokens) history = Continue(history, token);
  const Slot& last = slots_[static_cast<size_t>((block + 1) * options_.block_size - 1)];
  return last.written && last.history == history;
}

Result<void> FakeModelRunner::Run(const ForwardBatch& batch, const LogitsVisitor& visit) {
  if (before_run) WEFT_RETURN_IF_ERROR(before_run(batch));
  if (cost) now_ += cost(batch);
  writer_of_block_.assign(static_cast<size_t>(options_.block_count), -1);
  int32_t next_row = 0;
  for (const SequenceSpan& span : batch.sequences) {
    if (span.first_row != next_row || span.row_count < 1) Complain("spans do not cover all rows");
    next_row += span.row_count;
    Write(batch, span);
  }
  if (next_row != batch.row_count()) Complain("spans do not cover all rows");
  // Only when all is written, as a layer of the real model does.
  std::vector<float> logits(static_cast<size_t>(options_.vocab_size));
  size_t span_index = 0;
  for (size_t i = 0; i < batch.logit_rows.size(); ++i) {
    const int32_t row = batch.logit_rows[i];
    while (row >= batch.sequences[span_index].first_row + batch.sequences[span_index].row_count)
      ++span_index;
    const int32_t position = batch.positions[static_cast<size_t>(row)];
    fill_logits(HashHistory(batch.sequences[span_index], position),
                batch.token_ids[static_cast<size_t>(row)], position, logits.data());
    visit(static_cast<int64_t>(i), 0, logits.data());
  }
  VisitHidden(batch);
  return {};
}

void FakeModelRunner::VisitHidden(const ForwardBatch& batch) {
  std::vector<float> hidden(kHiddenSize);
  size_t span_index = 0;
  for (size_t i = 0; i < batch.hidden_rows.size(); ++i) {
    const int32_t row = batch.hidden_rows[i];
    while (row >= batch.sequences[span_index].first_row + batch.sequences[span_index].row_count)
      ++span_index;
    const int32_t position = batch.positions[static_cast<size_t>(row)];
    const uint64_t hash = HashHistory(batch.sequences[span_index], position);
    // Sums of these depend on the order of the summands.
    for (size_t d = 0; d < hidden.size(); ++d)
      hidden[d] = static_cast<float>(Mix(hash + d) % 100'003) / 7 - 7143;
    if (fill_hidden) fill_hidden(position, hidden.data());
    (*batch.visit_hidden)(static_cast<int64_t>(i), hidden);
  }
}

void FakeModelRunner::CopyBlock(int32_t from, int32_t to) {
  const auto at = [&](int32_t block) { return slots_.begin() + block * options_.block_size; };
  std::copy_n(at(from), options_.block_size, at(to));
}

}  // namespace weft
