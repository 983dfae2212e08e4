// The fixtures of tests/tools/make_parity_fixtures.py.
#pragma once

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/tensor.h"
#include "tests/model/model_fixture.h"

namespace weft {

inline constexpr std::array kParityFixtures = {
    "llama2", "llama3", "llama_linear", "llama_yarn", "llama_partial_rotary", "mistral", "mixtral",
    "qwen2",  "qwen3",  "qwen3_moe",    "olmoe"};

// One prompt, the reference's greedy continuation, and its logits after each of their tokens.
struct ParityCase {
  std::vector<TokenId> prompt;
  std::vector<TokenId> continuation;
  std::vector<std::vector<float>> logits;

  std::vector<TokenId> tokens() const {
    std::vector<TokenId> all = prompt;
    all.insert(all.end(), continuation.begin(), continuation.end());
    return all;
  }
};

inline std::vector<ParityCase> ReadParityCases(const std::string& fixture) {
  std::ifstream text(ParityPath(fixture, "expected.json"));
  const auto json = nlohmann::json::parse(text);
  std::ifstream logits(ParityPath(fixture, "logits.f32"), std::ios::binary);
  std::vector<ParityCase> cases;
  for (const auto& entry : json.at("cases")) {
    ParityCase next{entry.at("prompt"), entry.at("continuation"), {}};
    for (size_t row = 0; row < next.prompt.size() + next.continuation.size(); ++row) {
      std::vector<float> values(json.at("vocab_size").get<size_t>());
      logits.read(reinterpret_cast<char*>(values.data()),
                  static_cast<std::streamsize>(values.size() * sizeof(float)));
      next.logits.push_back(std::move(values));
    }
    cases.push_back(std::move(next));
  }
  EXPECT_TRUE(logits.good() && logits.peek() == std::ifstream::traits_type::eof()) << fixture;
  return cases;
}

inline size_t Argmax(const std::vector<float>& values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// L2 of the difference over L2 of the reference, over all rows.
inline double RelativeError(const std::vector<std::vector<float>>& found,
                            const std::vector<std::vector<float>>& expected) {
  double difference = 0;
  double norm = 0;
  for (size_t row = 0; row < expected.size(); ++row) {
    for (size_t i = 0; i < expected[row].size(); ++i) {
      const double e = expected[row][i];
      const double f = found.at(row).at(i);
      difference += (f - e) * (f - e);
      norm += e * e;
    }
  }
  return std::sqrt(difference / norm);
}

}  // namespace weft
