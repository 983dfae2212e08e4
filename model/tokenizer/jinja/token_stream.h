// The parser's place among the tokens.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/quoted.h"
#include "base/result.h"
#include "model/tokenizer/jinja/lexer.h"

namespace weft::jinja {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[position_]; }
  const Token& ahead() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
  int line() const { return current().line; }
  // Moves on; returns what was passed.
  Token& Next() {
    Token& token = tokens_[position_];
    if (position_ + 1 < tokens_.size()) ++position_;
    return token;
  }

  bool Is(TokenKind kind) const { return current().kind == kind; }
  bool IsName(std::string_view name) const { return IsNameToken(current(), name); }
  bool IsOperator(std::string_view op) const {
    return current().kind == TokenKind::kOperator && current().text == op;
  }
  static bool IsNameToken(const Token& token, std::string_view name) {
    return token.kind == TokenKind::kName && token.text == name;
  }
  bool TakeName(std::string_view name) { return IsName(name) && (Next(), true); }
  bool TakeOperator(std::string_view op) { return IsOperator(op) && (Next(), true); }

  Result<void> ExpectOperator(std::string_view op) {
    if (TakeOperator(op)) return {};
    return Unexpected(fmt::format("'{}'", op));
  }
  Result<void> ExpectName(std::string_view name) {
    if (TakeName(name)) return {};
    return Unexpected(fmt::format("'{}'", name));
  }
  Result<std::string> ExpectAnyName() {
    if (!Is(TokenKind::kName)) return Unexpected("a name");
    return Next().text;
  }
  Result<void> ExpectBlockEnd() {
    if (!Is(TokenKind::kBlockEnd)) return Unexpected("'%}'");
    Next();
    return {};
  }
  Result<void> ExpectVariableEnd() {
    if (!Is(TokenKind::kVariableEnd)) return Unexpected("'}}'");
    Next();
    return {};
  }

  template <typename... Args>
  tl::unexpected<Error> Wrong(int line, fmt::format_string<Args...> format, Args&&... args) const {
    return Fail(ErrorCode::kCorrupt, "line {}: {}", line,
                fmt::format(format, std::forward<Args>(args)...));
  }
  tl::unexpected<Error> Unexpected(std::string_view expected) const {
    return Wrong(line(), "found {}, expected {}", Describe(current()), expected);
  }

  static std::string Describe(const Token& token) {
    switch (token.kind) {
      case TokenKind::kData:
        return "text";
      case TokenKind::kVariableBegin:
        return "'{{'";
      case TokenKind::kVariableEnd:
        return "'}}'";
      case TokenKind::kBlockBegin:
        return "'{%'";
      case TokenKind::kBlockEnd:
        return "'%}'";
      case TokenKind::kEnd:
        return "the end of the template";
      case TokenKind::kString:
        return "a string";
      default:
        return Quoted(token.text);
    }
  }

 private:
  std::vector<Token> tokens_;
  size_t position_ = 0;
};

}  // namespace weft::jinja
