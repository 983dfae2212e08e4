// Prompts for servers whose vocabulary is not known.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

// Text of `word_count` short English words, most of which are one token in a common vocabulary.
// The same for the same seed and index, on every machine; different ones share no beginning that a
// prefix cache could use.
std::string GeneratePrompt(uint64_t seed, uint64_t request_index, int32_t word_count);

}  // namespace weft
