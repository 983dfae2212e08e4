#include "model/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <utility>

#include "base/quoted.h"
#include "model/tokenizer/tokenizer_json_loader.h"

namespace weft {
namespace {

constexpr size_t kMaxTokenTextBytes = 1 << 16;

}  // namespace

Result<std::shared_ptr<const Tokenizer>> TokenizerJsonLoader::Load() {
  WEFT_RETURN_IF_ERROR(ReadModelType());
  WEFT_ASSIGN_OR_RETURN(parts_.normalizer, ReadNormalizer(root_["normalizer"]));
  WEFT_ASSIGN_OR_RETURN(PreTokenizerSection section, ReadPreTokenizer(root_["pre_tokenizer"]));
  parts_.pre_tokenizer = std::move(section.pre_tokenizer);
  is_byte_level_ = section.is_byte_level;
  WEFT_RETURN_IF_ERROR(ReadDecoder(root_["decoder"], 0));
  WEFT_RETURN_IF_ERROR(ReadVocabulary());
  WEFT_RETURN_IF_ERROR(ReadAddedTokens());
  WEFT_RETURN_IF_ERROR(MakeVocabulary());
  parts_.raw_specials = SpecialTokenMatcher(std::move(raw_specials_));
  parts_.normalized_specials = SpecialTokenMatcher(std::move(normalized_specials_));
  WEFT_RETURN_IF_ERROR(MakeModel());
  WEFT_RETURN_IF_ERROR(ReadPostProcessor(root_["post_processor"], 0));
  WEFT_RETURN_IF_ERROR(SetSpecialTokens());
  return MakeTokenizer(std::move(parts_));
}

Result<void> TokenizerJsonLoader::Place(const JsonView& where, std::string_view text, int64_t id,
                                        TokenKind kind) {
  if (id < 0 || id >= vocab_size_) {
    return Fail(ErrorCode::kCorrupt, "{}: token {} has id {}, 0 to {} expected", where.where(),
                Quoted(text), id, vocab_size_ - 1);
  }
  if (text.empty() || text.size() > kMaxTokenTextBytes) {
    return Fail(ErrorCode::kCorrupt, "{}: token {} has {} bytes, 1 to {} expected", where.where(),
                id, text.size(), kMaxTokenTextBytes);
  }
  const auto index = static_cast<size_t>(id);
  if (index >= max_tokens_) {
    return Fail(ErrorCode::kCorrupt, "{}: token {} has id {}, far above the number of tokens",
                where.where(), Quoted(text), id);
  }
  if (index >= tokens_.size()) tokens_.resize(index + 1, {"", TokenKind::kUnused});
  Token& token = tokens_[index];
  if (!token.text.empty() && token.text != text) {
    return Fail(ErrorCode::kCorrupt, "{}: id {} is both {} and {}", where.where(), id,
                Quoted(token.text), Quoted(text));
  }
  token = {std::string(text), kind};
  return {};
}

Result<void> TokenizerJsonLoader::ReadAddedTokens() {
  const JsonView added = root_["added_tokens"];
  if (added.is_null()) return {};
  WEFT_RETURN_IF_ERROR(added.ExpectArray());
  for (size_t i = 0; i < added.value().size(); ++i) {
    const JsonView entry = added.Element(i);
    SpecialToken special;
    WEFT_ASSIGN_OR_RETURN(const std::string_view content, entry["content"].String());
    WEFT_ASSIGN_OR_RETURN(const int64_t id, entry["id"].Int());
    WEFT_ASSIGN_OR_RETURN(special.control, entry["special"].BoolOr(false));
    WEFT_ASSIGN_OR_RETURN(special.single_word, entry["single_word"].BoolOr(false));
    WEFT_ASSIGN_OR_RETURN(special.strip_left, entry["lstrip"].BoolOr(false));
    WEFT_ASSIGN_OR_RETURN(special.strip_right, entry["rstrip"].BoolOr(false));
    WEFT_ASSIGN_OR_RETURN(const bool normalized, entry["normalized"].BoolOr(!special.control));
    if (content.empty()) continue;  // matches nothing
    // Gemma 3 1B's has the token of images that larger ones of the family take: a text here.
    if (id >= vocab_size_) continue;
    WEFT_RETURN_IF_ERROR(
        Place(entry, content, id, special.control ? TokenKind::kControl : TokenKind::kUserDefined));
    special.id = static_cast<TokenId>(id);
    WEFT_ASSIGN_OR_RETURN(special.text,
                          normalized ? Normalized(entry, content) : std::string(content));
    if (special.text.empty()) continue;
    (normalized ? normalized_specials_ : raw_specials_).push_back(std::move(special));
  }
  return {};
}

Result<std::string> TokenizerJsonLoader::Normalized(const JsonView& where,
                                                    std::string_view content) {
  std::optional<std::string> text = parts_.normalizer.Apply(content, true, special_bytes_left_);
  if (!text) {
    return Fail(ErrorCode::kCorrupt,
                "{}: with token {} the normalizer has made more than {} bytes of the added tokens",
                where.where(), Quoted(content), kMaxSpecialBytes);
  }
  special_bytes_left_ -= text->size();
  return *std::move(text);
}

Result<std::optional<TokenId>> TokenizerJsonLoader::Resolve(const std::optional<std::string>& text,
                                                            std::optional<int64_t> id,
                                                            std::string_view name) const {
  if (text) {
    const std::optional<TokenId> found = parts_.vocabulary->Find(*text);
    if (found) return found;
    return Fail(ErrorCode::kCorrupt, "{}: {} is not in the vocabulary", name, Quoted(*text));
  }
  if (!id) return std::nullopt;
  if (*id < 0 || *id >= vocab_size_) {
    return Fail(ErrorCode::kCorrupt, "{}: {} is {}, a token below {} expected", root_.where(), name,
                *id, vocab_size_);
  }
  return static_cast<TokenId>(*id);
}

Result<void> TokenizerJsonLoader::SetSpecialTokens() {
  WEFT_ASSIGN_OR_RETURN(parts_.bos,
                        Resolve(hints_.bos_text, hints_.bos_id, root_["bos_token"].where()));
  WEFT_ASSIGN_OR_RETURN(parts_.eos,
                        Resolve(hints_.eos_text, std::nullopt, root_["eos_token"].where()));
  if (!parts_.bos && !parts_.prefix.empty()) parts_.bos = parts_.prefix.front();
  std::vector<TokenId> ends;
  for (const int64_t declared : hints_.eos_ids) {
    WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> id,
                          Resolve(std::nullopt, declared, root_["eos_token_id"].where()));
    ends.push_back(*id);
  }
  if (!parts_.eos && !ends.empty()) parts_.eos = ends.front();
  if (parts_.eos) ends.push_back(*parts_.eos);
  parts_.end_tokens = EndTokens(*parts_.vocabulary, std::move(ends));
  // A template says what is added; without one, tokenizer_config.json may.
  if (parts_.prefix.empty() && parts_.suffix.empty()) {
    if (hints_.adds_bos.value_or(false) && parts_.bos) parts_.prefix = {*parts_.bos};
    if (hints_.adds_eos.value_or(false) && parts_.eos) parts_.suffix = {*parts_.eos};
    if (!has_template_ || !parts_.prefix.empty() || !parts_.suffix.empty()) {
      parts_.pair = PairOfSingles(parts_);
    }
  }
  return {};
}

Result<std::shared_ptr<const Tokenizer>> LoadTokenizerJson(std::string_view text,
                                                           const std::string& path,
                                                           const SpecialTokenHints& hints,
                                                           int64_t vocab_size) {
  WEFT_ASSIGN_OR_RETURN(const nlohmann::json root, ParseJson(text, path, kTokenizerJson));
  return LoadTokenizerValue(root, path, hints, vocab_size);
}

Result<std::shared_ptr<const Tokenizer>> LoadTokenizerValue(const nlohmann::json& root,
                                                            const std::string& path,
                                                            const SpecialTokenHints& hints,
                                                            int64_t vocab_size) {
  return TokenizerJsonLoader(JsonView(root, path + ": "), hints, vocab_size).Load();
}

}  // namespace weft
