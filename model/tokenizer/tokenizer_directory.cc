// A tokenizer from a Hugging Face directory: tokenizer.json, or else what older tools left there,
// and what the files beside it say about special tokens.
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/json_limits.h"
#include "base/quoted.h"
#include "base/regular_file.h"
#include "model/tokenizer/bert_files.h"
#include "model/tokenizer/json_reader.h"
#include "model/tokenizer/piece_ids.h"
#include "model/tokenizer/tiktoken_files.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/tokenizer_model.h"

namespace weft {
namespace {

// A tokenizer.model of 250,000 tokens has 5 MB.
constexpr size_t kMaxModelBytes = 256 << 20;

// A token is given by its text or as {"content": its text, ...}; null means there is none.
Result<std::optional<std::string>> ReadTokenText(const JsonView& section) {
  if (section.is_null()) return std::nullopt;
  WEFT_ASSIGN_OR_RETURN(const std::string_view text, section.value().is_object()
                                                         ? section["content"].String()
                                                         : section.String());
  return std::string(text);
}

Result<std::optional<bool>> ReadFlag(const JsonView& section) {
  if (section.is_null()) return std::nullopt;
  WEFT_ASSIGN_OR_RETURN(const bool flag, section.BoolOr(false));
  return flag;
}

// {"32000": {"content": "<|im_start|>", "special": true, ...}, ...}
Result<void> ReadAddedTokens(const JsonView& section, std::vector<AddedToken>* added_tokens) {
  if (section.is_null()) return {};
  WEFT_RETURN_IF_ERROR(section.ExpectObject());
  for (const auto& [key, entry] : section.value().items()) {
    AddedToken added;
    const char* key_end = key.data() + key.size();
    if (std::from_chars(key.data(), key_end, added.id).ptr != key_end || key.empty()) {
      return Fail(ErrorCode::kCorrupt, "{} has the key {}, an id expected", section.where(),
                  Quoted(key));
    }
    const JsonView view = section[key];
    WEFT_ASSIGN_OR_RETURN(added.text, view["content"].String());
    WEFT_ASSIGN_OR_RETURN(added.is_special, view["special"].BoolOr(false));
    added_tokens->push_back(std::move(added));
  }
  return {};
}

// eos_token_id: a number, a list of numbers or null; -1 means none.
Result<void> AppendIds(const JsonView& section, std::vector<int64_t>* ids) {
  if (section.is_null()) return {};
  if (!section.value().is_array()) {
    WEFT_ASSIGN_OR_RETURN(const int64_t id, section.Int());
    if (id != -1) ids->push_back(id);
    return {};
  }
  for (size_t i = 0; i < section.value().size(); ++i) {
    WEFT_ASSIGN_OR_RETURN(const int64_t id, section.Element(i).Int());
    ids->push_back(id);
  }
  return {};
}

Result<void> ReadTokenizerConfig(const std::string& path, SpecialTokenHints* hints) {
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                        ReadFileIfPresent(path, kConfigJson.max_bytes));
  if (!text) return {};
  WEFT_ASSIGN_OR_RETURN(const nlohmann::json root, ParseJson(*text, path, kConfigJson));
  const JsonView view(root, path + ": ");
  WEFT_ASSIGN_OR_RETURN(hints->bos_text, ReadTokenText(view["bos_token"]));
  WEFT_ASSIGN_OR_RETURN(hints->eos_text, ReadTokenText(view["eos_token"]));
  WEFT_ASSIGN_OR_RETURN(hints->adds_bos, ReadFlag(view["add_bos_token"]));
  WEFT_ASSIGN_OR_RETURN(hints->adds_eos, ReadFlag(view["add_eos_token"]));
  WEFT_ASSIGN_OR_RETURN(hints->tokenizer_class, view["tokenizer_class"].StringOr(""));
  WEFT_ASSIGN_OR_RETURN(hints->adds_prefix_space, view["add_prefix_space"].BoolOr(false));
  for (const char* const key : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
    WEFT_ASSIGN_OR_RETURN(std::optional<std::string> special, ReadTokenText(view[key]));
    if (special) hints->special_texts.push_back(*std::move(special));
  }
  WEFT_ASSIGN_OR_RETURN(hints->unk_text, ReadTokenText(view["unk_token"]));
  WEFT_ASSIGN_OR_RETURN(hints->pad_text, ReadTokenText(view["pad_token"]));
  WEFT_ASSIGN_OR_RETURN(hints->cls_text, ReadTokenText(view["cls_token"]));
  WEFT_ASSIGN_OR_RETURN(hints->sep_text, ReadTokenText(view["sep_token"]));
  WEFT_ASSIGN_OR_RETURN(hints->mask_text, ReadTokenText(view["mask_token"]));
  WEFT_ASSIGN_OR_RETURN(hints->lower_case, view["do_lower_case"].BoolOr(true));
  WEFT_ASSIGN_OR_RETURN(hints->strip_accents, ReadFlag(view["strip_accents"]));
  WEFT_ASSIGN_OR_RETURN(hints->keep_accents, view["keep_accents"].BoolOr(false));
  WEFT_ASSIGN_OR_RETURN(hints->tokenize_chinese_chars, view["tokenize_chinese_chars"].BoolOr(true));
  if (!view["src_lang"].is_null()) {
    WEFT_ASSIGN_OR_RETURN(hints->source_language, view["src_lang"].String());
  }
  WEFT_ASSIGN_OR_RETURN(hints->language_codes, view["language_codes"].StringOr("m2m100"));
  WEFT_ASSIGN_OR_RETURN(hints->legacy, view["legacy_behaviour"].BoolOr(false));
  WEFT_ASSIGN_OR_RETURN(hints->separate_vocabularies, view["separate_vocabs"].BoolOr(false));
  if (!view["extra_ids"].is_null()) {
    WEFT_ASSIGN_OR_RETURN(hints->extra_ids, view["extra_ids"].Int());
  }
  return ReadAddedTokens(view["added_tokens_decoder"], &hints->added_tokens);
}

// generation_config.json and config.json name tokens by id.
Result<void> ReadIds(const std::string& path, SpecialTokenHints* hints) {
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                        ReadFileIfPresent(path, kConfigJson.max_bytes));
  if (!text) return {};
  WEFT_ASSIGN_OR_RETURN(const nlohmann::json root, ParseJson(*text, path, kConfigJson));
  const JsonView view(root, path + ": ");
  const JsonView bos = view["bos_token_id"];
  if (!hints->bos_id && !bos.is_null()) {
    WEFT_ASSIGN_OR_RETURN(const int64_t id, bos.Int());
    if (id != -1) hints->bos_id = id;
  }
  return AppendIds(view["eos_token_id"], &hints->eos_ids);
}

// Files that hold less than a tokenizer.json, completed to one; nullopt: there are none.
Result<std::optional<nlohmann::json>> ReadOtherFiles(const std::string& directory,
                                                     int64_t vocab_size, SpecialTokenHints& hints) {
  const auto read = [&](std::string_view name) {
    return ReadFileIfPresent(fmt::format("{}/{}", directory, name), kTokenizerJson.max_bytes);
  };
  const std::string tekken_path = directory + "/tekken.json";
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> tekken, read("tekken.json"));
  if (tekken) return ReadTekken(*tekken, tekken_path, hints);
  for (const std::string_view name : {"tiktoken.model", "hy.tiktoken"}) {
    WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> ranks, read(name));
    if (!ranks) continue;
    return ReadTiktoken(*ranks, fmt::format("{}/{}", directory, name), vocab_size, hints);
  }
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> lines, read("vocab.txt"));
  if (lines) return ReadBertVocabulary(*lines, directory + "/vocab.txt", hints);
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> vocabulary, read("vocab.json"));
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> merges, read("merges.txt"));
  if (!vocabulary || !merges) return std::nullopt;
  return ReadGpt2Files(*vocabulary, directory + "/vocab.json", *merges, directory + "/merges.txt",
                       hints);
}

// A SentencePiece file and the vocab.json that has its pieces' ids: Marian's, or M2M100's; null:
// neither is there.
Result<std::shared_ptr<const Tokenizer>> LoadPieceIds(const std::string& directory,
                                                      const SpecialTokenHints& hints,
                                                      int64_t vocab_size) {
  const std::string ids_path = directory + "/vocab.json";
  for (const auto& [name, read_ids] : {std::pair{"source.spm", &ReadMarianIds},
                                       std::pair{"sentencepiece.bpe.model", &ReadM2M100Ids}}) {
    const std::string model_path = fmt::format("{}/{}", directory, name);
    WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> model,
                          ReadFileIfPresent(model_path, kMaxModelBytes));
    if (!model) continue;
    WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                          ReadFileIfPresent(ids_path, kTokenizerJson.max_bytes));
    if (!text) break;
    WEFT_ASSIGN_OR_RETURN(PieceIds ids, read_ids(*text, ids_path, hints, vocab_size));
    return LoadTokenizerModel(*model, model_path, hints, vocab_size, std::move(ids));
  }
  return nullptr;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromDirectory(const std::string& directory,
                                                                  int64_t vocab_size) {
  if (vocab_size <= 0 || vocab_size > INT32_MAX) {
    return Fail(ErrorCode::kInvalidArgument, "{}: vocabulary size {}, 1 to 2147483647 expected",
                directory, vocab_size);
  }
  SpecialTokenHints hints;
  WEFT_RETURN_IF_ERROR(ReadTokenizerConfig(directory + "/tokenizer_config.json", &hints));
  WEFT_RETURN_IF_ERROR(ReadIds(directory + "/generation_config.json", &hints));
  WEFT_RETURN_IF_ERROR(ReadIds(directory + "/config.json", &hints));

  const std::string json_path = directory + "/tokenizer.json";
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> json,
                        ReadFileIfPresent(json_path, kTokenizerJson.max_bytes));
  if (json) return LoadTokenizerJson(*json, json_path, hints, vocab_size);
  WEFT_ASSIGN_OR_RETURN(const std::optional<nlohmann::json> other,
                        ReadOtherFiles(directory, vocab_size, hints));
  if (other) return LoadTokenizerValue(*other, directory, hints, vocab_size);
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<const Tokenizer> named,
                        LoadPieceIds(directory, hints, vocab_size));
  if (named) return named;
  for (const char* const name : {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model"}) {
    const std::string model_path = fmt::format("{}/{}", directory, name);
    WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> model,
                          ReadFileIfPresent(model_path, kMaxModelBytes));
    if (model) return LoadTokenizerModel(*model, model_path, hints, vocab_size);
  }
  return Fail(ErrorCode::kNotFound,
              "{}: no tokenizer is there: tokenizer.json, tokenizer.model, spiece.model, "
              "sentencepiece.bpe.model, tekken.json, tiktoken.model, hy.tiktoken, vocab.txt, "
              "or vocab.json with merges.txt or source.spm",
              directory);
}

}  // namespace weft
