#include "grammar/mask/way_out.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace weft {
namespace {

// A state that a search has come to.
struct Reached {
  Recognizer::State state = 0;
  size_t before = 0;  // in the search's list
  uint8_t byte = 0;   // that led here
};

class Search {
 public:
  Search(Recognizer& recognizer, Recognizer::State from, const WayOut& known)
      : recognizer_(recognizer), known_(known), reached_({{.state = from}}), seen_({from}) {
    for (size_t i = 0; i < known.states.size(); ++i) places_[known.states[i]] = i;
  }

  std::optional<WayOut> Run(const WayOutLimits& limits,
                            const std::function<bool(const WayOut&)>& is_good) {
    size_t shortest = std::numeric_limits<size_t>::max();
    size_t depth = 0;
    for (size_t begin = 0; begin < reached_.size(); ++depth) {
      const size_t end = reached_.size();
      for (size_t at = begin; at < end; ++at) {
        if (at >= limits.states || depth >= shortest) return std::nullopt;
        const std::optional<size_t> rest = RestOf(reached_[at].state);
        if (rest && depth + *rest < shortest) {
          shortest = depth + *rest;
          WayOut way = WayTo(at, *rest);
          if (is_good(way)) return way;
        }
        GoOn(at, end + limits.width);
      }
      begin = end;
    }
    return std::nullopt;
  }

 private:
  // How many bytes are known to lead on to an end.
  std::optional<size_t> RestOf(Recognizer::State state) const {
    if (recognizer_.Accepts(state)) return 0;
    const auto known = places_.find(state);
    if (known == places_.end()) return std::nullopt;
    return known_.bytes.size() - known->second;
  }

  WayOut WayTo(size_t at, size_t rest) const {
    WayOut way;
    for (; at != 0; at = reached_[at].before) {
      way.bytes.push_back(static_cast<char>(reached_[at].byte));
      way.states.push_back(reached_[at].state);
    }
    way.states.push_back(reached_[0].state);
    std::ranges::reverse(way.bytes);
    std::ranges::reverse(way.states);
    way.bytes.append(known_.bytes, known_.bytes.size() - rest);
    way.states.insert(way.states.end(), known_.states.end() - static_cast<ptrdiff_t>(rest),
                      known_.states.end());
    return way;
  }

  void GoOn(size_t at, size_t most) {
    const Recognizer::State state = reached_[at].state;
    const ByteSet bytes = recognizer_.BytesTowardsEnd(state);
    for (size_t byte = 0; byte < bytes.size() && reached_.size() < most; ++byte) {
      if (!bytes[byte]) continue;
      const Recognizer::State next = recognizer_.Step(state, static_cast<uint8_t>(byte));
      if (next == Recognizer::kDead || !seen_.insert(next).second) continue;
      reached_.push_back({.state = next, .before = at, .byte = static_cast<uint8_t>(byte)});
    }
  }

  Recognizer& recognizer_;
  const WayOut& known_;
  std::unordered_map<Recognizer::State, size_t> places_;  // in known_.states, the last ones
  std::vector<Reached> reached_;
  std::unordered_set<Recognizer::State> seen_;
};

}  // namespace

void WayOut::DropFront(size_t byte_count) {
  bytes.erase(0, byte_count);
  states.erase(states.begin(), states.begin() + static_cast<ptrdiff_t>(byte_count));
}

std::optional<WayOut> FindWayOut(Recognizer& recognizer, Recognizer::State from,
                                 const WayOut& known, const WayOutLimits& limits,
                                 const std::function<bool(const WayOut&)>& is_good) {
  return Search(recognizer, from, known).Run(limits, is_good);
}

std::optional<std::vector<int32_t>> SpellInTokens(const TokenTrie& trie, std::string_view bytes,
                                                  std::span<const int32_t> unusable) {
  constexpr size_t kNever = std::numeric_limits<size_t>::max();
  struct Place {
    size_t count = kNever;  // of tokens from here to the end
    size_t next = 0;        // where the first of them ends
    int32_t token = 0;
  };
  const auto is_usable = [&](int32_t token) {
    return std::ranges::find(unusable, token) == unusable.end();
  };
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  std::vector<Place> places(bytes.size() + 1);
  places.back().count = 0;
  for (size_t begin = bytes.size(); begin-- > 0;) {
    Place& place = places[begin];
    uint32_t node = 0;
    auto end = static_cast<uint32_t>(nodes.size() - 1);
    for (size_t at = begin; at < bytes.size(); ++at) {
      while (node < end && nodes[node].byte != static_cast<uint8_t>(bytes[at])) {
        node = nodes[node].end;
      }
      if (node >= end) break;
      const std::span<const int32_t> tokens = trie.TokensAt(node);
      const auto token = std::ranges::find_if(tokens, is_usable);
      const size_t rest = places[at + 1].count;
      if (token != tokens.end() && rest != kNever && rest < place.count) {
        place = {.count = rest + 1, .next = at + 1, .token = *token};
      }
      end = nodes[node].end;
      ++node;
    }
  }
  if (places.front().count == kNever) return std::nullopt;
  std::vector<int32_t> tokens;
  for (size_t at = 0; at < bytes.size(); at = places[at].next) tokens.push_back(places[at].token);
  return tokens;
}

}  // namespace weft
