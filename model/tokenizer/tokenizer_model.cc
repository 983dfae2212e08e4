#include "model/tokenizer/tokenizer_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "base/quoted.h"
#include "base/utf8.h"
#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/renamed_pieces.h"
#include "model/tokenizer/sentencepiece_classes.h"
#include "model/tokenizer/sentencepiece_file.h"
#include "model/tokenizer/text_tokenizer.h"
#include "model/tokenizer/unigram_model.h"

namespace weft {
namespace {

class TokenizerModelLoader {
 public:
  TokenizerModelLoader(std::string_view bytes, const std::string& path,
                       const SpecialTokenHints& hints, int64_t vocab_size,
                       std::optional<PieceIds> ids)
      : bytes_(bytes), path_(path), hints_(hints), vocab_size_(vocab_size), ids_(std::move(ids)) {}

  Result<std::shared_ptr<const Tokenizer>> Load();

 private:
  bool is_unigram() const { return trainer_.model_type == kModelTypeUnigram; }
  Result<void> CheckSupported() const;
  Result<void> ApplyClass();
  Result<void> AddConfiguredTokens();
  Result<void> MakeModelOfPieces();
  Result<void> Rename();
  Result<void> MakeModel();
  std::unique_ptr<PieceModel> MakeUnigram(std::optional<TokenId> unknown) const;
  Result<void> SetNormalizer();
  void SetSpecials();
  Result<std::optional<TokenId>> CheckedId(int64_t id, std::string_view name) const;
  Result<std::optional<TokenId>> Resolve(const std::optional<std::string>& text, int64_t id,
                                         std::string_view name) const;
  Result<void> SetSpecialIds();

  std::string_view bytes_;
  const std::string& path_;
  const SpecialTokenHints& hints_;
  int64_t vocab_size_;
  std::optional<PieceIds> ids_;  // of a vocab.json
  std::vector<Token> tokens_;
  std::vector<float> scores_;
  TrainerSpec trainer_;
  NormalizerSpec normalizer_;  // views bytes_
  SentencePieceClass class_;
  TokenizerParts parts_;
};

Result<std::shared_ptr<const Tokenizer>> TokenizerModelLoader::Load() {
  // The pieces of a vocabulary of their own may be more than the model's tokens.
  WEFT_ASSIGN_OR_RETURN(SentencePieceFile file,
                        ReadSentencePieceFile(bytes_, path_, ids_ ? INT32_MAX : vocab_size_));
  tokens_ = std::move(file.tokens);
  scores_ = std::move(file.scores);
  trainer_ = file.trainer;
  normalizer_ = file.normalizer;
  WEFT_RETURN_IF_ERROR(CheckSupported());
  if (ids_) {
    WEFT_RETURN_IF_ERROR(MakeModelOfPieces());
    WEFT_RETURN_IF_ERROR(Rename());
  } else {
    WEFT_RETURN_IF_ERROR(ApplyClass());
    WEFT_RETURN_IF_ERROR(AddConfiguredTokens());
    parts_.vocabulary =
        std::make_shared<Vocabulary>(std::move(tokens_), vocab_size_, Spelling::kSentencePiece);
    WEFT_RETURN_IF_ERROR(MakeModel());
    WEFT_RETURN_IF_ERROR(SetNormalizer());
  }
  SetSpecials();
  WEFT_RETURN_IF_ERROR(SetSpecialIds());
  return MakeTokenizer(std::move(parts_));
}

// Of a vocabulary that has, besides the pieces, the tokens that are none, by which texts that no
// piece spells are looked up.
Result<void> TokenizerModelLoader::MakeModelOfPieces() {
  std::unordered_set<std::string_view> known;
  for (const Token& token : tokens_) known.insert(token.text);
  std::vector<Token> others;
  for (const Token& token : ids_->tokens) {
    if (!token.text.empty() && !known.contains(token.text)) {
      others.push_back({token.text, TokenKind::kControl});
    }
  }
  known.clear();  // views tokens_
  std::ranges::move(others, std::back_inserter(tokens_));
  scores_.resize(tokens_.size(), 0.0f);
  const auto size = static_cast<int64_t>(tokens_.size());
  if (trainer_.unknown_id < 0 || trainer_.unknown_id >= size) {
    return Fail(ErrorCode::kCorrupt, "{}: unk_id is {}, one of {} pieces expected", path_,
                trainer_.unknown_id, size);
  }
  parts_.vocabulary =
      std::make_shared<Vocabulary>(std::move(tokens_), size, Spelling::kSentencePiece);
  WEFT_RETURN_IF_ERROR(MakeModel());
  return SetNormalizer();
}

// Gives the pieces, and the parts that know them, the ids of vocab.json.
Result<void> TokenizerModelLoader::Rename() {
  const std::shared_ptr<const Vocabulary> pieces = std::move(parts_.vocabulary);
  tokens_ = std::move(ids_->tokens);
  WEFT_RETURN_IF_ERROR(AddConfiguredTokens());
  for (Token& token : tokens_) {
    const std::optional<TokenId> piece = pieces->Find(token.text);
    if (piece && pieces->Kind(*piece) == TokenKind::kByte) token.kind = TokenKind::kByte;
  }
  parts_.vocabulary =
      std::make_shared<Vocabulary>(std::move(tokens_), vocab_size_, Spelling::kSentencePiece);
  const TokenId unknown = parts_.vocabulary->Find(ids_->unknown).value();
  std::vector<TokenId> ids;
  ids.reserve(pieces->tokens().size());
  for (const Token& piece : pieces->tokens()) {
    ids.push_back(parts_.vocabulary->Find(piece.text).value_or(unknown));
  }
  parts_.model = MakeRenamedModel(std::move(parts_.model), std::move(ids));
  if (ids_->has_codes) parts_.unknown_code = unknown;
  class_.is_plain = false;
  if (!ids_->before.empty()) class_.before = {ids_->before};
  class_.after = {ids_->eos};
  return {};
}

Result<void> TokenizerModelLoader::CheckSupported() const {
  const auto refuse = [&](std::string_view what) {
    return Fail(ErrorCode::kUnsupported, "{}: {} is not supported", path_, what);
  };
  if (trainer_.model_type != kModelTypeBpe && !is_unigram()) {
    const uint64_t type = trainer_.model_type;
    return refuse(fmt::format("model type {}", type == 3   ? "WORD"
                                               : type == 4 ? "CHAR"
                                                           : std::to_string(type)));
  }
  for (size_t i = 0; i < tokens_.size() && !is_unigram(); ++i) {
    if (tokens_[i].kind == TokenKind::kUnused) {
      return refuse(fmt::format("piece {}, of type UNUSED,", i));
    }
    if (tokens_[i].kind == TokenKind::kUserDefined && ids_) {
      return refuse(fmt::format("piece {}, of type USER_DEFINED, beside vocab.json", i));
    }
  }
  if (trainer_.treat_whitespace_as_suffix) return refuse("treat_whitespace_as_suffix");
  if (!normalizer_.escape_whitespaces) return refuse("escape_whitespaces = false");
  return {};
}

Result<void> TokenizerModelLoader::ApplyClass() {
  WEFT_ASSIGN_OR_RETURN(class_, FindSentencePieceClass(hints_, is_unigram(), path_));
  WEFT_RETURN_IF_ERROR(ArrangePieces(class_, path_, &tokens_, &scores_));
  if (static_cast<int64_t>(tokens_.size()) > vocab_size_) {
    return Fail(ErrorCode::kCorrupt,
                "{}: {} tokens with those of {}, the model's vocabulary has {}", path_,
                tokens_.size(), Quoted(hints_.tokenizer_class), vocab_size_);
  }
  return {};
}

// Tokens that tokenizer_config.json adds to those of tokenizer.model.
Result<void> TokenizerModelLoader::AddConfiguredTokens() {
  for (const AddedToken& added : hints_.added_tokens) {
    const bool near_end = added.id >= 0 && added.id < vocab_size_ &&
                          added.id < static_cast<int64_t>(tokens_.size()) + 65536;
    if (!near_end || added.text.empty()) {
      return Fail(ErrorCode::kCorrupt, "{}: the added token {} has id {}, 0 to {} expected", path_,
                  Quoted(added.text), added.id, vocab_size_ - 1);
    }
    const auto index = static_cast<size_t>(added.id);
    if (index >= tokens_.size()) {
      tokens_.resize(index + 1, {"", TokenKind::kUnused});
      scores_.resize(index + 1, 0.0f);
    }
    Token& token = tokens_[index];
    if (token.text.empty()) {
      token = {added.text, added.is_special ? TokenKind::kControl : TokenKind::kUserDefined};
    } else if (token.text != added.text) {
      return Fail(ErrorCode::kCorrupt, "{}: id {} is {}, tokenizer_config.json says {}", path_,
                  added.id, Quoted(token.text), Quoted(added.text));
    }
  }
  return {};
}

Result<void> TokenizerModelLoader::MakeModel() {
  // Where pieces have new ids, the file's own names no token.
  WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> unknown,
                        class_.has_fairseq_ids ? Resolve("<unk>", -1, "unk_token")
                                               : CheckedId(trainer_.unknown_id, "unk_id"));
  if (is_unigram()) {
    parts_.model = MakeUnigram(unknown);
    parts_.description = "SentencePiece Unigram (tokenizer.model)";
    return {};
  }
  parts_.model = BpeModel::FromScores(parts_.vocabulary, scores_,
                                      {.byte_fallback = trainer_.byte_fallback,
                                       .fuse_unknown = true,
                                       .finds_unknown = ids_.has_value(),
                                       .unknown = unknown});
  parts_.description = "SentencePiece BPE (tokenizer.model)";
  return {};
}

// As the library has it (0.2.3), in its arithmetic: an unknown character is worse than every normal
// piece, and a user-defined piece, whose score in the file does not count, better the longer it is.
std::unique_ptr<PieceModel> TokenizerModelLoader::MakeUnigram(
    std::optional<TokenId> unknown) const {
  constexpr double kUserDefinedBonus = 0.1;
  const std::vector<Token>& tokens = parts_.vocabulary->tokens();
  std::optional<float> lowest;
  std::vector<UnigramPiece> pieces;
  pieces.reserve(scores_.size());
  for (size_t i = 0; i < scores_.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (tokens[i].kind == TokenKind::kNormal) {
      lowest = std::min(lowest.value_or(scores_[i]), scores_[i]);
      pieces.push_back({id, scores_[i]});
    } else if (tokens[i].kind == TokenKind::kUserDefined) {
      pieces.push_back({id, kUserDefinedBonus * static_cast<double>(tokens[i].text.size() - 1)});
    }
  }
  const float unknown_score = lowest.value_or(0.0f) - static_cast<float>(kUnknownPenalty);
  return std::make_unique<UnigramModel>(parts_.vocabulary, pieces,
                                        UnigramOptions{.unknown = unknown,
                                                       .unknown_score = unknown_score,
                                                       .byte_fallback = trainer_.byte_fallback,
                                                       .finds_unknown = ids_.has_value(),
                                                       .float32_sums = true});
}

Result<void> TokenizerModelLoader::SetNormalizer() {
  SentencePieceSpec spec;
  if (!normalizer_.precompiled_charsmap.empty()) {
    Result<CharacterMap> map = CharacterMap::Parse(normalizer_.precompiled_charsmap);
    if (!map) return Fail(map.error().code, "{}: {}", path_, map.error().message);
    spec.character_map = *std::move(map);
  }
  spec.add_dummy_prefix = normalizer_.add_dummy_prefix;
  spec.remove_extra_whitespaces = normalizer_.remove_extra_whitespaces;
  for (const Token& token : parts_.vocabulary->tokens()) {
    if (token.kind == TokenKind::kUserDefined) spec.user_defined.push_back(token.text);
  }
  if (is_unigram()) AddStepsOfClass(hints_, &parts_.normalizer);
  parts_.normalizer.Add(MakeSentencePieceStep(std::move(spec)));
  parts_.decode_drops_spaces = normalizer_.remove_extra_whitespaces ? SIZE_MAX
                               : normalizer_.add_dummy_prefix       ? 1
                                                                    : 0;
  return {};
}

// Control tokens part texts; user-defined ones stand within a text, whose spaces are U+2581 then.
// A Unigram model finds the latter itself. Where vocab.json has the ids, added ones part texts,
// too.
void TokenizerModelLoader::SetSpecials() {
  std::vector<SpecialToken> control;
  std::vector<SpecialToken> user_defined;
  const std::unique_ptr<NormalizerStep> escape = MakeReplaceStep(" ", std::string(kSpaceSymbol));
  const std::vector<Token>& tokens = parts_.vocabulary->tokens();
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (tokens[i].kind == TokenKind::kControl || tokens[i].kind == TokenKind::kUnknown) {
      control.push_back({tokens[i].text, id, true});
    } else if (tokens[i].kind == TokenKind::kUserDefined && ids_) {
      control.push_back({tokens[i].text, id, false});
    } else if (tokens[i].kind == TokenKind::kUserDefined && !is_unigram()) {
      user_defined.push_back({escape->Apply(tokens[i].text, true, SIZE_MAX).value(), id, false});
    }
  }
  parts_.raw_specials = SpecialTokenMatcher(std::move(control));
  parts_.normalized_specials = SpecialTokenMatcher(std::move(user_defined));
}

Result<std::optional<TokenId>> TokenizerModelLoader::CheckedId(int64_t id,
                                                               std::string_view name) const {
  if (id < 0) return std::nullopt;
  if (id >= vocab_size_) {
    return Fail(ErrorCode::kCorrupt, "{}: {} is {}, a token below {} expected", path_, name, id,
                vocab_size_);
  }
  return static_cast<TokenId>(id);
}

Result<std::optional<TokenId>> TokenizerModelLoader::Resolve(const std::optional<std::string>& text,
                                                             int64_t id,
                                                             std::string_view name) const {
  if (!text) return CheckedId(id, name);
  const std::optional<TokenId> found = parts_.vocabulary->Find(*text);
  if (found) return found;
  return Fail(ErrorCode::kCorrupt, "{}: {} {} is not in the vocabulary", path_, name,
              Quoted(*text));
}

Result<void> TokenizerModelLoader::SetSpecialIds() {
  std::optional<std::string> bos_text = hints_.bos_text;
  std::optional<std::string> eos_text = hints_.eos_text;
  if (class_.has_fairseq_ids) {  // the file's ids are of other tokens
    if (!bos_text) bos_text = "<s>";
    if (!eos_text) eos_text = "</s>";
  } else if (ids_) {
    trainer_.bos_id = -1;
    bos_text = ids_->bos.empty() ? std::nullopt : std::optional(ids_->bos);
    eos_text = ids_->eos;
  }
  WEFT_ASSIGN_OR_RETURN(parts_.bos, Resolve(bos_text, trainer_.bos_id, "bos_token"));
  WEFT_ASSIGN_OR_RETURN(parts_.eos, Resolve(eos_text, trainer_.eos_id, "eos_token"));
  std::vector<TokenId> ends;
  if (parts_.eos) ends.push_back(*parts_.eos);
  for (const int64_t declared : hints_.eos_ids) {
    WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> id, CheckedId(declared, "eos_token_id"));
    if (id) ends.push_back(*id);
  }
  parts_.end_tokens = EndTokens(*parts_.vocabulary, std::move(ends));
  for (const auto& [texts, around] :
       {std::pair{&class_.before, &parts_.prefix}, std::pair{&class_.after, &parts_.suffix}}) {
    for (const std::string& text : *texts) {
      WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> id, Resolve(text, -1, "special token"));
      around->push_back(*id);
    }
  }
  if (class_.is_plain) {
    // Hugging Face's tokenizers of this format add BOS and no EOS unless told otherwise.
    if (hints_.adds_bos.value_or(true) && parts_.bos) parts_.prefix = {*parts_.bos};
    if (hints_.adds_eos.value_or(false) && parts_.eos) parts_.suffix = {*parts_.eos};
    parts_.pair = PairOfSingles(parts_);
    return {};
  }
  PairLayout pair = {.before = parts_.prefix, .between = {}, .after = parts_.suffix};
  for (const std::string& text : class_.between) {
    WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> id, Resolve(text, -1, "special token"));
    pair.between.push_back(*id);
  }
  if (class_.has_types) pair.second_type = pair.between.size();
  parts_.pair = std::move(pair);
  return {};
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> LoadTokenizerModel(std::string_view bytes,
                                                            const std::string& path,
                                                            const SpecialTokenHints& hints,
                                                            int64_t vocab_size) {
  return TokenizerModelLoader(bytes, path, hints, vocab_size, std::nullopt).Load();
}

Result<std::shared_ptr<const Tokenizer>> LoadTokenizerModel(std::string_view bytes,
                                                            const std::string& path,
                                                            const SpecialTokenHints& hints,
                                                            int64_t vocab_size, PieceIds ids) {
  return TokenizerModelLoader(bytes, path, hints, vocab_size, std::move(ids)).Load();
}

}  // namespace weft
