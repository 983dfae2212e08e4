#include "loadtest/run/verify.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "proto/json_dump.h"

namespace weft {
namespace {

constexpr size_t kQuotedBytes = 40;

// In one line, whatever it is.
std::string Quoted(std::string_view text, size_t begin) {
  return DumpJson(nlohmann::json(text.substr(begin, kQuotedBytes)));
}

std::string WhereTheyPart(const std::string& loaded, const std::string& alone) {
  const auto [at, ignored] =
      std::mismatch(loaded.begin(), loaded.end(), alone.begin(), alone.end());
  const auto same_bytes = static_cast<size_t>(at - loaded.begin());
  return fmt::format("after {} equal bytes, under load {}, alone {}", same_bytes,
                     Quoted(loaded, same_bytes), Quoted(alone, same_bytes));
}

}  // namespace

boost::asio::awaitable<void> VerifyOutputs(Sender& sender, const LoadPlan& plan, int64_t count,
                                           std::span<const Answer> answers, const bool& goes_on,
                                           LoadRun& run) {
  std::vector<RequestRecord*> record_of(plan.requests.size(), nullptr);
  for (RequestRecord& record : run.records) {
    if (record.ok()) record_of[static_cast<size_t>(record.request)] = &record;
  }
  const int64_t limit = count < 0 ? std::numeric_limits<int64_t>::max() : count;
  for (size_t i = 0; i < record_of.size() && run.verified_count < limit && goes_on; ++i) {
    if (record_of[i] == nullptr) continue;
    RequestRecord& loaded = *record_of[i];
    Answer answer;
    const RequestRecord alone =
        co_await sender.Send(loaded.request, RequestRecord::Clock::now(), answers, &answer);
    if (!alone.ok()) {
      loaded.Fail("not verified", "alone: " + alone.failure + ": " + alone.failure_detail);
      continue;
    }
    ++run.verified_count;
    if (alone.output_hash == loaded.output_hash) continue;
    ++run.mismatch_count;
    loaded.Fail("wrong output", WhereTheyPart(answers[i].reasoning + answers[i].text,
                                              answer.reasoning + answer.text));
  }
}

}  // namespace weft
