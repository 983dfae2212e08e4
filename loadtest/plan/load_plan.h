// What a load test will send, and when: decided before anything is sent, and the same for the same
// options and seed on every machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// Generated text of about `token_count` tokens, a function of the seed alone: prompts that begin
// with equal segments share that beginning, which a prefix cache can use.
struct PromptSegment {
  uint64_t seed = 0;
  int32_t token_count = 0;
};

// A hostile mix is part of a load: what a client does to its own request.
enum class Behaviour {
  kNormal,
  kCancel,     // closes the connection after `behaviour_tokens` tokens
  kStall,      // stops reading after `behaviour_tokens` tokens, for `stall`
  kMalformed,  // sends a body that the server must refuse with a 4xx
};

struct PlannedRequest {
  // From the start of the run; open loop only. A later turn of a conversation has no time of its
  // own: it is sent `pause` after the answer to the turn before.
  std::chrono::nanoseconds send_at{0};
  int32_t previous_turn = -1;  // index of the request that it continues, which precedes it; or -1
  std::chrono::nanoseconds pause{0};

  int32_t profile = 0;                  // index into LoadPlan::profiles
  std::vector<PromptSegment> segments;  // the prompt, or this turn's part of it, if it is generated
  int32_t given_prompt = -1;            // else: index into LoadPlan::given_prompts
  int32_t max_tokens = 0;

  Behaviour behaviour = Behaviour::kNormal;
  int32_t behaviour_tokens = 0;
  std::chrono::nanoseconds stall{0};
};

// A prompt of a file.
struct GivenPrompt {
  struct Message {
    std::string role;
    std::string content;
  };
  std::string text;               // for completions; of a chat: a user's message
  std::vector<Message> messages;  // for chats; empty: text
};

struct LoadPlan {
  // 0: open loop, requests leave at their times whatever the server does. Otherwise that many
  // users, each of which sends the next request (or conversation) of the list when its last has
  // ended.
  int32_t users = 0;
  // A closed loop's users start evenly spread over this time (a ramp), an open loop's rate grows.
  std::chrono::nanoseconds ramp{0};
  // No request or turn is sent later than this, whether the list has more or not; 0: no limit. What
  // has been sent by then is waited for. A closed loop that is limited by time alone has a list
  // longer than users can be expected to send.
  std::chrono::nanoseconds duration{0};
  // A conversation's turns follow each other; open loop: in the order of their first turn's
  // send_at. There is at least one request.
  std::vector<PlannedRequest> requests;
  std::vector<std::string> profiles;  // names of the workloads that are mixed; at least one
  std::vector<GivenPrompt> given_prompts;
  // Not 0: prompts are sent as arrays of token ids (RenderPromptIds, no conversations).
  int32_t vocabulary_size = 0;
  std::vector<std::string> notes;  // what a person should know of the plan, a line each
};

}  // namespace weft
