#include "tests/engine/fake_model_runner.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "model/blocks/state_pieces.h"

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

FakeModelRunner::FakeModelRunner(const Options& options) : options_(options) {
  if (options_.groups.empty()) options_.groups.push_back({.block_count = options.block_count});
  for (const StateGroup& group : options_.groups) {
    slots_.emplace_back(static_cast<size_t>(options.block_size * group.block_count));
    writer_of_block_.emplace_back();
  }
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

bool FakeModelRunner::SeesBefore(int32_t position) const {
  return position > 0 && std::ranges::any_of(options_.groups, [&](const StateGroup& group) {
           return !group.is_source && group.FirstVisible(position) < position;
         });
}

FakeModelRunner::Slot* FakeModelRunner::SlotAt(const SequenceSpan& span, size_t group,
                                               int32_t position) {
  const auto index = static_cast<size_t>(position / options_.block_size);
  const std::span<const int32_t> table = span.block_tables[group];
  if (index >= table.size()) {
    Complain(fmt::format("position {} lies behind the block table", position));
    return nullptr;
  }
  const int64_t block = table[index];
  if (block < 0 || block >= options_.groups[group].block_count) {
    Complain(fmt::format("block {} does not exist", block));
    return nullptr;
  }
  return &slots_[group]
                [static_cast<size_t>(block * options_.block_size + position % options_.block_size)];
}

void FakeModelRunner::WriteSlot(const SequenceSpan& span, int32_t writer, size_t group,
                                const Slot& slot) {
  Slot* const place = SlotAt(span, group, slot.position);
  if (place == nullptr) return;
  const int32_t block =
      span.block_tables[group][static_cast<size_t>(slot.position / options_.block_size)];
  CheckWriter(writer, group, block);
  *place = slot;
}

void FakeModelRunner::CheckWriter(int32_t writer, size_t group, int32_t block) {
  int32_t& block_writer = writer_of_block_[group][static_cast<size_t>(block)];
  if (block_writer >= 0 && block_writer != writer)
    Complain(fmt::format("block {} is written by two sequences in one step", block));
  block_writer = writer;
  if (is_read_only && is_read_only(group, block))
    Complain(fmt::format("block {} is written, which others read", block));
}

void FakeModelRunner::WriteStates(const ForwardBatch& batch, const SequenceSpan& span,
                                  size_t group) {
  const auto writer = static_cast<int32_t>(&span - batch.sequences.data());
  const auto state = [&](int32_t block) -> Slot& {
    return slots_[group][static_cast<size_t>((block + 1) * options_.block_size - 1)];
  };
  int32_t position = span.first_position;
  ForEachStatePiece(
      span, span.block_tables[group], options_.block_size, [&](const StatePiece& piece) {
        Slot slot = piece.from == kNoBlock ? Slot{} : state(piece.from);
        if (piece.from != kNoBlock && (!slot.written || slot.position != position - 1))
          Complain(fmt::format("position {} goes on from another's state", position));
        for (int64_t i = 0; i < piece.row_count; ++i, ++position) {
          const auto row = static_cast<size_t>(piece.first_row + i);
          const TokenId token = batch.token_ids[row];
          slot = {.written = true,
                  .token = token,
                  .position = position,
                  .history = Continue(position == 0 ? 0 : slot.history, token)};
          row_histories_[row] = slot.history;
        }
        CheckWriter(writer, group, piece.to);
        state(piece.to) = slot;
      });
}

void FakeModelRunner::Write(const ForwardBatch& batch, const SequenceSpan& span) {
  const auto writer = static_cast<int32_t>(&span - batch.sequences.data());
  for (size_t group = 0; group < own_count(); ++group) {
    if (options_.groups[group].is_recurrent) WriteStates(batch, span, group);
  }
  for (int32_t i = 0; i < span.row_count; ++i) {
    const auto row = static_cast<size_t>(span.first_row + i);
    const int32_t position = span.first_position + i;
    if (batch.positions[row] != position) Complain("positions of a span are not consecutive");
    if (batch.token_ids[row] < 0 || batch.token_ids[row] >= options_.vocab_size)
      Complain("a token is not in the vocabulary");
    uint64_t history = 0;
    for (size_t group = 0; group < own_count(); ++group) {
      if (options_.groups[group].FirstVisible(position) >= position) continue;
      if (options_.groups[group].is_recurrent) continue;
      const Slot* before = SlotAt(span, group, position - 1);
      if (before != nullptr) history = before->history;
    }
    const Slot slot = {
        .written = true,
        .token = batch.token_ids[row],
        .position = position,
        .history = has_states() ? row_histories_[row] : Continue(history, batch.token_ids[row])};
    for (size_t group = 0; group < own_count(); ++group) {
      if (options_.groups[group].is_recurrent) continue;
      WriteSlot(span, writer, group, slot);
    }
  }
}

void FakeModelRunner::CheckSlot(const SequenceSpan& span, const Slot& slot, size_t group,
                                int32_t position) {
  if (!slot.written || slot.position != position) {
    Complain(fmt::format("position {} reads a slot that was not written for it", position));
    return;
  }
  uint64_t history = 0;
  if (SeesBefore(position)) {
    // The position before it is there to be compared if the row sees that, too.
    const auto index = static_cast<size_t>((position - 1) / options_.block_size);
    if (span.block_tables[group][index] == kNoBlock) return;
    const Slot* before = SlotAt(span, group, position - 1);
    if (before == nullptr || !before->written || before->position != position - 1) return;
    history = before->history;
  }
  if (slot.history != Continue(history, slot.token))
    Complain(fmt::format("position {} reads what was computed behind other tokens", position));
}

void FakeModelRunner::WriteSource(const ForwardBatch& sources, const SequenceSpan& span) {
  uint64_t whole = 0;
  for (int32_t i = 0; i < span.row_count; ++i) {
    const auto row = static_cast<size_t>(span.first_row + i);
    if (sources.positions[row] != i) Complain("positions of a source are not consecutive");
    whole = Continue(whole, sources.token_ids[row]);
  }
  const size_t group = own_count();
  for (int32_t i = 0; i < span.row_count; ++i) {
    Slot* const place = SlotAt(span, group, i);
    if (place == nullptr) return;
    const int32_t block = span.block_tables[group][static_cast<size_t>(i / options_.block_size)];
    if (is_written_source && is_written_source(block))
      Complain(fmt::format("block {} is written, which holds a source", block));
    const TokenId token = sources.token_ids[static_cast<size_t>(span.first_row + i)];
    *place = {.written = true, .token = token, .position = i, .history = whole};
  }
}

uint64_t FakeModelRunner::HashSource(const SequenceSpan& span) {
  if (own_count() == options_.groups.size()) return 0;
  if (span.source_count == 0) Complain("a sequence has no source");
  uint64_t whole = 0;
  uint64_t history = 0;
  for (int32_t i = 0; i < span.source_count; ++i) {
    const Slot* slot = SlotAt(span, own_count(), i);
    if (slot == nullptr) return 0;
    if (!slot->written || slot->position != i || (i > 0 && slot->history != history))
      Complain(fmt::format("position {} of a source is another's, or was never written", i));
    history = slot->history;
    whole = Continue(whole, slot->token);
  }
  if (whole != history) Complain("a source was computed of other tokens");
  return whole;
}

uint64_t FakeModelRunner::HashVisible(const SequenceSpan& span, int32_t position) {
  if (!options_.reads_back) {
    const Slot* const own = SlotAt(span, 0, position);
    return own == nullptr ? 0 : own->history;
  }
  uint64_t hash = HashSource(span);
  std::vector<uint64_t> histories;  // 0: not seen yet
  if (own_count() > 1 || has_states()) histories.resize(static_cast<size_t>(position) + 1);
  for (size_t group = 0; group < own_count(); ++group) {
    if (options_.groups[group].is_recurrent) {
      const int32_t row = span.first_row + position - span.first_position;
      const uint64_t history = row_histories_[static_cast<size_t>(row)];
      if (const uint64_t other = histories[static_cast<size_t>(position)];
          other != 0 && other != history)
        Complain(fmt::format("the state at position {} is of other tokens", position));
      hash = Mix(hash ^ history);
      continue;
    }
    const auto first = static_cast<int32_t>(options_.groups[group].FirstVisible(position));
    for (int32_t p = first; p <= position; ++p) {
      const Slot* slot = SlotAt(span, group, p);
      if (slot == nullptr) return 0;
      CheckSlot(span, *slot, group, p);
      if (!histories.empty()) {
        const uint64_t other = std::exchange(histories[static_cast<size_t>(p)], slot->history);
        if (other != 0 && other != slot->history)
          Complain(fmt::format("position {} is not the same in all groups", p));
      }
      hash = Continue(hash ^ slot->history, slot->token);
    }
  }
  return hash;
}

std::vector<uint64_t> FakeModelRunner::HistoriesOf(std::span<const TokenId> tokens) const {
  std::vector<uint64_t> histories;
  for (const TokenId token : tokens) {
    const bool goes_on = SeesBefore(static_cast<int32_t>(histories.size()));
    histories.push_back(Continue(goes_on ? histories.back() : 0, token));
  }
  return histories;
}

std::optional<uint64_t> FakeModelRunner::EndOf(size_t group, int32_t block) const {
  const Slot& last = slots_[group][static_cast<size_t>((block + 1) * options_.block_size - 1)];
  return last.written ? std::optional(last.history) : std::nullopt;
}

Result<void> FakeModelRunner::Run(const ForwardBatch& batch, const LogitsVisitor& visit) {
  if (before_run) WEFT_RETURN_IF_ERROR(before_run(batch));
  if (cost) now_ += cost(batch);
  for (size_t group = 0; group < options_.groups.size(); ++group) {
    const int64_t block_count = options_.groups[group].block_count;
    writer_of_block_[group].assign(static_cast<size_t>(block_count), -1);
  }
  if (batch.sources != nullptr) {
    for (const SequenceSpan& span : batch.sources->sequences) WriteSource(*batch.sources, span);
  }
  row_histories_.assign(static_cast<size_t>(batch.row_count()), 0);
  int32_t next_row = 0;
  for (const SequenceSpan& span : batch.sequences) {
    if (span.first_row != next_row || span.row_count < 1) Complain("spans do not cover all rows");
    next_row += span.row_count;
    Write(batch, span);
  }
  if (next_row != batch.row_count()) Complain("spans do not cover all rows");
  // Only when all is written, as a layer of the real model does. Of a span's rows the first sees
  // the farthest back.
  for (const SequenceSpan& span : batch.sequences) {
    if (span.row_count > 1) HashVisible(span, span.first_position);
  }
  std::vector<float> logits(static_cast<size_t>(options_.vocab_size));
  size_t span_index = 0;
  for (size_t i = 0; i < batch.logit_rows.size(); ++i) {
    const int32_t row = batch.logit_rows[i];
    while (row >= batch.sequences[span_index].first_row + batch.sequences[span_index].row_count)
      ++span_index;
    const int32_t position = batch.positions[static_cast<size_t>(row)];
    fill_logits(HashVisible(batch.sequences[span_index], position),
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
    const uint64_t hash = HashVisible(batch.sequences[span_index], position);
    // Sums of these depend on the order of the summands.
    for (size_t d = 0; d < hidden.size(); ++d)
      hidden[d] = static_cast<float>(Mix(hash + d) % 100'003) / 7 - 7143;
    if (fill_hidden) fill_hidden(position, hidden.data());
    (*batch.visit_hidden)(static_cast<int64_t>(i), hidden);
  }
}

void FakeModelRunner::CopyBlock(size_t group, int32_t from, int32_t to) {
  const auto at = [&](int32_t block) {
    return slots_[group].begin() + block * options_.block_size;
  };
  std::copy_n(at(from), options_.block_size, at(to));
}

}  // namespace weft
