// A tokenizer from GGUF metadata (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/quoted.h"
#include "base/utf8.h"
#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/text_tokenizer.h"
#include "model/tokenizer/unigram_model.h"
#include "model/tokenizer/wordpiece_model.h"

namespace weft {
namespace {

constexpr int64_t kAbsentId = 0xFFFFFFFF;
// Longer spellings are nobody's, and would make the table of SentencePiece's merges slow to build.
constexpr size_t kMaxSpellingBytes = 1024;

class GgufTokenizerLoader {
 public:
  GgufTokenizerLoader(const GgufMetadata& metadata, int64_t vocab_size)
      : metadata_(metadata), vocab_size_(vocab_size) {}

  Result<std::shared_ptr<const Tokenizer>> Load();

 private:
  std::string Where(std::string_view key) const {
    return fmt::format("{}: {}", metadata_.path(), key);
  }
  Result<std::vector<Token>> ReadTokens() const;
  Result<void> ReadKinds(std::vector<Token>* tokens) const;
  Result<std::vector<float>> ReadScores(size_t token_count) const;
  Result<std::optional<TokenId>> ReadId(std::string_view key) const;
  // The id under `key`, or else, in a SentencePiece vocabulary, of the token `text`.
  Result<std::optional<TokenId>> ReadIdOrFind(std::string_view key, std::string_view text) const;
  Result<bool> ReadFlag(std::string_view key, bool otherwise) const;

  using MergePairs = std::vector<std::pair<std::string_view, std::string_view>>;
  Result<MergePairs> ReadMerges() const;

  Result<void> LoadByteLevel(std::vector<Token> tokens);
  // BPE over characters, by merges: Gemma 4's.
  Result<void> LoadCharacters(std::vector<Token> tokens);
  Result<void> LoadSentencePiece(std::vector<Token> tokens);
  Result<void> LoadUnigram(std::vector<Token> tokens);
  Result<CharacterMap> ReadCharacterMap() const;
  Result<void> LoadWordPiece(std::vector<Token> tokens);
  // What adds BOS and EOS, unless the file says otherwise.
  Result<void> SetSpecialTokens(bool adds_bos, bool adds_eos = false);
  // What stands around two texts, once it is known what stands around one.
  Result<void> SetPair();
  // Whether the white space behind this control token goes.
  bool StripsRight(std::string_view text) const;

  const GgufMetadata& metadata_;
  int64_t vocab_size_;
  TokenizerParts parts_;
};

Result<std::shared_ptr<const Tokenizer>> GgufTokenizerLoader::Load() {
  constexpr std::string_view kModelKey = "tokenizer.ggml.model";
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string_view> model,
                        metadata_.GetString(kModelKey));
  if (!model) {
    return Fail(ErrorCode::kNotFound, "{} is missing: the file brings no tokenizer",
                Where(kModelKey));
  }
  using Loading = Result<void> (GgufTokenizerLoader::*)(std::vector<Token>);
  Loading load = nullptr;
  if (*model == "gpt2") load = &GgufTokenizerLoader::LoadByteLevel;
  if (*model == "gemma4") load = &GgufTokenizerLoader::LoadCharacters;
  if (*model == "llama") load = &GgufTokenizerLoader::LoadSentencePiece;
  if (*model == "t5") load = &GgufTokenizerLoader::LoadUnigram;
  if (*model == "bert") load = &GgufTokenizerLoader::LoadWordPiece;
  if (load == nullptr) {
    return Fail(ErrorCode::kUnsupported,
                "{} is {}, which is not supported; expected \"gpt2\" (byte-level BPE), "
                "\"llama\" (SentencePiece BPE), \"gemma4\" (BPE), \"t5\" (Unigram) or \"bert\" "
                "(WordPiece)",
                Where(kModelKey), Quoted(*model));
  }
  WEFT_ASSIGN_OR_RETURN(std::vector<Token> tokens, ReadTokens());
  WEFT_RETURN_IF_ERROR(ReadKinds(&tokens));
  WEFT_RETURN_IF_ERROR((this->*load)(std::move(tokens)));
  if (*model != "bert") WEFT_RETURN_IF_ERROR(SetPair());
  return MakeTokenizer(std::move(parts_));
}

Result<std::vector<Token>> GgufTokenizerLoader::ReadTokens() const {
  constexpr std::string_view kKey = "tokenizer.ggml.tokens";
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::string_view>* texts, metadata_.GetStrings(kKey));
  if (texts == nullptr || texts->empty()) {
    return Fail(ErrorCode::kCorrupt, "{} is missing or empty", Where(kKey));
  }
  if (static_cast<int64_t>(texts->size()) > vocab_size_) {
    return Fail(ErrorCode::kCorrupt, "{} has {} tokens, the model's vocabulary {}", Where(kKey),
                texts->size(), vocab_size_);
  }
  std::vector<Token> tokens;
  tokens.reserve(texts->size());
  for (const std::string_view text : *texts) {
    if (text.size() > kMaxSpellingBytes) {
      return Fail(ErrorCode::kCorrupt, "{}: token {} has {} bytes, at most {} are accepted",
                  Where(kKey), tokens.size(), text.size(), kMaxSpellingBytes);
    }
    tokens.push_back({std::string(text), TokenKind::kNormal});
  }
  return tokens;
}

Result<void> GgufTokenizerLoader::ReadKinds(std::vector<Token>* tokens) const {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t>* kinds, metadata_.GetInts(kKey));
  if (kinds == nullptr) return {};
  if (kinds->size() != tokens->size()) {
    return Fail(ErrorCode::kCorrupt, "{} has {} entries, tokenizer.ggml.tokens {}", Where(kKey),
                kinds->size(), tokens->size());
  }
  const EndOfTurnTexts ends(*tokens);
  for (size_t i = 0; i < tokens->size(); ++i) {
    const int64_t kind = (*kinds)[i];
    if (kind < static_cast<int64_t>(TokenKind::kNormal) ||
        kind > static_cast<int64_t>(TokenKind::kByte)) {
      return Fail(ErrorCode::kCorrupt, "{}: token {} has type {}, 1 to 6 expected", Where(kKey), i,
                  kind);
    }
    Token& token = (*tokens)[i];
    token.kind = static_cast<TokenKind>(kind);
    // Converters often leave the tokens that end a turn user-defined; as text they make no sense.
    if (token.kind == TokenKind::kUserDefined && ends.Contains(token.text)) {
      token.kind = TokenKind::kControl;
    }
  }
  return {};
}

Result<std::vector<float>> GgufTokenizerLoader::ReadScores(size_t token_count) const {
  constexpr std::string_view kKey = "tokenizer.ggml.scores";
  WEFT_ASSIGN_OR_RETURN(const std::vector<double>* scores, metadata_.GetDoubles(kKey));
  if (scores == nullptr || scores->size() != token_count) {
    return Fail(ErrorCode::kCorrupt, "{} has {} entries, tokenizer.ggml.tokens {}", Where(kKey),
                scores == nullptr ? 0 : scores->size(), token_count);
  }
  std::vector<float> values(token_count);
  for (size_t i = 0; i < token_count; ++i) {
    values[i] = static_cast<float>((*scores)[i]);
    if (!std::isfinite(values[i])) {
      return Fail(ErrorCode::kCorrupt, "{}: the score of token {} is not finite", Where(kKey), i);
    }
  }
  return values;
}

Result<std::optional<TokenId>> GgufTokenizerLoader::ReadId(std::string_view key) const {
  WEFT_ASSIGN_OR_RETURN(const std::optional<int64_t> id, metadata_.GetInt(key));
  if (!id || *id == -1 || *id == kAbsentId) return std::nullopt;
  const size_t token_count = parts_.vocabulary->tokens().size();
  if (*id < 0 || *id >= static_cast<int64_t>(token_count)) {
    return Fail(ErrorCode::kCorrupt, "{} is {}, a token below {} (or 4294967295 for none) expected",
                Where(key), *id, token_count);
  }
  return static_cast<TokenId>(*id);
}

Result<std::optional<TokenId>> GgufTokenizerLoader::ReadIdOrFind(std::string_view key,
                                                                 std::string_view text) const {
  if (metadata_.Contains(key) || parts_.vocabulary->spelling() == Spelling::kByteLevel) {
    return ReadId(key);
  }
  return parts_.vocabulary->Find(text);
}

Result<bool> GgufTokenizerLoader::ReadFlag(std::string_view key, bool otherwise) const {
  WEFT_ASSIGN_OR_RETURN(const std::optional<bool> flag, metadata_.GetBool(key));
  return flag.value_or(otherwise);
}

Result<GgufTokenizerLoader::MergePairs> GgufTokenizerLoader::ReadMerges() const {
  constexpr std::string_view kKey = "tokenizer.ggml.merges";
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::string_view>* merges, metadata_.GetStrings(kKey));
  if (merges == nullptr) return Fail(ErrorCode::kCorrupt, "{} is missing", Where(kKey));
  MergePairs pairs;
  pairs.reserve(merges->size());
  for (const std::string_view merge : *merges) {
    const size_t space = merge.find(' ', 1);
    if (merge.empty() || space == std::string_view::npos) {
      return Fail(ErrorCode::kCorrupt, "{}: merge {} is {}, two spellings and a space expected",
                  Where(kKey), pairs.size(), Quoted(merge));
    }
    pairs.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  return pairs;
}

Result<void> GgufTokenizerLoader::LoadByteLevel(std::vector<Token> tokens) {
  constexpr std::string_view kPreKey = "tokenizer.ggml.pre";
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string_view> pre, metadata_.GetString(kPreKey));
  // Files from before the key: what llama.cpp, which wrote them, makes of their texts.
  const std::string_view pre_name = pre.value_or("default");
  Result<NamedPreTokenizer> named = MakeNamedPreTokenizer(pre_name);
  if (!named) return Fail(named.error().code, "{}: {}", Where(kPreKey), named.error().message);
  parts_.pre_tokenizer = std::move(named->pre_tokenizer);
  WEFT_ASSIGN_OR_RETURN(const MergePairs merges, ReadMerges());

  parts_.vocabulary =
      std::make_shared<Vocabulary>(std::move(tokens), vocab_size_, Spelling::kByteLevel);
  WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> unknown,
                        ReadId("tokenizer.ggml.unknown_token_id"));
  WEFT_ASSIGN_OR_RETURN(parts_.model, BpeModel::FromMerges(parts_.vocabulary, merges,
                                                           {.ignore_merges = named->ignore_merges,
                                                            .unknown = unknown},
                                                           Where("tokenizer.ggml.merges")));
  parts_.description =
      fmt::format("byte-level BPE ({}{})", pre_name, pre ? "" : ", the file names none");
  return SetSpecialTokens(named->adds_bos);
}

Result<void> GgufTokenizerLoader::LoadCharacters(std::vector<Token> tokens) {
  WEFT_ASSIGN_OR_RETURN(const MergePairs merges, ReadMerges());
  parts_.vocabulary =
      std::make_shared<Vocabulary>(std::move(tokens), vocab_size_, Spelling::kSentencePiece);
  WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> unknown,
                        ReadIdOrFind("tokenizer.ggml.unknown_token_id", "<unk>"));
  WEFT_ASSIGN_OR_RETURN(
      parts_.model,
      BpeModel::FromMerges(parts_.vocabulary, merges,
                           {.byte_fallback = true, .fuse_unknown = true, .unknown = unknown},
                           Where("tokenizer.ggml.merges")));
  parts_.normalizer.Add(MakeReplaceStep(" ", std::string(kSpaceSymbol)));
  parts_.description = "BPE (gemma4)";
  WEFT_RETURN_IF_ERROR(SetSpecialTokens(true));
  // The first files say that none is added, which was wrong of them.
  if (parts_.prefix.empty() && parts_.bos) parts_.prefix = {*parts_.bos};
  return {};
}

Result<void> GgufTokenizerLoader::LoadSentencePiece(std::vector<Token> tokens) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<float> scores, ReadScores(tokens.size()));
  parts_.vocabulary =
      std::make_shared<Vocabulary>(std::move(tokens), vocab_size_, Spelling::kSentencePiece);
  WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> unknown,
                        ReadIdOrFind("tokenizer.ggml.unknown_token_id", "<unk>"));
  parts_.model = BpeModel::FromScores(
      parts_.vocabulary, scores, {.byte_fallback = true, .fuse_unknown = true, .unknown = unknown});

  WEFT_ASSIGN_OR_RETURN(const bool removes_spaces,
                        ReadFlag("tokenizer.ggml.remove_extra_whitespaces", false));
  WEFT_ASSIGN_OR_RETURN(const bool adds_space, ReadFlag("tokenizer.ggml.add_space_prefix", true));
  if (removes_spaces) parts_.normalizer.Add(MakeCollapseSpacesStep());
  if (adds_space) parts_.normalizer.Add(MakePrependStep(" "));
  parts_.normalizer.Add(MakeReplaceStep(" ", std::string(kSpaceSymbol)));
  parts_.decode_drops_spaces = removes_spaces ? SIZE_MAX : adds_space ? 1 : 0;
  parts_.description = "SentencePiece BPE";
  return SetSpecialTokens(true);
}

Result<CharacterMap> GgufTokenizerLoader::ReadCharacterMap() const {
  constexpr std::string_view kKey = "tokenizer.ggml.precompiled_charsmap";
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t>* values, metadata_.GetInts(kKey));
  if (values == nullptr || values->empty()) return CharacterMap();
  std::string bytes;
  bytes.reserve(values->size());
  for (const int64_t value : *values) {  // int8 or uint8
    if (value < INT8_MIN || value > UINT8_MAX) {
      return Fail(ErrorCode::kCorrupt, "{}: element {} is {}, a byte expected", Where(kKey),
                  bytes.size(), value);
    }
    bytes.push_back(static_cast<char>(value));
  }
  Result<CharacterMap> map = CharacterMap::Parse(bytes);
  if (!map) return Fail(map.error().code, "{}: {}", metadata_.path(), map.error().message);
  return map;
}

// T5's and, with other special tokens, XLM-RoBERTa's. What the file leaves out is what llama.cpp,
// which wrote it, has then.
Result<void> GgufTokenizerLoader::LoadUnigram(std::vector<Token> tokens) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<float> scores, ReadScores(tokens.size()));
  parts_.vocabulary =
      std::make_shared<Vocabulary>(std::move(tokens), vocab_size_, Spelling::kSentencePiece);
  UnigramOptions options = {.byte_fallback = true};
  WEFT_ASSIGN_OR_RETURN(options.unknown, ReadIdOrFind("tokenizer.ggml.unknown_token_id", "<unk>"));
  std::vector<UnigramPiece> pieces;
  double lowest = 0.0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (parts_.vocabulary->Kind(id) != TokenKind::kNormal) continue;
    lowest = pieces.empty() ? scores[i] : std::min<double>(lowest, scores[i]);
    pieces.push_back({id, scores[i]});
  }
  options.unknown_score = lowest - kUnknownPenalty;
  parts_.model = std::make_unique<UnigramModel>(parts_.vocabulary, pieces, options);

  SentencePieceSpec spec;
  WEFT_ASSIGN_OR_RETURN(spec.character_map, ReadCharacterMap());
  WEFT_ASSIGN_OR_RETURN(spec.remove_extra_whitespaces,
                        ReadFlag("tokenizer.ggml.remove_extra_whitespaces", false));
  WEFT_ASSIGN_OR_RETURN(spec.add_dummy_prefix, ReadFlag("tokenizer.ggml.add_space_prefix", false));
  parts_.decode_drops_spaces = spec.remove_extra_whitespaces ? SIZE_MAX
                               : spec.add_dummy_prefix       ? 1
                                                             : 0;
  parts_.normalizer.Add(MakeSentencePieceStep(std::move(spec)));
  parts_.description = "SentencePiece Unigram";
  return SetSpecialTokens(false, true);
}

// BERT's, whose words begin with U+2581 here, while what continues them has no "##".
Result<void> GgufTokenizerLoader::LoadWordPiece(std::vector<Token> tokens) {
  parts_.vocabulary =
      std::make_shared<Vocabulary>(std::move(tokens), vocab_size_, Spelling::kSentencePiece);
  std::vector<ByteTrie::Entry> beginnings;
  std::vector<ByteTrie::Entry> continuations;
  for (size_t i = 0; i < parts_.vocabulary->tokens().size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    std::string_view text = parts_.vocabulary->Text(id);
    const TokenKind kind = parts_.vocabulary->Kind(id);
    if (kind == TokenKind::kControl || kind == TokenKind::kUnknown) continue;
    const bool begins_word = text.starts_with(kSpaceSymbol);
    if (begins_word) text.remove_prefix(kSpaceSymbol.size());
    if (text.empty() || ValidUtf8Prefix(text) != text.size()) continue;
    (begins_word ? beginnings : continuations).push_back({text, id});
  }
  WordPieceOptions options;
  WEFT_ASSIGN_OR_RETURN(options.unknown, ReadIdOrFind("tokenizer.ggml.unknown_token_id", "[UNK]"));
  parts_.model = std::make_unique<WordPieceModel>(beginnings, continuations, options);

  BertNormalizerOptions cleaning;
  WEFT_ASSIGN_OR_RETURN(cleaning.lowercase, ReadFlag("tokenizer.ggml.normalizer.lowercase", true));
  WEFT_ASSIGN_OR_RETURN(cleaning.strip_accents,
                        ReadFlag("tokenizer.ggml.normalizer.strip_accents", cleaning.lowercase));
  parts_.normalizer.Add(MakeBertStep(cleaning));
  AddBertStages(&parts_.pre_tokenizer);
  parts_.decode_drops_spaces = 1;
  parts_.description = "WordPiece";
  WEFT_RETURN_IF_ERROR(SetSpecialTokens(false));
  // Whatever the flags say, llama.cpp puts these two around a text.
  WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> cls,
                        ReadIdOrFind("tokenizer.ggml.cls_token_id", "[CLS]"));
  WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> sep,
                        ReadIdOrFind("tokenizer.ggml.seperator_token_id", "[SEP]"));
  if (!parts_.bos) parts_.bos = cls;
  parts_.prefix.clear();
  parts_.suffix.clear();
  if (parts_.bos) parts_.prefix = {*parts_.bos};
  if (sep) parts_.suffix = {*sep};
  parts_.pair = PairLayout{.before = parts_.prefix,
                           .between = parts_.suffix,
                           .after = parts_.suffix,
                           .second_type = parts_.suffix.size()};
  return {};
}

Result<void> GgufTokenizerLoader::SetSpecialTokens(bool adds_bos, bool adds_eos) {
  std::vector<SpecialToken> specials;
  const std::vector<Token>& tokens = parts_.vocabulary->tokens();
  for (size_t i = 0; i < tokens.size(); ++i) {
    const TokenKind kind = tokens[i].kind;
    const bool is_control = kind == TokenKind::kControl || kind == TokenKind::kUnknown;
    if (tokens[i].text.empty() || (!is_control && kind != TokenKind::kUserDefined)) continue;
    specials.push_back({.text = tokens[i].text,
                        .id = static_cast<TokenId>(i),
                        .control = is_control,
                        .strip_right = StripsRight(tokens[i].text)});
  }
  parts_.raw_specials = SpecialTokenMatcher(std::move(specials));

  WEFT_ASSIGN_OR_RETURN(parts_.bos, ReadIdOrFind("tokenizer.ggml.bos_token_id", "<s>"));
  WEFT_ASSIGN_OR_RETURN(parts_.eos, ReadIdOrFind("tokenizer.ggml.eos_token_id", "</s>"));
  WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> padding,
                        ReadId("tokenizer.ggml.padding_token_id"));
  static_cast<void>(padding);  // only checked
  std::vector<TokenId> ends;
  if (parts_.eos) ends.push_back(*parts_.eos);
  for (const std::string_view key :
       {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> end, ReadId(key));
    if (end) ends.push_back(*end);
  }
  parts_.end_tokens = EndTokens(*parts_.vocabulary, std::move(ends));

  const auto add = [&](std::string_view key, bool otherwise, std::optional<TokenId> id,
                       std::vector<TokenId>* ids) -> Result<void> {
    WEFT_ASSIGN_OR_RETURN(const bool adds, ReadFlag(key, otherwise));
    if (adds && id) ids->push_back(*id);
    if (adds && !id && metadata_.Contains(key)) {
      return Fail(ErrorCode::kCorrupt, "{} is true, but the file names no such token", Where(key));
    }
    return {};
  };
  WEFT_RETURN_IF_ERROR(add("tokenizer.ggml.add_bos_token", adds_bos, parts_.bos, &parts_.prefix));
  return add("tokenizer.ggml.add_eos_token", adds_eos, parts_.eos, &parts_.suffix);
}

// As llama.cpp's server puts a query and a document together: BOS, the one, EOS, the separator, the
// other, EOS. Two exceptions keep to what the model was trained with: files of XLM-RoBERTa from
// before add_sep_token, which have both BOS and EOS, part their texts by two tokens all the same;
// those of ModernBERT say add_sep_token, but their [SEP] is EOS already, and stands there once.
Result<void> GgufTokenizerLoader::SetPair() {
  WEFT_ASSIGN_OR_RETURN(std::optional<TokenId> sep, ReadId("tokenizer.ggml.seperator_token_id"));
  if (!sep) sep = parts_.eos;
  const bool is_unigram = metadata_.GetString("tokenizer.ggml.model").value() == "t5";
  const bool has_both = !parts_.prefix.empty() && !parts_.suffix.empty();
  WEFT_ASSIGN_OR_RETURN(const bool adds_sep,
                        ReadFlag("tokenizer.ggml.add_sep_token", is_unigram && has_both));
  PairLayout pair = {.before = parts_.prefix, .between = parts_.suffix, .after = parts_.suffix};
  const bool ends_in_sep = parts_.suffix.size() == 1 && sep == parts_.suffix.front();
  const bool is_bert = ends_in_sep && parts_.vocabulary->Text(*sep) == "[SEP]";
  if (adds_sep && sep && !is_bert) pair.between.push_back(*sep);
  parts_.pair = std::move(pair);
  return {};
}

// GGUF has no key for it. Phi-3's tokenizer.json says so of its tokens, and its template puts line
// ends behind them.
bool GgufTokenizerLoader::StripsRight(std::string_view text) const {
  const auto architecture = metadata_.GetString("general.architecture");
  const bool is_phi3 = architecture && (*architecture == "phi3" || *architecture == "phimoe");
  if (!is_phi3 || parts_.vocabulary->spelling() == Spelling::kByteLevel) return false;
  return text != "<unk>" && text != "<s>" && text != "<|endoftext|>";
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromGguf(const GgufMetadata& metadata,
                                                             int64_t vocab_size) {
  if (vocab_size <= 0 || vocab_size > INT32_MAX) {
    return Fail(ErrorCode::kInvalidArgument, "{}: vocabulary size {}, 1 to 2147483647 expected",
                metadata.path(), vocab_size);
  }
  return GgufTokenizerLoader(metadata, vocab_size).Load();
}

}  // namespace weft
