#include "loadtest/plan/prompts.h"

#include <array>
#include <string_view>

namespace weft {
namespace {

constexpr auto kWords = std::to_array<std::string_view>(
    {"the",    "old",   "house", "stood", "by",    "a",     "river", "and",   "in",   "its",
     "garden", "grew",  "one",   "tree",  "that",  "gave",  "no",    "fruit", "for",  "years",
     "until",  "child", "came",  "with",  "water", "from",  "well",  "said",  "to",   "it",
     "every",  "day",   "my",    "name",  "is",    "not",   "known", "but",   "I",    "will",
     "stay",   "here",  "when",  "night", "fell",  "stars", "shone", "over",  "hill", "where",
     "sheep",  "lay",   "down",  "under", "stone", "wall",  "of",    "king",  "who",  "had",
     "lost",   "his",   "way",   "home"});

// SplitMix64 (Steele, Lea, Flood 2014).
uint64_t NextRandom(uint64_t& state) {
  state += 0x9E3779B97F4A7C15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

std::string GeneratePrompt(uint64_t seed, uint64_t request_index, int32_t word_count) {
  uint64_t state = seed;
  state = NextRandom(state) + request_index;
  std::string prompt;
  for (int32_t i = 0; i < word_count; ++i) {
    if (i > 0) prompt += ' ';
    prompt += kWords[NextRandom(state) % kWords.size()];
  }
  return prompt;
}

}  // namespace weft
