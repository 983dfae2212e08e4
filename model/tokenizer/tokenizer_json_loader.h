// What makes a tokenizer of a tokenizer.json, for the files that do so: tokenizer_json.cc,
// tokenizer_json_models.cc and tokenizer_json_output.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/json_reader.h"
#include "model/tokenizer/text_tokenizer.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/unigram_model.h"

namespace weft {

// One file's; Load() is called once.
class TokenizerJsonLoader {
 public:
  TokenizerJsonLoader(const JsonView& root, const SpecialTokenHints& hints, int64_t vocab_size)
      : root_(root), hints_(hints), vocab_size_(vocab_size) {}

  Result<std::shared_ptr<const Tokenizer>> Load();

 private:
  enum class ModelType { kBpe, kUnigram, kWordPiece };

  // Puts a token into tokens_; the id is below the model's vocabulary size.
  Result<void> Place(const JsonView& where, std::string_view text, int64_t id, TokenKind kind);
  Result<void> ReadAddedTokens();
  // An added token as it stands in a normalised text.
  Result<std::string> Normalized(const JsonView& where, std::string_view content);

  Result<void> ReadModelType();
  Result<void> ReadVocabulary();
  Result<void> ReadVocabularyObject(const JsonView& vocabulary);
  Result<void> ReadScoredVocabulary(const JsonView& vocabulary);
  Result<void> MakeVocabulary();
  Result<void> MakeModel();
  Result<std::optional<TokenId>> ReadUnknownToken() const;
  Result<void> MakeBpe();
  Result<void> MakeUnigram();
  Result<void> MakeWordPiece();

  Result<void> ReadPostProcessor(const JsonView& section, int nesting);
  Result<void> ReadClsAndSep(const JsonView& section, bool is_bert);
  Result<void> ReadTemplate(const JsonView& section);
  Result<PairLayout> ReadPairTemplate(const JsonView& section) const;
  Result<TokenId> ReadTemplateToken(const JsonView& section, std::string_view name) const;
  Result<void> ReadDecoder(const JsonView& section, int nesting);
  Result<void> ReadDecoderReplace(const JsonView& section);
  Result<void> ReadWordPieceDecoder(const JsonView& section);
  Result<std::optional<TokenId>> Resolve(const std::optional<std::string>& text,
                                         std::optional<int64_t> id, std::string_view name) const;
  Result<void> SetSpecialTokens();

  static constexpr size_t kMaxSpecialBytes = 16 << 20;  // of all added tokens, normalised

  const JsonView root_;
  const SpecialTokenHints& hints_;
  int64_t vocab_size_;
  ModelType model_type_ = ModelType::kBpe;
  size_t max_tokens_ = 0;  // what the file can name, with some slack for gaps
  std::vector<Token> tokens_;
  std::vector<UnigramPiece> pieces_;  // Unigram: the model's own tokens
  std::vector<SpecialToken> raw_specials_;
  std::vector<SpecialToken> normalized_specials_;
  size_t special_bytes_left_ = kMaxSpecialBytes;
  bool byte_fallback_ = false;
  bool is_byte_level_ = false;
  bool has_template_ = false;  // the post_processor adds tokens
  bool cleans_up_ = false;     // WordPiece: see Spelling::kWordPieceClean
  TokenizerParts parts_;
};

}  // namespace weft
