// From a piece of text to token ids by byte-pair encoding: GPT-2's over bytes, and SentencePiece's
// and Hugging Face's over characters with byte fallback.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/merge_table.h"
#include "model/tokenizer/piece_model.h"
#include "model/tokenizer/vocabulary.h"

namespace weft {

struct BpeOptions {
  bool byte_fallback = false;  // characters: one that the vocabulary lacks becomes <0xAB> tokens
  bool fuse_unknown = false;   // characters: neighbouring unknown ones become one unknown token
  // With fuse_unknown: neighbouring unknown characters that some token spells become that one.
  bool finds_unknown = false;
  bool ignore_merges = false;  // a piece that is a token becomes it, whatever the merges say
  std::optional<TokenId> unknown = std::nullopt;  // without it, what cannot be spelled is dropped
};

// Immutable after construction.
class BpeModel final : public PieceModel {
 public:
  // `merges` name pairs of spellings, the lowest rank first, each a pair whose parts and whole are
  // in the vocabulary; `source` names the file in errors.
  static Result<std::unique_ptr<BpeModel>> FromMerges(
      std::shared_ptr<const Vocabulary> vocabulary,
      const std::vector<std::pair<std::string_view, std::string_view>>& merges,
      const BpeOptions& options, const std::string& source);

  // SentencePiece's rule: two neighbours merge if their concatenation is a normal token, the one of
  // the highest score first. scores.size() == vocabulary.tokens().size().
  static std::unique_ptr<BpeModel> FromScores(std::shared_ptr<const Vocabulary> vocabulary,
                                              const std::vector<float>& scores,
                                              const BpeOptions& options);

  // A piece may be any bytes if the spelling is byte-level. One that no merge can cross at its
  // U+2581 is cut there, so that words are looked up in the cache.
  void Encode(std::string_view piece, PieceScratch* scratch,
              std::vector<TokenId>* ids) const override;
  void EncodeInvalidByte(char byte, PieceScratch* scratch,
                         std::vector<TokenId>* ids) const override;

 private:
  BpeModel(std::shared_ptr<const Vocabulary> vocabulary, const BpeOptions& options);

  void EncodeWord(std::string_view word, PieceScratch* scratch, std::vector<TokenId>* ids) const;
  void FindUnknown(std::string* text, std::vector<TokenId>* ids) const;
  void AppendByteSymbols(std::string_view word, std::vector<TokenId>* symbols) const;
  void AppendCharacterSymbols(std::string_view word, std::vector<TokenId>* symbols) const;
  void AppendCharacter(char32_t character, std::vector<TokenId>* ids) const;
  TokenId SymbolOf(char32_t character) const;
  void ForbidCutsIfMergesCross(std::string_view merged);

  std::shared_ptr<const Vocabulary> vocabulary_;
  BpeOptions options_;
  MergeTable merges_;
  std::array<TokenId, 256> byte_tokens_;  // the token of each byte; kNoToken where there is none
  // Symbols that merges know but the vocabulary lacks have ids from vocabulary.size() up.
  std::unordered_map<char32_t, TokenId> character_symbols_;
  std::array<TokenId, 128> ascii_symbols_;
  std::vector<char32_t> extra_symbols_;  // the character of symbol vocabulary.size() + i
  std::unordered_map<std::string_view, TokenId>
      whole_pieces_;            // if ignore_merges; views vocabulary_
  bool cut_at_spaces_ = false;  // no merge has U+2581 to the right of another character
};

}  // namespace weft
