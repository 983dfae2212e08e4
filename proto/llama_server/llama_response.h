// What llama-server's /completion and /infill answer, and its /slots.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/llama_server/llama_request.h"
#include "proto/prompt_progress.h"
#include "proto/timings.h"

namespace weft {

struct LlamaProb {
  int32_t id = 0;
  std::string token;  // U+FFFD for what is no UTF-8 by itself
  std::string bytes;
  float logprob = 0;
};

// A token that was chosen, and those that could have been.
struct LlamaProbs : LlamaProb {
  std::vector<LlamaProb> top;
};

// A part of a stream, or of the whole answer what both have.
struct LlamaPiece {
  int32_t index = 0;  // of the prompt
  std::string content;
  std::vector<int32_t> tokens;
  int64_t predicted_tokens = 0;
  int64_t prompt_tokens = 0;
  std::vector<LlamaProbs> probs;
  std::optional<Timings> timings;
  std::optional<PromptProgressNumbers> progress;
};

// What the last part of a prompt's stream has besides, and the whole answer.
struct LlamaEnd {
  std::string model;
  std::string settings;  // LlamaSettingsJson
  std::string prompt;
  bool has_new_line = false;
  bool is_truncated = false;  // there was no more room
  std::string stop_type;      // "eos", "word", "limit"
  std::string stopping_word;
};

// What a request comes to once it is mapped to the model.
struct LlamaSettings {
  std::vector<std::pair<int32_t, double>> logit_bias;  // kNeverBias among them
};

// "generation_settings": one JSON object, everything that the request and the server say.
std::string LlamaSettingsJson(const LlamaRequest& request, const LlamaSettings& settings);

// Each is one line of JSON.
std::string ToJson(const LlamaPiece& piece);
// `fields` are paths into it ("timings/prompt_n"), each of which becomes a member of that name;
// empty: all of it. "completion_probabilities" is there if `piece` has probabilities.
std::string ToJson(const LlamaPiece& piece, const LlamaEnd& end,
                   const std::vector<std::string>& fields);

// A list of `total` slots, each with a context of so many positions, the first `busy` of them at
// work.
std::string LlamaSlotsJson(int32_t total, int32_t busy, int64_t context);

}  // namespace weft
