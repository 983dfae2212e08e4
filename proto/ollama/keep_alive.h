// How long Ollama's clients want a model to stay, as they write it.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace weft {

// A duration as Go writes it ("5m", "1h30m", "-1s") or a number of seconds ("300"); negative: for
// ever. Rounded down to milliseconds, and a century at most. nullopt: it is neither.
std::optional<std::chrono::milliseconds> ParseKeepAlive(std::string_view text);

// The same of a number of seconds.
std::chrono::milliseconds KeepAliveOf(double seconds);

}  // namespace weft
