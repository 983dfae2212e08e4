#include "server/api/conversation/call_constraint.h"

#include <bitset>
#include <optional>
#include <utility>

#include "base/check.h"
#include "proto/reply/call_names.h"

namespace weft {
namespace {

class CallMatcher : public TokenMatcher {
 public:
  CallMatcher(const CallNameScanner& scanner, const ReplyTokens& tokens)
      : tokens_(tokens), scanner_(scanner) {
    FindNextBytes();
  }

  std::unique_ptr<TokenMatcher> Clone() const override {
    return std::make_unique<CallMatcher>(*this);
  }
  bool IsNarrow() const override { return scanner_.in_name(); }
  Result<void> FillMask(TokenMask mask) override {
    for (TokenId token = 0; token < tokens_.count; ++token) {
      if (Allows(token)) SetInMask(mask, token, true);
    }
    return {};
  }
  bool Allows(TokenId token) override {
    const std::string_view text = tokens_.text_of(token);
    if (text.empty()) return MayEnd();
    if (scanner_.in_name() && !next_bytes_[static_cast<unsigned char>(text[0])]) return false;
    CallNameScanner scanner = scanner_;
    return scanner.Feed(text);
  }
  // A name that has begun is to be written; what becomes of the call is the model's affair.
  bool MayEnd() const override { return !scanner_.in_name(); }
  Result<void> Accept(TokenId token) override {
    WEFT_CHECK(scanner_.Feed(tokens_.text_of(token)));
    FindNextBytes();
    return {};
  }

 private:
  // Nearly all of a vocabulary goes by its first byte.
  void FindNextBytes() {
    if (!scanner_.in_name()) return;
    for (size_t byte = 0; byte < next_bytes_.size(); ++byte) {
      CallNameScanner scanner = scanner_;
      next_bytes_[byte] = scanner.Feed(static_cast<char>(byte));
    }
  }

  const ReplyTokens& tokens_;
  CallNameScanner scanner_;
  std::bitset<256> next_bytes_;  // in a name: those that may come
};

class CallConstraint : public TokenConstraint {
 public:
  CallConstraint(CallNameRules rules, const ReplySetup& setup, ReplyTokens tokens)
      : rules_(std::move(rules)),
        tokens_(std::move(tokens)),
        start_(rules_, setup.options.begins_in_reasoning) {
    WEFT_CHECK(start_.Feed(setup.begin));
  }

  std::unique_ptr<TokenMatcher> NewMatcher() const override {
    return std::make_unique<CallMatcher>(start_, tokens_);
  }

 private:
  const CallNameRules rules_;
  const ReplyTokens tokens_;
  CallNameScanner start_;  // where the model's text begins
};

}  // namespace

std::shared_ptr<const TokenConstraint> MakeCallConstraint(const ReplySetup& setup,
                                                          ReplyTokens tokens) {
  std::optional<CallNameRules> rules = CallNameRulesOf(setup.options, setup.begin);
  if (!rules) return nullptr;
  return std::make_shared<const CallConstraint>(*std::move(rules), setup, std::move(tokens));
}

}  // namespace weft
