#include "model/tokenizer/truncation.h"

#include <algorithm>

namespace weft {
namespace {

struct Counts {
  int64_t first = 0;
  int64_t second = 0;
};

// What of the two, which together are longer than `room`, is left.
Counts LongestFirst(Counts counts, int64_t room) {
  const bool first_is_longer = counts.first > counts.second;
  const int64_t shorter = std::min(counts.first, counts.second);
  Counts left = {shorter, shorter > room ? shorter : std::max(shorter, room - shorter)};
  if (left.first + left.second > room) left = {room / 2, room - room / 2};
  if (first_is_longer) std::swap(left.first, left.second);
  return left;
}

Result<Counts> LeftOf(Counts counts, const Truncation& truncation, int64_t room) {
  if (room == 0) return Counts{};
  if (truncation.of == Truncation::Of::kLongestFirst) return LongestFirst(counts, room);
  const bool of_first = truncation.of == Truncation::Of::kOnlyFirst;
  const int64_t whole = of_first ? counts.second : counts.first;
  if (whole >= room) {
    return Fail(ErrorCode::kInvalidArgument,
                "the {} text has {} tokens, which leave nothing of the {} that both may have",
                of_first ? "second" : "first", whole, room);
  }
  return of_first ? Counts{room - whole, whole} : Counts{whole, room - whole};
}

void Keep(int64_t count, Truncation::Side side, std::vector<TokenId>* ids) {
  const auto dropped = static_cast<std::ptrdiff_t>(ids->size()) - count;
  if (side == Truncation::Side::kLeft) {
    ids->erase(ids->begin(), ids->begin() + dropped);
  } else {
    ids->resize(static_cast<size_t>(count));
  }
}

}  // namespace

Result<int64_t> Truncate(const Truncation& truncation, int64_t special_count,
                         std::vector<TokenId>* first, std::vector<TokenId>* second) {
  const int64_t room = truncation.max_tokens - special_count;
  if (room < 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "at most {} tokens are asked for, the special tokens alone are {}",
                truncation.max_tokens, special_count);
  }
  const Counts counts = {static_cast<int64_t>(first->size()),
                         second == nullptr ? 0 : static_cast<int64_t>(second->size())};
  const int64_t dropped = counts.first + counts.second - room;
  if (dropped <= 0) return 0;
  Counts left = {room, 0};
  if (second != nullptr) {
    WEFT_ASSIGN_OR_RETURN(left, LeftOf(counts, truncation, room));
    Keep(left.second, truncation.side, second);
  }
  Keep(left.first, truncation.side, first);
  return counts.first + counts.second - left.first - left.second;
}

}  // namespace weft
