#include "server/tracing/request_spans.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/core.h>

namespace weft {
namespace {

using Steady = std::chrono::steady_clock::time_point;

constexpr size_t kMaxText = 256;  // bytes of what the client sent

// What the steady clock shows, on the system's: the same difference for all times of a request.
class SystemTimes {
 public:
  Span::Time operator()(Steady time) const {
    return system_ + std::chrono::duration_cast<Span::Time::duration>(time - steady_);
  }

 private:
  const Steady steady_ = std::chrono::steady_clock::now();
  const Span::Time system_ = std::chrono::system_clock::now();
};

std::string Cut(std::string_view text) { return std::string(text.substr(0, kMaxText)); }

std::string_view NameOf(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kAborted:
      return "aborted";
    case FinishReason::kFailed:
      return "error";
  }
  return "error";
}

std::vector<std::string> NamesOf(const std::vector<FinishReason>& reasons) {
  constexpr size_t kMaxReasons = 128;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(reasons.size(), kMaxReasons); ++i) {
    names.emplace_back(NameOf(reasons[i]));
  }
  return names;
}

// Methods that conventions know; others are "_OTHER".
bool IsKnownMethod(std::string_view method) {
  constexpr std::array<std::string_view, 9> kMethods = {
      "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"};
  return std::ranges::find(kMethods, method) != kMethods.end();
}

std::string_view OperationOf(std::string_view route) {
  if (route == "/v1/completions") return "text_completion";
  if (route == "/v1/embeddings" || route == "/pooling" || route.starts_with("/embed")) {
    return "embeddings";
  }
  if (route.ends_with("/rerank")) return "rerank";
  if (route.ends_with("/score") || route == "/generative_scoring") return "score";
  if (route == "/classify" || route == "/predict") return "classify";
  if (route == "/v1/decisions") return "decide";
  return "chat";
}

// "127.0.0.1:80" or "[::1]:80"; a Unix socket has neither address nor port.
void AddRemote(std::string_view remote, std::vector<SpanAttribute>& attributes) {
  const size_t colon = remote.rfind(':');
  if (colon == std::string_view::npos) return;
  std::string_view address = remote.substr(0, colon);
  if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
  int64_t port = 0;
  std::from_chars(remote.data() + colon + 1, remote.data() + remote.size(), port);
  attributes.push_back({"client.address", std::string(address)});
  attributes.push_back({"network.peer.address", std::string(address)});
  attributes.push_back({"network.peer.port", port});
}

void AddHttp(const TracedExchange& exchange, std::vector<SpanAttribute>& attributes) {
  const HttpRequest& request = exchange.request;
  const std::string_view target = request.target;
  const size_t question = std::min(target.find('?'), target.size());
  const bool is_known = IsKnownMethod(request.method);
  attributes.push_back({"http.request.method", is_known ? request.method : "_OTHER"});
  if (!is_known) attributes.push_back({"http.request.method_original", Cut(request.method)});
  attributes.push_back({"url.scheme", exchange.uses_tls ? "https" : "http"});
  attributes.push_back({"url.path", Cut(target.substr(0, question))});
  if (exchange.route != "other") attributes.push_back({"http.route", std::string(exchange.route)});
  const int64_t status = exchange.outcome.status;
  attributes.push_back({"http.response.status_code", status});
  if (status >= 500) attributes.push_back({"error.type", std::to_string(status)});
  attributes.push_back({"network.protocol.version", request.is_http_1_1 ? "1.1" : "1.0"});
  AddRemote(exchange.remote, attributes);
  if (!request.user_agent.empty()) {
    attributes.push_back({"user_agent.original", Cut(request.user_agent)});
  }
  attributes.push_back({"http.response.header.x-request-id", std::vector<std::string>{request.id}});
  if (!request.key_name.empty()) attributes.push_back({"weft.api_key.name", request.key_name});
}

void AddGeneration(const GenerationSummary& generation, std::string_view route,
                   std::vector<SpanAttribute>& attributes) {
  attributes.push_back({"gen_ai.operation.name", std::string(OperationOf(route))});
  attributes.push_back({"gen_ai.provider.name", "weft"});
  attributes.push_back({"gen_ai.request.model", generation.model});
  attributes.push_back({"gen_ai.response.model", generation.model});
  if (generation.max_tokens > 0) {
    attributes.push_back({"gen_ai.request.max_tokens", int64_t{generation.max_tokens}});
    attributes.push_back({"gen_ai.request.temperature", generation.temperature});
    attributes.push_back({"gen_ai.request.top_p", generation.top_p});
  }
  if (generation.choice_count != 1) {
    attributes.push_back({"gen_ai.request.choice.count", int64_t{generation.choice_count}});
  }
  if (generation.seed) {
    attributes.push_back({"gen_ai.request.seed", static_cast<int64_t>(*generation.seed)});
  }
  attributes.push_back({"gen_ai.usage.input_tokens", generation.usage.prompt_tokens});
  attributes.push_back({"gen_ai.usage.cache_read.input_tokens", generation.usage.cached_tokens});
  attributes.push_back({"gen_ai.usage.output_tokens", generation.usage.completion_tokens});
  attributes.push_back({"gen_ai.response.finish_reasons", NamesOf(generation.finish_reasons)});
}

std::vector<Span> ChildSpans(const RequestTrace& trace, const GenerationSummary& generation,
                             const SystemTimes& system_time, Tracer& tracer) {
  const RequestTimes& times = generation.times;
  const Usage& usage = generation.usage;
  std::vector<Span> spans;
  // Up to `next`, or to the end if that did not come.
  const auto add = [&](const char* name, Steady start, Steady next) -> Span* {
    if (start == Steady() || times.finished == Steady()) return nullptr;
    Span& span = spans.emplace_back();
    span.trace_id = trace.trace_id;
    span.span_id = tracer.NewSpanId();
    span.parent_id = trace.span_id;
    span.trace_state = trace.state;
    span.name = name;
    span.start = system_time(start);
    span.end = system_time(next == Steady() ? times.finished : next);
    return &span;
  };
  add("queue", times.submitted, times.started);
  if (Span* const prefill = add("prefill", times.started, times.first_token)) {
    prefill->attributes = {{"gen_ai.usage.input_tokens", usage.prompt_tokens},
                           {"gen_ai.usage.cache_read.input_tokens", usage.cached_tokens}};
  }
  if (usage.completion_tokens == 0) return spans;  // of embeddings, for one
  if (Span* const decode = add("decode", times.first_token, times.finished)) {
    decode->attributes = {{"gen_ai.usage.output_tokens", usage.completion_tokens},
                          {"gen_ai.response.finish_reasons", NamesOf(generation.finish_reasons)}};
  }
  return spans;
}

}  // namespace

std::vector<Span> ExchangeSpans(const TracedExchange& exchange, Tracer& tracer) {
  const SystemTimes system_time;
  const HttpRequest& request = exchange.request;
  Span root;
  root.trace_id = request.trace.trace_id;
  root.span_id = request.trace.span_id;
  root.parent_id = request.trace.parent_id;
  root.parent_is_remote = !root.parent_id.empty();
  root.trace_state = request.trace.state;
  const std::string method = IsKnownMethod(request.method) ? request.method : "HTTP";
  root.name = exchange.route == "other" ? method : fmt::format("{} {}", method, exchange.route);
  root.kind = SpanKind::kServer;
  root.start = system_time(exchange.started);
  root.end = system_time(exchange.ended);
  root.is_error = exchange.outcome.status >= 500;
  AddHttp(exchange, root.attributes);
  std::vector<Span> spans;
  if (const auto& generation = exchange.outcome.generation) {
    AddGeneration(*generation, exchange.route, root.attributes);
    spans = ChildSpans(request.trace, *generation, system_time, tracer);
  }
  spans.insert(spans.begin(), std::move(root));
  return spans;
}

std::vector<Span> GenerationSpans(const RequestTrace& trace, const GenerationSummary& generation,
                                  Tracer& tracer) {
  return ChildSpans(trace, generation, SystemTimes(), tracer);
}

}  // namespace weft
