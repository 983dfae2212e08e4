// A constraint that needs no grammar: behind an "a" there is a "b" or a "c", and there are only so
// many letters.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/penalties.h"
#include "engine/token_constraint.h"

namespace weft {

class LetterConstraint : public TokenConstraint {
 public:
  static constexpr size_t kAnyLength = std::numeric_limits<size_t>::max();

  // `text_of`: the text of the tokens below `vocab_size`. With a length the mask is always narrow.
  LetterConstraint(TokenBytes text_of, TokenId vocab_size, size_t most_letters = kAnyLength)
      : text_of_(std::move(text_of)), vocab_size_(vocab_size), most_letters_(most_letters) {}

  static bool IsKept(std::string_view text) {
    char last = '\0';
    for (const char letter : text) {
      if (last == 'a' && letter != 'b' && letter != 'c') return false;
      last = letter;
    }
    return true;
  }

  std::unique_ptr<TokenMatcher> NewMatcher() const override {
    return std::make_unique<Matcher>(*this);
  }

 private:
  class Matcher : public TokenMatcher {
   public:
    explicit Matcher(const LetterConstraint& constraint) : constraint_(constraint) {}

    std::unique_ptr<TokenMatcher> Clone() const override {
      return std::make_unique<Matcher>(*this);
    }
    bool IsNarrow() const override { return behind_a_ || constraint_.most_letters_ != kAnyLength; }
    Result<void> FillMask(TokenMask mask) override {
      for (TokenId token = 0; token < constraint_.vocab_size_; ++token) {
        if (Allows(token)) SetInMask(mask, token, true);
      }
      return {};
    }
    bool Allows(TokenId token) override {
      const std::string_view text = constraint_.text_of_(token);
      if (text.empty()) return !behind_a_ && constraint_.most_letters_ == kAnyLength;
      const size_t size = size_ + text.size();
      if (size > constraint_.most_letters_) return false;
      if (size == constraint_.most_letters_ && text.back() == 'a') return false;
      return IsKept(text) && (!behind_a_ || text[0] == 'b' || text[0] == 'c');
    }
    bool MayEnd() const override { return !behind_a_; }
    Result<void> Accept(TokenId token) override {
      const std::string_view text = constraint_.text_of_(token);
      size_ += text.size();
      if (!text.empty()) behind_a_ = text.back() == 'a';
      if (finishes_) way_ = WayFromHere();
      return {};
    }
    Result<void> FindWayOut(std::span<const TokenId> unusable) override {
      finishes_ = true;
      unusable_.assign(unusable.begin(), unusable.end());
      return {};
    }
    std::span<const TokenId> way_out() const override { return way_; }
    bool LeadsOut(TokenId token, int32_t most) override {
      Matcher behind(*this);
      const std::string_view text = constraint_.text_of_(token);
      behind.size_ += text.size();
      if (!text.empty()) behind.behind_a_ = text.back() == 'a';
      if (!behind.behind_a_) return true;
      return most > 0 && !behind.WayFromHere().empty();
    }

   private:
    std::vector<TokenId> WayFromHere() {
      for (TokenId token = 0; behind_a_ && token < constraint_.vocab_size_; ++token) {
        const bool is_usable = std::ranges::find(unusable_, token) == unusable_.end();
        if (is_usable && Allows(token) && constraint_.text_of_(token).back() != 'a') return {token};
      }
      return {};
    }

    const LetterConstraint& constraint_;
    size_t size_ = 0;
    bool behind_a_ = false;
    bool finishes_ = false;
    std::vector<TokenId> unusable_;
    std::vector<TokenId> way_;  // one token behind an "a", otherwise none
  };

  const TokenBytes text_of_;
  const TokenId vocab_size_;
  const size_t most_letters_;
};

}  // namespace weft
