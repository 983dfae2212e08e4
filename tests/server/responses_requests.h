// POST /v1/responses with some fields, for the tests of that endpoint.
#pragma once

#include <string>

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

}  // namespace weft
