// The model section of tokenizer.json: BPE, Unigram and WordPiece.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/quoted.h"
#include "base/utf8.h"
#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/tokenizer_json_loader.h"
#include "model/tokenizer/wordpiece_model.h"

namespace weft {
namespace {

using MergePairs = std::vector<std::pair<std::string_view, std::string_view>>;

// Of Unigram and WordPiece, whose time grows with the longest spelling.
constexpr size_t kMaxPieceTextBytes = 1024;
constexpr int64_t kMaxCharactersPerWord = 1 << 20;

Result<void> ExpectNoAffix(const JsonView& affix) {
  WEFT_ASSIGN_OR_RETURN(const std::string_view text, affix.StringOr(""));
  if (text.empty()) return {};
  return Fail(ErrorCode::kUnsupported, "{} is {}, which is not supported", affix.where(),
              Quoted(text));
}

Result<MergePairs> ReadMerges(const JsonView& section) {
  WEFT_RETURN_IF_ERROR(section.ExpectArray());
  MergePairs merges;
  merges.reserve(section.value().size());
  for (const nlohmann::json& merge : section.value()) {
    if (const auto* text = merge.get_ptr<const std::string*>()) {
      const size_t space = text->find(' ');
      if (space != std::string::npos && text->find(' ', space + 1) == std::string::npos) {
        merges.emplace_back(std::string_view(*text).substr(0, space),
                            std::string_view(*text).substr(space + 1));
        continue;
      }
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      merges.emplace_back(merge[0].get_ref<const std::string&>(),
                          merge[1].get_ref<const std::string&>());
      continue;
    }
    return Fail(ErrorCode::kCorrupt, "{}[{}] is not a pair of spellings", section.where(),
                merges.size());
  }
  return merges;
}

}  // namespace

Result<void> TokenizerJsonLoader::ReadModelType() {
  WEFT_RETURN_IF_ERROR(root_.ExpectObject());
  const JsonView model = root_["model"];
  WEFT_RETURN_IF_ERROR(model.ExpectObject());
  WEFT_ASSIGN_OR_RETURN(const std::string_view type, model["type"].StringOr("BPE"));
  if (type == "BPE") {
    model_type_ = ModelType::kBpe;
  } else if (type == "Unigram") {
    model_type_ = ModelType::kUnigram;
  } else if (type == "WordPiece") {
    model_type_ = ModelType::kWordPiece;
  } else {
    return Fail(ErrorCode::kUnsupported,
                "{} is {}, which is not supported; expected \"BPE\", \"Unigram\" or \"WordPiece\"",
                model["type"].where(), Quoted(type));
  }
  WEFT_ASSIGN_OR_RETURN(byte_fallback_, model["byte_fallback"].BoolOr(false));
  return {};
}

Result<void> TokenizerJsonLoader::ReadVocabulary() {
  const JsonView vocabulary = root_["model"]["vocab"];
  max_tokens_ = 2 * (vocabulary.value().size() + root_["added_tokens"].value().size()) + 65536;
  return model_type_ == ModelType::kUnigram ? ReadScoredVocabulary(vocabulary)
                                            : ReadVocabularyObject(vocabulary);
}

// {"the": 5, ...}
Result<void> TokenizerJsonLoader::ReadVocabularyObject(const JsonView& vocabulary) {
  WEFT_RETURN_IF_ERROR(vocabulary.ExpectObject());
  for (const auto& [text, id] : vocabulary.value().items()) {
    if (!id.is_number_integer()) {
      return Fail(ErrorCode::kCorrupt, "{}: the id of {} is {}, an integer expected",
                  vocabulary.where(), Quoted(text), id.type_name());
    }
    const bool is_byte = byte_fallback_ && ByteOfFallbackSpelling(text).has_value();
    WEFT_RETURN_IF_ERROR(Place(vocabulary, text, id.get<int64_t>(),
                               is_byte ? TokenKind::kByte : TokenKind::kNormal));
  }
  return {};
}

// [["the", -5.5], ...]: a token's id is its place.
Result<void> TokenizerJsonLoader::ReadScoredVocabulary(const JsonView& vocabulary) {
  WEFT_RETURN_IF_ERROR(vocabulary.ExpectArray());
  const nlohmann::json& entries = vocabulary.value();
  pieces_.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const nlohmann::json& entry = entries[i];
    const bool is_pair =
        entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number();
    const double score = is_pair ? entry[1].get<double>() : NAN;
    if (!std::isfinite(score)) {
      return Fail(ErrorCode::kCorrupt, "{}[{}] is not a spelling and its score", vocabulary.where(),
                  i);
    }
    const auto& text = entry[0].get_ref<const std::string&>();
    if (text.size() > kMaxPieceTextBytes) {
      return Fail(ErrorCode::kCorrupt, "{}[{}] has {} bytes, at most {} are accepted",
                  vocabulary.where(), i, text.size(), kMaxPieceTextBytes);
    }
    const bool is_byte = byte_fallback_ && ByteOfFallbackSpelling(text).has_value();
    WEFT_RETURN_IF_ERROR(Place(vocabulary, text, static_cast<int64_t>(i),
                               is_byte ? TokenKind::kByte : TokenKind::kNormal));
    pieces_.push_back({static_cast<TokenId>(i), score});
  }
  return {};
}

Result<void> TokenizerJsonLoader::MakeVocabulary() {
  Spelling spelling = is_byte_level_ ? Spelling::kByteLevel : Spelling::kSentencePiece;
  if (model_type_ != ModelType::kBpe && is_byte_level_) {
    return Fail(ErrorCode::kUnsupported,
                "{}ByteLevel is not supported with a model that is not BPE", root_.where());
  }
  if (model_type_ == ModelType::kWordPiece) {
    spelling = cleans_up_ ? Spelling::kWordPieceClean : Spelling::kWordPiece;
    parts_.decode_drops_spaces = 1;
  }
  parts_.vocabulary = std::make_shared<Vocabulary>(std::move(tokens_), vocab_size_, spelling);
  return {};
}

Result<void> TokenizerJsonLoader::MakeModel() {
  switch (model_type_) {
    case ModelType::kBpe:
      return MakeBpe();
    case ModelType::kUnigram:
      return MakeUnigram();
    case ModelType::kWordPiece:
      return MakeWordPiece();
  }
  return {};
}

// unk_token, a spelling.
Result<std::optional<TokenId>> TokenizerJsonLoader::ReadUnknownToken() const {
  const JsonView unknown = root_["model"]["unk_token"];
  if (unknown.is_null()) return std::nullopt;
  WEFT_ASSIGN_OR_RETURN(const std::string_view text, unknown.String());
  const std::optional<TokenId> id = parts_.vocabulary->Find(text);
  if (id) return id;
  return Fail(ErrorCode::kCorrupt, "{} is {}, which is not in the vocabulary", unknown.where(),
              Quoted(text));
}

Result<void> TokenizerJsonLoader::MakeBpe() {
  const JsonView model = root_["model"];
  WEFT_RETURN_IF_ERROR(ExpectNoAffix(model["continuing_subword_prefix"]));
  WEFT_RETURN_IF_ERROR(ExpectNoAffix(model["end_of_word_suffix"]));
  BpeOptions options;
  options.byte_fallback = byte_fallback_;
  WEFT_ASSIGN_OR_RETURN(options.fuse_unknown, model["fuse_unk"].BoolOr(false));
  WEFT_ASSIGN_OR_RETURN(options.ignore_merges, model["ignore_merges"].BoolOr(false));
  WEFT_ASSIGN_OR_RETURN(options.unknown, ReadUnknownToken());
  WEFT_ASSIGN_OR_RETURN(const MergePairs merges, ReadMerges(model["merges"]));
  WEFT_ASSIGN_OR_RETURN(parts_.model, BpeModel::FromMerges(parts_.vocabulary, merges, options,
                                                           model["merges"].where()));
  parts_.description = is_byte_level_ ? "byte-level BPE (tokenizer.json)" : "BPE (tokenizer.json)";
  return {};
}

Result<void> TokenizerJsonLoader::MakeUnigram() {
  UnigramOptions options;
  options.byte_fallback = byte_fallback_;
  const JsonView unknown = root_["model"]["unk_id"];
  if (!unknown.is_null()) {
    WEFT_ASSIGN_OR_RETURN(const int64_t id, unknown.Int());
    if (id < 0 || id >= static_cast<int64_t>(pieces_.size())) {
      return Fail(ErrorCode::kCorrupt, "{} is {}, a token below {} expected", unknown.where(), id,
                  pieces_.size());
    }
    options.unknown = static_cast<TokenId>(id);
  }
  double lowest = pieces_.empty() ? 0.0 : std::numeric_limits<double>::max();
  for (const UnigramPiece& piece : pieces_) lowest = std::min(lowest, piece.score);
  options.unknown_score = lowest - kUnknownPenalty;
  // The reference has special tokens among the pieces, but finds them in the text before. Where
  // they shall not be found, they must not come out of the model either.
  std::erase_if(pieces_, [&](const UnigramPiece& piece) {
    return parts_.vocabulary->Kind(piece.id) == TokenKind::kControl;
  });
  parts_.model = std::make_unique<UnigramModel>(parts_.vocabulary, pieces_, options);
  parts_.description = "Unigram (tokenizer.json)";
  return {};
}

Result<void> TokenizerJsonLoader::MakeWordPiece() {
  const JsonView model = root_["model"];
  const JsonView prefix = model["continuing_subword_prefix"];
  WEFT_ASSIGN_OR_RETURN(const std::string_view prefix_text, prefix.StringOr(kContinuationPrefix));
  if (prefix_text != kContinuationPrefix) {
    return Fail(ErrorCode::kUnsupported, "{} is {}, which is not supported; expected {}",
                prefix.where(), Quoted(prefix_text), Quoted(kContinuationPrefix));
  }
  WordPieceOptions options;
  WEFT_ASSIGN_OR_RETURN(options.unknown, ReadUnknownToken());
  const JsonView limit = model["max_input_chars_per_word"];
  if (!limit.is_null()) {
    WEFT_ASSIGN_OR_RETURN(const int64_t characters, limit.Int());
    if (characters < 0 || characters > kMaxCharactersPerWord) {
      return Fail(ErrorCode::kCorrupt, "{} is {}, 0 to {} expected", limit.where(), characters,
                  kMaxCharactersPerWord);
    }
    options.max_characters = static_cast<size_t>(characters);
  }
  std::vector<ByteTrie::Entry> beginnings;
  std::vector<ByteTrie::Entry> continuations;
  const std::vector<Token>& tokens = parts_.vocabulary->tokens();
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view text = tokens[i].text;
    // Special tokens are found in the text before, or not at all.
    if (text.empty() || tokens[i].kind == TokenKind::kControl) continue;
    if (text.size() > kMaxPieceTextBytes) {
      return Fail(ErrorCode::kCorrupt, "{}: token {} has {} bytes, at most {} are accepted",
                  model["vocab"].where(), i, text.size(), kMaxPieceTextBytes);
    }
    beginnings.push_back({text, static_cast<int32_t>(i)});
    if (text.starts_with(prefix_text) && text.size() > prefix_text.size()) {
      continuations.push_back({text.substr(prefix_text.size()), static_cast<int32_t>(i)});
    }
  }
  parts_.model = std::make_unique<WordPieceModel>(beginnings, continuations, options);
  parts_.description = "WordPiece (tokenizer.json)";
  return {};
}

}  // namespace weft
