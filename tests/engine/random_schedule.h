// Random schedules for an engine over the fake model: its options, requests of every kind, when
// they come and are given up.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "tests/engine/fake_model_runner.h"
#include "tests/engine/recording_sink.h"

namespace weft {

using Random = std::mt19937_64;

int32_t Between(Random& random, int32_t low, int32_t high);  // both included
bool OneIn(Random& random, int32_t n);

// Token t is the letters "a".."z" and a few longer pieces, so that stop strings cross tokens.
std::string_view BytesOf(TokenId token);

struct Arrival {
  Request request;
  int32_t step = 0;
  int32_t abort_step = std::numeric_limits<int32_t>::max();
  std::shared_ptr<RecordingSink> sink;
};

struct Schedule {
  FakeModelRunner::Options model;
  EngineOptions engine;
  std::vector<Arrival> arrivals;
  int32_t row_cost_us = 0;            // a step takes so long a row, and as long again as 5 rows
  int32_t failing_step_interval = 0;  // one step in so many fails, at random; 0: none
  int32_t mask_interval = 0;  // one mask in so many that are awaited is made a step; 0: at once
};

Schedule RandomSchedule(Random& random);

// Turns a request into a beam search, if the engine can hold so many beams.
void SearchBeams(Random& random, const Schedule& schedule, Request& request);
// Of new tokens, or as an earlier request's begins.
void AddPrompt(Random& random, const Schedule& schedule, int32_t token_count, Request& request);

}  // namespace weft
