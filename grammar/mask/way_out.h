// Short ways to where a text may end, for texts that must come to their end in time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/mask/token_trie.h"
#include "grammar/recognizer.h"

namespace weft {

struct WayOut {
  std::string bytes;
  std::vector<Recognizer::State> states;  // before each byte, and behind the last: that accepts

  void DropFront(size_t byte_count);
};

// Of a search: so many states are looked at, and of texts of the same length so many go on, the
// first ones in the order of their bytes. As long as that is enough, the shortest way is found of
// those that Recognizer::BytesTowardsEnd leaves.
struct WayOutLimits {
  size_t states = 0;
  size_t width = 0;
};

// The way from `from` on that `is_good`, of those that are found; nullopt: none is. One that comes
// to a state of `known` goes on as that does: most texts come back to where they were soon. What is
// found depends on the language and the arguments, not on what the recognizer was asked before, as
// long as it has not reached a limit of its own. Each way that `is_good` sees is shorter than
// those before.
std::optional<WayOut> FindWayOut(Recognizer& recognizer, Recognizer::State from,
                                 const WayOut& known, const WayOutLimits& limits,
                                 const std::function<bool(const WayOut&)>& is_good);

// The tokens that spell the bytes, as few as can be; nullopt: none do without those of `unusable`.
std::optional<std::vector<int32_t>> SpellInTokens(const TokenTrie& trie, std::string_view bytes,
                                                  std::span<const int32_t> unusable);

}  // namespace weft
