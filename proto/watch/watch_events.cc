#include "proto/watch/watch_events.h"

#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace weft {
namespace {

template <typename Sample>
struct WatchMember {
  std::string_view name;
  double (*value)(const Sample&);
};

// Counts are exact in it up to 2^53, and written without a point.
template <auto kMember, typename Sample>
double ValueOf(const Sample& sample) {
  return static_cast<double>(sample.*kMember);
}

constexpr auto kServerMembers = std::to_array<WatchMember<WatchSample>>({
    {"time", ValueOf<&WatchSample::time>},
    {"running", ValueOf<&WatchSample::running>},
    {"waiting", ValueOf<&WatchSample::waiting>},
    {"requests", ValueOf<&WatchSample::requests>},
    {"refusals", ValueOf<&WatchSample::refusals>},
    {"prompt_tokens", ValueOf<&WatchSample::prompt_tokens>},
    {"completion_tokens", ValueOf<&WatchSample::completion_tokens>},
    {"cache_queries", ValueOf<&WatchSample::cache_queries>},
    {"cache_hits", ValueOf<&WatchSample::cache_hits>},
    {"steps", ValueOf<&WatchSample::steps>},
    {"step_seconds", ValueOf<&WatchSample::step_seconds>},
    {"longest_step", ValueOf<&WatchSample::longest_step>},
    {"kv_usage", ValueOf<&WatchSample::kv_usage>},
    {"resident_bytes", ValueOf<&WatchSample::resident_bytes>},
    {"request_bytes", ValueOf<&WatchSample::request_bytes>},
});

constexpr auto kKeyMembers = std::to_array<WatchMember<KeySample>>({
    {"time", ValueOf<&KeySample::time>},
    {"requests", ValueOf<&KeySample::requests>},
    {"refusals", ValueOf<&KeySample::refusals>},
    {"prompt_tokens", ValueOf<&KeySample::prompt_tokens>},
    {"completion_tokens", ValueOf<&KeySample::completion_tokens>},
});

template <typename Sample>
std::string Columns(std::span<const Sample> samples, std::span<const WatchMember<Sample>> members) {
  std::string text = "{";
  for (const WatchMember<Sample>& member : members) {
    fmt::format_to(std::back_inserter(text), "{}\"{}\":[", text.size() > 1 ? "," : "", member.name);
    for (const Sample& sample : samples) {
      fmt::format_to(std::back_inserter(text), "{}{}", &sample == samples.data() ? "" : ",",
                     member.value(sample));
    }
    text += ']';
  }
  return text + "}";
}

template <typename Sample>
std::string OneSample(const Sample& sample, std::span<const WatchMember<Sample>> members) {
  std::string text = R"({"object":"watch.sample")";
  for (const WatchMember<Sample>& member : members) {
    fmt::format_to(std::back_inserter(text), ",\"{}\":{}", member.name, member.value(sample));
  }
  return text + "}";
}

std::string History(std::string_view scope, std::string_view columns, const WatchFacts& facts) {
  return fmt::format(R"({{"object":"watch.history","scope":"{}","max_stall":{},)"
                     R"("memory_limit_bytes":{},"request_limit_bytes":{},"samples":{}}})",
                     scope, facts.max_stall, facts.memory_limit_bytes, facts.request_limit_bytes,
                     columns);
}

}  // namespace

std::string HistoryJson(std::span<const WatchSample> samples, const WatchFacts& facts) {
  return History("server", Columns<WatchSample>(samples, kServerMembers), facts);
}

std::string HistoryJson(std::span<const KeySample> samples, const WatchFacts& facts) {
  return History("key", Columns<KeySample>(samples, kKeyMembers), facts);
}

std::string ToJson(const WatchSample& sample) {
  return OneSample<WatchSample>(sample, kServerMembers);
}

std::string ToJson(const KeySample& sample) { return OneSample<KeySample>(sample, kKeyMembers); }

}  // namespace weft
