#include "model/tokenizer/vocabulary.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/check.h"
#include "base/utf8.h"

namespace weft {
namespace {

struct ByteLevelAlphabet {
  std::array<char32_t, 256> character_of = {};
  std::array<int16_t, 0x200> byte_of = {};  // -1: not in the alphabet
};

constexpr ByteLevelAlphabet MakeByteLevelAlphabet() {
  ByteLevelAlphabet alphabet;
  for (int16_t& byte : alphabet.byte_of) byte = -1;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    const char32_t character = printable ? byte : next++;
    alphabet.character_of[byte] = character;
    alphabet.byte_of[character] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr ByteLevelAlphabet kByteLevel = MakeByteLevelAlphabet();

std::string BytesOfSentencePiece(std::string_view spelling) {
  std::string bytes;
  bytes.reserve(spelling.size());
  for (size_t offset = 0; offset < spelling.size();) {
    if (spelling.substr(offset).starts_with(kSpaceSymbol)) {
      bytes.push_back(' ');
      offset += kSpaceSymbol.size();
    } else {
      bytes.push_back(spelling[offset++]);
    }
  }
  return bytes;
}

// The reference cleans up token by token (Hugging Face's decoders::WordPiece).
bool StandsWithoutSpace(std::string_view word) {
  constexpr auto kBeginnings =
      std::to_array<std::string_view>({".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"});
  return std::ranges::any_of(kBeginnings,
                             [&](std::string_view begin) { return word.starts_with(begin); });
}

std::string BytesOfWordPiece(std::string_view spelling, bool cleans) {
  if (spelling.empty()) return {};
  if (spelling.starts_with(kContinuationPrefix)) {
    return std::string(spelling.substr(kContinuationPrefix.size()));
  }
  const bool has_space = !cleans || !StandsWithoutSpace(spelling);
  return std::string(has_space ? " " : "").append(spelling);
}

std::string BytesOfSpelling(std::string_view text, Spelling spelling) {
  switch (spelling) {
    case Spelling::kByteLevel:
      return FromByteLevel(text);
    case Spelling::kSentencePiece:
      return BytesOfSentencePiece(text);
    case Spelling::kWordPiece:
      return BytesOfWordPiece(text, false);
    case Spelling::kWordPieceClean:
      return BytesOfWordPiece(text, true);
  }
  return {};
}

std::string BytesOf(const Token& token, Spelling spelling) {
  switch (token.kind) {
    case TokenKind::kUnknown:
    case TokenKind::kControl:
      return {};
    case TokenKind::kByte: {
      const std::optional<uint8_t> byte = ByteOfFallbackSpelling(token.text);
      return byte ? std::string(1, static_cast<char>(*byte)) : token.text;
    }
    case TokenKind::kUserDefined:
      return spelling == Spelling::kByteLevel ? token.text : BytesOfSpelling(token.text, spelling);
    case TokenKind::kNormal:
    case TokenKind::kUnused:
      break;
  }
  return BytesOfSpelling(token.text, spelling);
}

}  // namespace

Vocabulary::Vocabulary(std::vector<Token> tokens, int64_t size, Spelling spelling)
    : tokens_(std::move(tokens)), size_(size), spelling_(spelling) {
  WEFT_CHECK(size_ >= static_cast<int64_t>(tokens_.size()));
  bytes_.reserve(tokens_.size());
  ids_.reserve(tokens_.size());
  for (size_t i = 0; i < tokens_.size(); ++i) {
    bytes_.push_back(BytesOf(tokens_[i], spelling));
    if (!tokens_[i].text.empty()) ids_.emplace(tokens_[i].text, static_cast<TokenId>(i));
  }
}

std::string_view Vocabulary::Text(TokenId id) const {
  if (id < 0 || static_cast<size_t>(id) >= tokens_.size()) return {};
  return tokens_[static_cast<size_t>(id)].text;
}

std::string_view Vocabulary::Bytes(TokenId id) const {
  if (id < 0 || static_cast<size_t>(id) >= bytes_.size()) return {};
  return bytes_[static_cast<size_t>(id)];
}

TokenKind Vocabulary::Kind(TokenId id) const {
  if (id < 0 || static_cast<size_t>(id) >= tokens_.size()) return TokenKind::kUnused;
  return tokens_[static_cast<size_t>(id)].kind;
}

std::optional<TokenId> Vocabulary::Find(std::string_view text) const {
  const auto found = ids_.find(text);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

char32_t ByteLevelCharacter(uint8_t byte) { return kByteLevel.character_of[byte]; }

std::optional<uint8_t> ByteOfByteLevelCharacter(char32_t character) {
  if (character >= kByteLevel.byte_of.size() || kByteLevel.byte_of[character] < 0) {
    return std::nullopt;
  }
  return static_cast<uint8_t>(kByteLevel.byte_of[character]);
}

std::string ToByteLevel(std::string_view bytes) {
  std::string spelling;
  spelling.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    AppendUtf8(ByteLevelCharacter(static_cast<uint8_t>(byte)), &spelling);
  }
  return spelling;
}

std::string FromByteLevel(std::string_view spelling) {
  std::string bytes;
  bytes.reserve(spelling.size());
  for (size_t offset = 0; offset < spelling.size();) {
    const Utf8Character character = DecodeUtf8(spelling, offset);
    if (character.status != Utf8Status::kValid) return std::string(spelling);
    const std::optional<uint8_t> byte = ByteOfByteLevelCharacter(character.code_point);
    if (!byte) return std::string(spelling);
    bytes.push_back(static_cast<char>(*byte));
    offset += character.size_bytes;
  }
  return bytes;
}

std::optional<uint8_t> ByteOfFallbackSpelling(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling[5] != '>') {
    return std::nullopt;
  }
  const int high = HexDigitValue(spelling[3]);
  const int low = HexDigitValue(spelling[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<uint8_t>(high * 16 + low);
}

}  // namespace weft
