#include "engine/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weft {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
  for (const std::string& string : strings_) {
    WEFT_CHECK(!string.empty());
    std::vector<uint32_t> borders(string.size(), 0);
    for (size_t n = 1; n < string.size(); ++n) {
      uint32_t border = borders[n - 1];
      while (border > 0 && string[n] != string[border]) border = borders[border - 1];
      if (string[n] == string[border]) ++border;
      borders[n] = border;
    }
    borders_.push_back(std::move(borders));
  }
}

size_t StopStrings::Advance(size_t index, size_t matched, char byte) const {
  const std::string& string = strings_[index];
  const std::vector<uint32_t>& borders = borders_[index];
  while (matched > 0 && string[matched] != byte) matched = borders[matched - 1];
  return string[matched] == byte ? matched + 1 : 0;
}

StopMatcher::StopMatcher(std::shared_ptr<const StopStrings> strings, bool include_stop)
    : strings_(std::move(strings)), include_stop_(include_stop), matched_(strings_->count(), 0) {}

std::optional<size_t> StopMatcher::Push(std::string_view bytes, bool may_stop, std::string& text) {
  size_t longest_partial = 0;
  for (const char byte : bytes) {
    held_back_.push_back(byte);
    longest_partial = 0;
    std::optional<size_t> stop;
    for (size_t i = 0; i < matched_.size(); ++i) {
      matched_[i] = strings_->Advance(i, matched_[i], byte);
      const size_t length = strings_->string(i).size();
      if (matched_[i] == length) {
        if (may_stop && (!stop || length > strings_->string(*stop).size())) stop = i;
        matched_[i] = strings_->LongestBorder(i);
      }
      longest_partial = std::max(longest_partial, matched_[i]);
    }
    if (stop) {
      const size_t cut = include_stop_ ? 0 : strings_->string(*stop).size();
      text.append(held_back_, 0, held_back_.size() - cut);
      held_back_.clear();
      return stop;
    }
  }
  if (bytes.empty()) return std::nullopt;
  const size_t keep = include_stop_ ? 0 : longest_partial;
  text.append(held_back_, 0, held_back_.size() - keep);
  held_back_.erase(0, held_back_.size() - keep);
  return std::nullopt;
}

void StopMatcher::Flush(std::string& text) {
  text += held_back_;
  held_back_.clear();
}

}  // namespace weft
