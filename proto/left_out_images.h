// Images in conversations, which no model here sees. Include from .cc files only.
#pragma once

#include <nlohmann/json.hpp>

namespace weft {

// Puts the text "[image left out]" in the place of every image among the parts of a list of
// messages or items and of results of tools: an image stays in a conversation's history, and a
// refusal would end it. `list` is whatever the client has sent.
void LeaveOutImages(nlohmann::ordered_json& list);

}  // namespace weft
