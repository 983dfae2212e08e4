// A template's text as tokens, with Jinja's whitespace control done (trim_blocks and lstrip_blocks
// on, keep_trailing_newline off).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::jinja {

enum class TokenKind : uint8_t {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,  // text is one of + - * / // % ** ~ [ ] ( ) { } == != > >= < <= = . : | , ;
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  int line = 1;
  std::string text;  // of strings and data: the value
  int64_t integer = 0;
  double number = 0;
};

// Errors: ErrorCode::kCorrupt, with the line. The last token is kEnd.
Result<std::vector<Token>> Tokenize(std::string_view source);

}  // namespace weft::jinja
