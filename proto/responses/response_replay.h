// The stream of a response that has ended, made again of what is kept of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// The server-sent events of a stream whose last response is `response`, JSON as ToJson has written
// it: each text comes in one piece. Those numbered up to `starting_after` are left out.
std::string ReplayedStream(std::string_view response, int64_t starting_after);

}  // namespace weft
