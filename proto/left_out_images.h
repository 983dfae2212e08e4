// Images in conversations, which no model here sees. Include from .cc files only.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace weft {

inline constexpr std::string_view kLeftOutImage = "[image left out]";

// Puts this text in the place of every image among the parts of a list of
// messages or items and of results of tools: an image stays in a conversation's history, and a
// refusal would end it. `list` is whatever the client has sent.
void LeaveOutImages(nlohmann::ordered_json& list);

}  // namespace weft
