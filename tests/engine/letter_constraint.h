// A constraint that needs no grammar: behind an "a" there is a "b" or a "c".
#pragma once

#include <memory>
#include <string_view>

#include "engine/token_constraint.h"

namespace weft {

class LetterConstraint : public TokenConstraint {
 public:
  static bool IsKept(std::string_view text) {
    char last = '\0';
    for (const char letter : text) {
      if (last == 'a' && letter != 'b' && letter != 'c') return false;
      last = letter;
    }
    return true;
  }

  std::unique_ptr<TokenMatcher> NewMatcher() const override { return std::make_unique<Matcher>(); }

 private:
  class Matcher : public TokenMatcher {
   public:
    bool IsNarrow() const override { return behind_a_; }
    bool Allows(std::string_view bytes) const override {
      return IsKept(bytes) && (!behind_a_ || bytes[0] == 'b' || bytes[0] == 'c');
    }
    bool MayEnd() const override { return !behind_a_; }
    void Accept(std::string_view bytes) override { behind_a_ = bytes.back() == 'a'; }

   private:
    bool behind_a_ = false;
  };
};

}  // namespace weft
