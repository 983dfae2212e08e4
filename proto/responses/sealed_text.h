// Texts that clients carry to and fro without looking into them: `encrypted_content`. They are no
// secret, since the client has seen them or made the server write them; only their form is closed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

std::string SealText(std::string_view text);
// nullopt: it is none of ours, or damaged.
std::optional<std::string> UnsealText(std::string_view sealed);

}  // namespace weft
