// Stop strings, found in a stream of bytes that arrives in pieces of any size. Where the text ends
// does not depend on how it was cut into tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// A request's stop strings, prepared once and shared by its choices. Immutable.
class StopStrings {
 public:
  // None of them is empty.
  explicit StopStrings(std::vector<std::string> strings);

  size_t count() const { return strings_.size(); }
  const std::string& string(size_t index) const { return strings_[index]; }
  // How many leading bytes of string `index` the text ends with after `byte`, if it ended with
  // `matched` of them before, not all (Knuth, Morris, Pratt): amortised constant time.
  size_t Advance(size_t index, size_t matched, char byte) const;
  // How many of its leading bytes string `index` itself ends with, the whole apart.
  size_t LongestBorder(size_t index) const { return borders_[index].back(); }

 private:
  std::vector<std::string> strings_;
  // borders_[i][n]: the longest proper prefix of string i that its first n + 1 bytes end with.
  std::vector<std::vector<uint32_t>> borders_;
};

// One choice's text. The first byte that completes a stop string ends it; if several strings end
// there, the longest counts. Work: one Advance a byte and string.
class StopMatcher {
 public:
  // include_stop: the text ends after the stop string instead of before it; nothing is held back
  // then.
  StopMatcher(std::shared_ptr<const StopStrings> strings, bool include_stop);

  // Takes the next bytes and appends to `text` those that no stop string can take back any more.
  // Returns the index of the stop string that ended the text; the rest of `bytes` is dropped and
  // the matcher must not be used again. With may_stop false, strings completed in these bytes are
  // passed over.
  std::optional<size_t> Push(std::string_view bytes, bool may_stop, std::string& text);
  // The text has ended otherwise: appends what was held back.
  void Flush(std::string& text);

 private:
  std::shared_ptr<const StopStrings> strings_;
  bool include_stop_;
  std::vector<size_t> matched_;  // a string: its leading bytes that the text ends with
  std::string held_back_;        // the end of the text that has not been handed out
};

}  // namespace weft
