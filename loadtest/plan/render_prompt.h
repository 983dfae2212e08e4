// What a planned request says: made when it is sent, not kept, because a plan may hold gigabytes of
// it.
#pragma once

#include <string>

#include "loadtest/plan/load_plan.h"

namespace weft {

// The text of a request (a turn: of this turn alone). Generated text is words parted by spaces,
// lower-case ASCII letters and the word "I" only, so it needs no escaping in JSON; each is one
// token in common vocabularies, so it has about as many tokens as the segments say. A segment's
// text is the beginning of any longer segment's of the same seed. Of a given prompt, its text
// (empty if it has messages).
std::string RenderPrompt(const LoadPlan& plan, const PlannedRequest& request);

// The same as a JSON array of token ids, exactly as many as the segments say; for a plan with a
// vocabulary size (and so no given prompts). The ids are from the middle half of the vocabulary:
// the special ones stand at either end.
std::string RenderPromptIds(const LoadPlan& plan, const PlannedRequest& request);

}  // namespace weft
