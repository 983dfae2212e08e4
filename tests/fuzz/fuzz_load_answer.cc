// What a server answers a load test with: the framing of a body, events, JSON. However the bytes
// are cut, they come to the same record, and to counts that a server can be believed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "loadtest/run/answer_reader.h"
#include "loadtest/run/body_framing.h"

namespace {

constexpr int64_t kMostTokens = 1000;

weft::BodyFraming FramingOf(uint8_t kind) {
  switch (kind % 4) {
    case 0:
      return weft::BodyFraming::OfLength(kind);
    case 1:
      return weft::BodyFraming::UntilClosed();
    default:
      return weft::BodyFraming::Chunked();
  }
}

struct Outcome {
  weft::RequestRecord record;
  weft::Answer answer;
  bool is_whole = false;
  std::string broken;
};

Outcome Read(weft::BodyFraming framing, std::string_view bytes, size_t piece_bytes) {
  Outcome outcome;
  weft::AnswerReader reader(outcome.record, &outcome.answer, kMostTokens);
  weft::RequestRecord::Clock::time_point now{};
  for (size_t at = 0; at < bytes.size() && !reader.failed(); at += piece_bytes) {
    const std::string piece(bytes.substr(at, piece_bytes));  // gone afterwards: nothing may be kept
    std::string_view left = piece;
    for (;;) {
      const std::string_view content = framing.Next(left);
      if (content.empty()) break;
      reader.ReadEvents(content);
    }
    reader.MarkArrival(++now);
  }
  reader.FinishEvents(/*must_be_whole=*/true);
  outcome.is_whole = framing.Close();
  if (framing.error() != nullptr) outcome.broken = framing.error();
  return outcome;
}

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  if (size_bytes < 2) return 0;
  const weft::BodyFraming framing = FramingOf(data[0]);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size_bytes - 2);
  const Outcome whole = Read(framing, bytes, bytes.size() + 1);
  const Outcome cut = Read(framing, bytes, size_t{1} + data[1]);
  Require(whole.record.failure == cut.record.failure);
  Require(whole.record.failure_detail == cut.record.failure_detail);
  Require(whole.record.id == cut.record.id);
  Require(whole.record.finish_reason == cut.record.finish_reason);
  Require(whole.record.prompt_tokens == cut.record.prompt_tokens);
  Require(whole.record.cached_tokens == cut.record.cached_tokens);
  Require(whole.record.server.queue_ms == cut.record.server.queue_ms);
  Require(whole.record.server.prefill_ms == cut.record.server.prefill_ms);
  Require(whole.record.server.decode_ms == cut.record.server.decode_ms);
  Require(whole.record.output_tokens == cut.record.output_tokens);
  Require(whole.record.output_hash == cut.record.output_hash);
  Require(whole.answer.text == cut.answer.text);
  Require(whole.answer.reasoning == cut.answer.reasoning);
  // What comes behind a failure is not read.
  const bool has_stopped = !whole.record.failure.empty() && whole.record.failure != "cut stream";
  Require(has_stopped || (whole.is_whole == cut.is_whole && whole.broken == cut.broken));

  int64_t arrived = 0;
  for (const auto& arrival : cut.record.arrivals) arrived += arrival.token_count;
  Require(cut.record.arrivals.empty() || arrived == cut.record.output_tokens);
  const auto events = static_cast<int64_t>(bytes.size());  // more than there can be
  Require(cut.record.output_tokens >= 0 && cut.record.output_tokens <= kMostTokens + events);
  return 0;
}
