#include "model/tokenizer/bert_files.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/quoted.h"
#include "base/utf8.h"
#include "model/tokenizer/json_reader.h"
#include "model/tokenizer/vocabulary.h"

namespace weft {
namespace {

using nlohmann::json;

// A class that reads such files: its special tokens where no file names them, and whether two texts
// are put together as RoBERTa's are.
struct VocabularyClass {
  std::string_view name;
  std::string_view pad = "[PAD]";
  std::string_view cls = "[CLS]";
  std::string_view sep = "[SEP]";
  std::string_view mask = "[MASK]";
  bool is_roberta = false;
};

// But for MPNet's, they differ from BertTokenizer in their names alone. Old directories name none.
constexpr auto kVocabularyClasses = std::to_array<VocabularyClass>({
    {""},
    {"BertTokenizer"},
    {"BertTokenizerFast"},
    {"DistilBertTokenizer"},
    {"DistilBertTokenizerFast"},
    {"ElectraTokenizer"},
    {"ElectraTokenizerFast"},
    {"LayoutLMTokenizer"},
    {"LayoutLMTokenizerFast"},
    {"MobileBertTokenizer"},
    {"MobileBertTokenizerFast"},
    {"RetriBertTokenizer"},
    {"RetriBertTokenizerFast"},
    {"MPNetTokenizer", "<pad>", "<s>", "</s>", "<mask>", true},
    {"MPNetTokenizerFast", "<pad>", "<s>", "</s>", "<mask>", true},
});

// Of several lines with one token, the last counts.
Result<json> ReadTokenLines(std::string_view text, const std::string& path) {
  json vocabulary = json::object();
  int64_t id = 0;
  for (size_t begin = 0; begin < text.size(); ++id) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (ValidUtf8Prefix(line) != line.size()) {
      return Fail(ErrorCode::kCorrupt, "{}: line {} is not UTF-8", path, id + 1);
    }
    if (!line.empty()) vocabulary[std::string(line)] = id;
    begin = end + 1;
  }
  if (vocabulary.empty()) return Fail(ErrorCode::kCorrupt, "{}: no tokens", path);
  return vocabulary;
}

}  // namespace

Result<json> ReadBertVocabulary(std::string_view text, const std::string& path,
                                const SpecialTokenHints& hints) {
  const auto* known =
      std::ranges::find(kVocabularyClasses, hints.tokenizer_class, &VocabularyClass::name);
  if (known == kVocabularyClasses.end()) {
    return Fail(ErrorCode::kUnsupported,
                "{}: read for the class BertTokenizer and its likes, tokenizer_config.json names "
                "{}; put a tokenizer.json beside it",
                path, Quoted(hints.tokenizer_class));
  }
  WEFT_ASSIGN_OR_RETURN(json vocabulary, ReadTokenLines(text, path));
  json added = json::array();
  const auto add_special = [&](const std::string& special) {
    const auto found = vocabulary.find(special);
    if (found == vocabulary.end()) return;
    added.push_back({{"id", *found}, {"content", special}, {"special", true}});
  };
  const std::string unknown = hints.unk_text.value_or("[UNK]");
  const std::string cls = hints.cls_text.value_or(std::string(known->cls));
  const std::string sep = hints.sep_text.value_or(std::string(known->sep));
  const std::string pad = hints.pad_text.value_or(std::string(known->pad));
  const std::string mask = hints.mask_text.value_or(std::string(known->mask));
  for (const std::string& special : {pad, unknown, cls, sep, mask}) add_special(special);
  for (const AddedToken& token : hints.added_tokens) {
    added.push_back({{"id", token.id}, {"content", token.text}, {"special", token.is_special}});
  }
  for (const std::string& special : {unknown, cls, sep}) {
    if (vocabulary.contains(special)) continue;
    return Fail(ErrorCode::kCorrupt, "{}: the special token {} is not there", path,
                Quoted(special));
  }
  const bool strips_accents = hints.strip_accents.value_or(hints.lower_case);
  return json{
      {"added_tokens", std::move(added)},
      {"normalizer",
       {{"type", "BertNormalizer"},
        {"handle_chinese_chars", hints.tokenize_chinese_chars},
        {"strip_accents", strips_accents},
        {"lowercase", hints.lower_case}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor",
       {{"type", known->is_roberta ? "RobertaProcessing" : "BertProcessing"},
        {"cls", {cls, vocabulary[cls]}},
        {"sep", {sep, vocabulary[sep]}}}},
      {"decoder", {{"type", "WordPiece"}}},
      {"model", {{"type", "WordPiece"}, {"unk_token", unknown}, {"vocab", std::move(vocabulary)}}}};
}

}  // namespace weft
