#include "grammar/avoiding_recognizer.h"

#include <string>

#include "base/check.h"

namespace weft {

AvoidingRecognizer::AvoidingRecognizer(std::unique_ptr<Recognizer> inner,
                                       std::span<const std::string_view> words)
    : inner_(std::move(inner)), next_(1) {
  constexpr size_t kMostNodes = 60'000;
  // A trie first: 0 where it does not go on. Then, in order of depth, where the longest other
  // ending goes on.
  std::vector<Node> order = {0};
  for (const std::string_view word : words) {
    Node node = 0;
    for (size_t i = 0; i < word.size() && node != kWord; ++i) {
      const auto byte = static_cast<uint8_t>(word[i]);
      Node next = next_[node][byte];
      if (i + 1 == word.size()) {
        next = kWord;
      } else if (next == 0) {
        WEFT_CHECK(next_.size() < kMostNodes);
        next = static_cast<Node>(next_.size());
        next_.emplace_back();
      }
      next_[node][byte] = next;
      node = next;
    }
  }
  std::vector<Node> suffix(next_.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const Node node = order[i];
    for (size_t byte = 0; byte < 256; ++byte) {
      const Node fallback = node == 0 ? Node{0} : next_[suffix[node]][byte];
      Node& next = next_[node][byte];
      if (fallback == kWord) next = kWord;
      if (next == kWord) continue;
      if (next == 0) {
        next = fallback;
      } else {
        suffix[next] = fallback;
        order.push_back(next);
      }
    }
  }
}

Recognizer::State AvoidingRecognizer::Start() {
  const State inner = inner_->Start();
  return inner == kDead ? kDead : Intern({inner, 0});
}

Recognizer::State AvoidingRecognizer::Step(State state, uint8_t byte) {
  const Place place = places_[state];
  const Node node = next_[place.node][byte];
  if (node == kWord) return kDead;
  const State inner = inner_->Step(place.inner, byte);
  return inner == kDead ? kDead : Intern({inner, node});
}

// Where a word would end, JSON can spell its last byte otherwise.
ByteSet AvoidingRecognizer::BytesTowardsEnd(State state) {
  const Place place = places_[state];
  ByteSet bytes = inner_->BytesTowardsEnd(place.inner);
  for (size_t byte = 0; byte < bytes.size(); ++byte) {
    if (bytes[byte] && next_[place.node][byte] == kWord) bytes.set('\\');
  }
  return bytes;
}

Recognizer::State AvoidingRecognizer::Intern(Place place) {
  const uint64_t key = static_cast<uint64_t>(place.inner) << 16U | place.node;
  const auto [entry, is_new] = states_.emplace(key, static_cast<State>(places_.size()));
  if (is_new) places_.push_back(place);
  return entry->second;
}

}  // namespace weft
