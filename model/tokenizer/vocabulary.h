// The tokens of a model: how each is spelled, what it is, and which bytes it stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/tensor.h"

namespace weft {

// Values are those of GGUF's tokenizer.ggml.token_type.
enum class TokenKind : uint8_t {
  kNormal = 1,
  kUnknown = 2,      // stands for what the vocabulary cannot spell
  kControl = 3,      // BOS, EOS, <|im_start|>, ...: never part of the text
  kUserDefined = 4,  // matched literally before anything else, and part of the text
  kUnused = 5,
  kByte = 6,  // <0xAB>: one byte
};

struct Token {
  std::string text;
  TokenKind kind = TokenKind::kNormal;
};

// How the spelling of a normal token maps to bytes.
enum class Spelling : uint8_t {
  kByteLevel,      // GPT-2's: each character of the spelling is one byte
  kSentencePiece,  // UTF-8 with U+2581 for a space
  kWordPiece,      // a word with a space before it, or, behind "##", what continues one
  // As kWordPiece, but without the space where English has none: before . , ? ! and 's, n't, ...
  kWordPieceClean,
};

// Immutable after construction, so free for all threads.
class Vocabulary {
 public:
  // Ids from tokens.size() up to `size` (a padded vocabulary) have no text; size >= tokens.size().
  Vocabulary(std::vector<Token> tokens, int64_t size, Spelling spelling);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  int64_t size() const { return size_; }
  Spelling spelling() const { return spelling_; }
  const std::vector<Token>& tokens() const { return tokens_; }

  std::string_view Text(TokenId id) const;   // empty for an id without text
  std::string_view Bytes(TokenId id) const;  // empty for control and unknown tokens
  TokenKind Kind(TokenId id) const;          // kUnused for an id without text
  // Of several tokens with one spelling, the lowest id.
  std::optional<TokenId> Find(std::string_view text) const;

 private:
  std::vector<Token> tokens_;
  std::vector<std::string> bytes_;
  int64_t size_;
  Spelling spelling_;
  std::unordered_map<std::string_view, TokenId> ids_;  // keys view tokens_
};

// GPT-2's printable character for each byte: itself where printable in Latin-1, otherwise U+0100
// and up, in order.
char32_t ByteLevelCharacter(uint8_t byte);
// The byte that a byte-level character stands for.
std::optional<uint8_t> ByteOfByteLevelCharacter(char32_t character);
std::string ToByteLevel(std::string_view bytes);
// The bytes of a byte-level spelling; a spelling with a character outside the alphabet stands for
// its own UTF-8.
std::string FromByteLevel(std::string_view spelling);

// What the spelling of a token that continues a word begins with, in a WordPiece vocabulary.
inline constexpr std::string_view kContinuationPrefix = "##";

// The byte of a spelling "<0xAB>".
std::optional<uint8_t> ByteOfFallbackSpelling(std::string_view spelling);

}  // namespace weft
