// POST /v1/responses with some fields, for the tests of that endpoint.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/server/test_server.h"

namespace weft {

inline RawResponse Create(const TestServer& server, const std::string& fields,
                          const std::string& input = R"("Hi")") {
  return server.PostTo("/v1/responses",
                       R"({"input":)" + input + (fields.empty() ? "" : "," + fields) + "}");
}

// The response, which must have been made.
inline nlohmann::json Created(const TestServer& server, const std::string& fields,
                              const std::string& input = R"("Hi")") {
  const RawResponse response = Create(server, fields, input);
  EXPECT_EQ(response.status, 200) << response.body;
  return nlohmann::json::parse(response.body);
}

// The events of a stream, checked for what is true of all streams.
inline std::vector<nlohmann::json> EventsOf(const RawResponse& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  std::vector<nlohmann::json> events;
  size_t begin = 0;
  while (begin < response.body.size()) {
    const size_t end = response.body.find("\n\n", begin);
    const std::string event = response.body.substr(begin, end - begin);
    begin = end + 2;
    if (event == "data: [DONE]") {
      EXPECT_EQ(begin, response.body.size());
      break;
    }
    EXPECT_TRUE(event.starts_with("event: ")) << event;
    const size_t line = event.find('\n');
    EXPECT_EQ(event.substr(line + 1, 6), "data: ");
    events.push_back(nlohmann::json::parse(event.substr(line + 7)));
    EXPECT_EQ(events.back()["type"], event.substr(7, line - 7));
    EXPECT_EQ(events.back()["sequence_number"], events.size() - 1);
  }
  return events;
}

inline std::vector<std::string> TypesOf(const std::vector<nlohmann::json>& events) {
  std::vector<std::string> types;
  for (const nlohmann::json& event : events) {
    std::string type = event["type"];
    if (types.empty() || types.back() != type) types.push_back(std::move(type));  // deltas: one
  }
  return types;
}

}  // namespace weft
