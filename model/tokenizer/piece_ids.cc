#include "model/tokenizer/piece_ids.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/quoted.h"
#include "model/tokenizer/json_reader.h"
#include "model/tokenizer/translation_languages.h"

namespace weft {
namespace {

// {"text": id, ...}
Result<std::vector<Token>> ReadIdsOfTexts(std::string_view text, const std::string& path,
                                          int64_t vocab_size) {
  WEFT_ASSIGN_OR_RETURN(const nlohmann::json root, ParseJson(text, path, kTokenizerJson));
  WEFT_RETURN_IF_ERROR(JsonView(root, path).ExpectObject());
  std::vector<Token> tokens;
  for (const auto& [spelling, value] : root.items()) {
    const JsonView view(value, path + ": " + Quoted(spelling));
    WEFT_ASSIGN_OR_RETURN(const int64_t id, view.Int());
    if (id < 0 || id >= vocab_size) {
      return Fail(ErrorCode::kCorrupt, "{} is {}, an id below {} expected", view.where(), id,
                  vocab_size);
    }
    const auto index = static_cast<size_t>(id);
    // Not more room than the file's own tokens have a use for, with some slack for gaps.
    if (index > 2 * root.size() + 65536) {
      return Fail(ErrorCode::kCorrupt, "{} is {}, in a file of {} tokens", view.where(), id,
                  root.size());
    }
    if (index >= tokens.size()) tokens.resize(index + 1, {"", TokenKind::kUnused});
    if (!tokens[index].text.empty()) {
      return Fail(ErrorCode::kCorrupt, "{} has the id {}, which is that of {}", view.where(), id,
                  Quoted(tokens[index].text));
    }
    tokens[index] = {spelling, TokenKind::kNormal};
  }
  return tokens;
}

// Gives the token `text` its kind. False if there is none.
bool SetTokenKind(std::string_view text, TokenKind kind, std::vector<Token>* tokens) {
  const auto found = std::ranges::find(*tokens, text, &Token::text);
  if (found == tokens->end()) return false;
  found->kind = kind;
  return true;
}

// The special tokens that the classes have in common.
Result<PieceIds> ReadCommonIds(std::string_view text, const std::string& path,
                               const SpecialTokenHints& hints, int64_t vocab_size) {
  PieceIds ids;
  WEFT_ASSIGN_OR_RETURN(ids.tokens, ReadIdsOfTexts(text, path, vocab_size));
  ids.unknown = hints.unk_text.value_or("<unk>");
  ids.eos = hints.eos_text.value_or("</s>");
  SetTokenKind(hints.pad_text.value_or("<pad>"), TokenKind::kControl, &ids.tokens);
  for (const auto& [special, kind] :
       {std::pair{ids.eos, TokenKind::kControl}, std::pair{ids.unknown, TokenKind::kUnknown}}) {
    if (SetTokenKind(special, kind, &ids.tokens)) continue;
    return Fail(ErrorCode::kCorrupt, "{}: the special token {} is not there", path,
                Quoted(special));
  }
  return ids;
}

}  // namespace

Result<PieceIds> ReadMarianIds(std::string_view text, const std::string& path,
                               const SpecialTokenHints& hints, int64_t vocab_size) {
  if (hints.separate_vocabularies) {
    return Fail(ErrorCode::kUnsupported,
                "{}: tokenizer_config.json says separate_vocabs, a vocabulary of its own for the "
                "target, which is not supported",
                path);
  }
  WEFT_ASSIGN_OR_RETURN(PieceIds ids, ReadCommonIds(text, path, hints, vocab_size));
  ids.has_codes = true;
  return ids;
}

Result<PieceIds> ReadM2M100Ids(std::string_view text, const std::string& path,
                               const SpecialTokenHints& hints, int64_t vocab_size) {
  if (!hints.tokenizer_class.empty() && hints.tokenizer_class != "M2M100Tokenizer") {
    return Fail(ErrorCode::kUnsupported,
                "{}: read for the class M2M100Tokenizer, tokenizer_config.json names {}; put a "
                "tokenizer.json beside it",
                path, Quoted(hints.tokenizer_class));
  }
  std::span<const std::string_view> languages = kM2M100Languages;
  if (hints.language_codes == "wmt21") {
    languages = kWmt21Languages;
  } else if (hints.language_codes != "m2m100") {
    return Fail(ErrorCode::kUnsupported, "{}: language_codes is {}, expected 'm2m100' or 'wmt21'",
                path, Quoted(hints.language_codes));
  }
  WEFT_ASSIGN_OR_RETURN(PieceIds ids, ReadCommonIds(text, path, hints, vocab_size));
  if (std::ssize(ids.tokens) + std::ssize(languages) > vocab_size) {
    return Fail(ErrorCode::kCorrupt,
                "{}: {} tokens and {} languages, the model's vocabulary has {}", path,
                ids.tokens.size(), languages.size(), vocab_size);
  }
  const std::string source = hints.source_language.value_or("en");
  if (std::ranges::find(languages, source) == languages.end()) {
    return Fail(ErrorCode::kCorrupt, "{}: src_lang is {}, none of the {} languages", path,
                Quoted(source), languages.size());
  }
  ids.before = "__" + source + "__";
  ids.bos = hints.bos_text.value_or("<s>");
  if (!SetTokenKind(ids.bos, TokenKind::kControl, &ids.tokens)) ids.bos.clear();
  for (const std::string_view language : languages) {
    ids.tokens.push_back({"__" + std::string(language) + "__", TokenKind::kControl});
  }
  return ids;
}

}  // namespace weft
