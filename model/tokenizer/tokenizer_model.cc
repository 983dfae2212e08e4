#include "model/tokenizer/tokenizer_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/quoted.h"
#include "base/utf8.h"
#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/protobuf_reader.h"
#include "model/tokenizer/sentencepiece_classes.h"
#include "model/tokenizer/text_tokenizer.h"
#include "model/tokenizer/unigram_model.h"

namespace weft {
namespace {

constexpr size_t kMaxPieceBytes = 1024;
constexpr uint64_t kModelTypeUnigram = 1;
constexpr uint64_t kModelTypeBpe = 2;

struct Piece {
  std::string_view text;
  float score = 0.0f;
  uint64_t kind = 1;  // SentencePiece.Type, whose values are TokenKind's
};

// The fields of TrainerSpec and NormalizerSpec that matter, with the format's defaults.
struct TrainerSpec {
  uint64_t model_type = kModelTypeUnigram;
  bool treat_whitespace_as_suffix = false;
  bool byte_fallback = false;
  int32_t unknown_id = 0;
  int32_t bos_id = 1;
  int32_t eos_id = 2;
};

struct NormalizerSpec {
  std::string_view precompiled_charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

class TokenizerModelLoader {
 public:
  TokenizerModelLoader(std::string_view bytes, const std::string& path,
                       const SpecialTokenHints& hints, int64_t vocab_size)
      : bytes_(bytes), path_(path), hints_(hints), vocab_size_(vocab_size) {}

  Result<std::shared_ptr<const Tokenizer>> Load();

 private:
  Result<void> ReadModel();
  Result<void> AddPiece(std::string_view message);
  Result<void> ReadTrainerSpec(std::string_view message);
  Result<void> ReadNormalizerSpec(std::string_view message);
  bool is_unigram() const { return trainer_.model_type == kModelTypeUnigram; }
  Result<void> CheckSupported() const;
  Result<void> ApplyClass();
  Result<void> AddConfiguredTokens();
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
  std::vector<Token> tokens_;
  std::vector<float> scores_;
  TrainerSpec trainer_;
  NormalizerSpec normalizer_;
  SentencePieceClass class_;
  TokenizerParts parts_;
};

Result<std::shared_ptr<const Tokenizer>> TokenizerModelLoader::Load() {
  WEFT_RETURN_IF_ERROR(ReadModel());
  WEFT_RETURN_IF_ERROR(CheckSupported());
  WEFT_RETURN_IF_ERROR(ApplyClass());
  WEFT_RETURN_IF_ERROR(AddConfiguredTokens());
  parts_.vocabulary =
      std::make_shared<Vocabulary>(std::move(tokens_), vocab_size_, Spelling::kSentencePiece);
  WEFT_RETURN_IF_ERROR(MakeModel());
  WEFT_RETURN_IF_ERROR(SetNormalizer());
  SetSpecials();
  WEFT_RETURN_IF_ERROR(SetSpecialIds());
  return MakeTokenizer(std::move(parts_));
}

Result<void> TokenizerModelLoader::ReadModel() {
  ProtobufReader reader(bytes_, path_);
  while (!reader.done()) {
    WEFT_ASSIGN_OR_RETURN(const ProtobufField field, reader.Next());
    switch (field.number) {
      case 1: {
        WEFT_ASSIGN_OR_RETURN(const std::string_view message, reader.Bytes(field, "pieces"));
        WEFT_RETURN_IF_ERROR(AddPiece(message));
        break;
      }
      case 2: {
        WEFT_ASSIGN_OR_RETURN(const std::string_view message, reader.Bytes(field, "trainer_spec"));
        WEFT_RETURN_IF_ERROR(ReadTrainerSpec(message));
        break;
      }
      case 3: {
        WEFT_ASSIGN_OR_RETURN(const std::string_view message,
                              reader.Bytes(field, "normalizer_spec"));
        WEFT_RETURN_IF_ERROR(ReadNormalizerSpec(message));
        break;
      }
      default:
        break;  // self-test data and the denormalizer, which no model with BPE has
    }
  }
  if (tokens_.empty()) return Fail(ErrorCode::kCorrupt, "{}: no pieces", path_);
  return {};
}

Result<void> TokenizerModelLoader::AddPiece(std::string_view message) {
  Piece piece;
  ProtobufReader reader(message, path_);
  while (!reader.done()) {
    WEFT_ASSIGN_OR_RETURN(const ProtobufField field, reader.Next());
    if (field.number == 1) {
      WEFT_ASSIGN_OR_RETURN(piece.text, reader.Bytes(field, "piece"));
    } else if (field.number == 2) {
      WEFT_ASSIGN_OR_RETURN(piece.score, reader.Float(field, "score"));
    } else if (field.number == 3) {
      WEFT_ASSIGN_OR_RETURN(piece.kind, reader.Varint(field, "type"));
    }
  }
  const size_t id = tokens_.size();
  if (static_cast<int64_t>(id) >= vocab_size_) {
    return Fail(ErrorCode::kCorrupt, "{}: more pieces than the model's vocabulary of {}", path_,
                vocab_size_);
  }
  if (piece.text.empty() || piece.text.size() > kMaxPieceBytes) {
    return Fail(ErrorCode::kCorrupt, "{}: piece {} has {} bytes, 1 to {} expected", path_, id,
                piece.text.size(), kMaxPieceBytes);
  }
  if (!std::isfinite(piece.score)) {
    return Fail(ErrorCode::kCorrupt, "{}: the score of piece {} is not finite", path_, id);
  }
  if (piece.kind < 1 || piece.kind > 6) {
    return Fail(ErrorCode::kCorrupt, "{}: piece {} has type {}, 1 to 6 expected", path_, id,
                piece.kind);
  }
  const auto kind = static_cast<TokenKind>(piece.kind);
  tokens_.push_back({std::string(piece.text), kind});
  scores_.push_back(piece.score);
  return {};
}

Result<void> TokenizerModelLoader::ReadTrainerSpec(std::string_view message) {
  ProtobufReader reader(message, path_);
  while (!reader.done()) {
    WEFT_ASSIGN_OR_RETURN(const ProtobufField field, reader.Next());
    const auto read_flag = [&](std::string_view name, bool* flag) -> Result<void> {
      WEFT_ASSIGN_OR_RETURN(const uint64_t value, reader.Varint(field, name));
      *flag = value != 0;
      return {};
    };
    const auto read_id = [&](std::string_view name, int32_t* id) -> Result<void> {
      WEFT_ASSIGN_OR_RETURN(const uint64_t value, reader.Varint(field, name));
      *id = static_cast<int32_t>(value);  // int32 on the wire: the low bits of 64
      return {};
    };
    switch (field.number) {
      case 3: {
        WEFT_ASSIGN_OR_RETURN(trainer_.model_type, reader.Varint(field, "model_type"));
        break;
      }
      case 24:
        WEFT_RETURN_IF_ERROR(
            read_flag("treat_whitespace_as_suffix", &trainer_.treat_whitespace_as_suffix));
        break;
      case 35:
        WEFT_RETURN_IF_ERROR(read_flag("byte_fallback", &trainer_.byte_fallback));
        break;
      case 40:
        WEFT_RETURN_IF_ERROR(read_id("unk_id", &trainer_.unknown_id));
        break;
      case 41:
        WEFT_RETURN_IF_ERROR(read_id("bos_id", &trainer_.bos_id));
        break;
      case 42:
        WEFT_RETURN_IF_ERROR(read_id("eos_id", &trainer_.eos_id));
        break;
      default:
        break;  // of interest to the trainer alone
    }
  }
  return {};
}

Result<void> TokenizerModelLoader::ReadNormalizerSpec(std::string_view message) {
  ProtobufReader reader(message, path_);
  while (!reader.done()) {
    WEFT_ASSIGN_OR_RETURN(const ProtobufField field, reader.Next());
    if (field.number == 2) {
      WEFT_ASSIGN_OR_RETURN(normalizer_.precompiled_charsmap,
                            reader.Bytes(field, "precompiled_charsmap"));
    } else if (field.number >= 3 && field.number <= 5) {
      WEFT_ASSIGN_OR_RETURN(const uint64_t flag, reader.Varint(field, "normalizer_spec"));
      if (field.number == 3) normalizer_.add_dummy_prefix = flag != 0;
      if (field.number == 4) normalizer_.remove_extra_whitespaces = flag != 0;
      if (field.number == 5) normalizer_.escape_whitespaces = flag != 0;
    }
  }
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
    if (tokens_[i].kind != TokenKind::kUnused) continue;
    return refuse(fmt::format("piece {}, of type UNUSED,", i));
  }
  if (trainer_.treat_whitespace_as_suffix) return refuse("treat_whitespace_as_suffix");
  if (!normalizer_.escape_whitespaces) return refuse("escape_whitespaces = false");
  return {};
}

Result<void> TokenizerModelLoader::ApplyClass() {
  if (!is_unigram()) return {};
  WEFT_ASSIGN_OR_RETURN(class_, FindSentencePieceClass(hints_, path_));
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
  parts_.model = BpeModel::FromScores(
      parts_.vocabulary, scores_,
      {.byte_fallback = trainer_.byte_fallback, .fuse_unknown = true, .unknown = unknown});
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
// A Unigram model finds the latter itself.
void TokenizerModelLoader::SetSpecials() {
  std::vector<SpecialToken> control;
  std::vector<SpecialToken> user_defined;
  const std::unique_ptr<NormalizerStep> escape = MakeReplaceStep(" ", std::string(kSpaceSymbol));
  const std::vector<Token>& tokens = parts_.vocabulary->tokens();
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (tokens[i].kind == TokenKind::kControl || tokens[i].kind == TokenKind::kUnknown) {
      control.push_back({tokens[i].text, id, true});
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
  for (const auto& [text, around] :
       {std::pair{class_.before, &parts_.prefix}, std::pair{class_.after, &parts_.suffix}}) {
    if (text.empty()) continue;
    WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> id, Resolve(text, -1, "special token"));
    around->push_back(*id);
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
  return TokenizerModelLoader(bytes, path, hints, vocab_size).Load();
}

}  // namespace weft
