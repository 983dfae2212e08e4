// Runs of plans against a ScriptedServer: what several tests of them need.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "loadtest/run/load_runner.h"
#include "tests/loadtest/scripted_server.h"

namespace weft {

inline constexpr std::string_view kWhole =
    R"({"choices":[{"text":"Hi","finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":2}})";
inline constexpr std::string_view kModels = R"({"data":[{"id":"listed"}]})";

inline std::string TextEvent(std::string_view text) {
  return StreamEvent(R"({"choices":[{"text":")" + std::string(text) + R"("}]})");
}

inline std::string Stream(std::initializer_list<std::string_view> texts) {
  std::string stream(kStreamHead);
  for (const std::string_view text : texts) stream += TextEvent(text);
  return stream + StreamEvent("[DONE]") + std::string(kStreamEnd);
}

// Answers a request for the models; everything else is the script's.
inline std::function<void(ScriptedConnection&)> WithModels(
    std::function<void(ScriptedConnection&, const std::string& request)> answer) {
  return [answer = std::move(answer)](ScriptedConnection& connection) {
    for (std::string request; !(request = connection.ReadRequest()).empty();) {
      if (request.starts_with("GET")) {
        connection.Write(JsonResponse("200 OK", kModels));
      } else {
        answer(connection, request);
      }
    }
  };
}

inline RunOptions OptionsFor(const ScriptedServer& server) {
  RunOptions options;
  options.url = server.url();
  options.stream = false;
  options.progress = false;
  return options;
}

inline LoadPlan PlanOf(int32_t request_count, int32_t users) {
  LoadPlan plan;
  plan.users = users;
  plan.profiles = {"test"};
  for (int32_t i = 0; i < request_count; ++i) {
    PlannedRequest request;
    request.segments = {{.seed = static_cast<uint64_t>(i + 1), .token_count = 8}};
    request.max_tokens = 4;
    plan.requests.push_back(request);
  }
  return plan;
}

inline std::string BodyOf(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}

// Two turns; the first one's answer is part of the second one's request.
inline LoadPlan TwoTurns() {
  LoadPlan plan = PlanOf(2, 1);
  plan.requests[1].previous_turn = 0;
  plan.requests[1].pause = std::chrono::milliseconds(3);
  return plan;
}

}  // namespace weft
