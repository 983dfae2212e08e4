#include "model/tokenizer/sentencepiece_classes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/quoted.h"
#include "model/tokenizer/translation_languages.h"

namespace weft {
namespace {

constexpr int64_t kMaxExtraIds = 1000;
constexpr int kXglmMadeUpWords = 7;
constexpr size_t kFileSpecials = 3;  // <unk>, <s>, </s>

// A class goes by its name, and by its name and "Fast".
std::string_view NameOf(const SpecialTokenHints& hints) {
  std::string_view name = hints.tokenizer_class;
  if (name.ends_with("Fast")) name.remove_suffix(4);
  return name;
}

// mBART's, mBART-50's and NLLB's: fairseq's ids, and the languages behind the pieces. Nothing: it
// is another class.
Result<std::optional<SentencePieceClass>> FindTranslator(const SpecialTokenHints& hints,
                                                         const std::string& path) {
  const std::string_view name = NameOf(hints);
  std::span<const std::string_view> languages = kNllbLanguages;
  std::string source = hints.source_language.value_or("en_XX");
  if (name == "MBartTokenizer") {
    languages = kMBartLanguages;
  } else if (name == "MBart50Tokenizer") {
    languages = kMBart50Languages;
  } else if (name == "NllbTokenizer") {
    source = hints.source_language.value_or("eng_Latn");
  } else {
    return std::nullopt;
  }
  if (std::ranges::find(languages, source) == languages.end()) {
    return Fail(ErrorCode::kCorrupt, "{}: src_lang is {}, none of {}'s {} languages", path,
                Quoted(source), name, languages.size());
  }
  SentencePieceClass known = {.has_fairseq_ids = true, .is_plain = false};
  known.appended.assign(languages.begin(), languages.end());
  known.appended.emplace_back("<mask>");
  known.after = {"</s>"};
  // The first one of them, and NLLB once, have the language at the end.
  const bool at_end = name == "MBartTokenizer" || (name == "NllbTokenizer" && hints.legacy);
  (at_end ? known.after : known.before).push_back(source);
  return known;
}

bool IsAlbert(const SpecialTokenHints& hints) { return NameOf(hints) == "AlbertTokenizer"; }

}  // namespace

Result<SentencePieceClass> FindSentencePieceClass(const SpecialTokenHints& hints, bool is_unigram,
                                                  const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(std::optional<SentencePieceClass> translator, FindTranslator(hints, path));
  if (translator) return *std::move(translator);
  const std::string_view name = NameOf(hints);
  if (name.empty() || name == "LlamaTokenizer" || !is_unigram) return SentencePieceClass{};
  SentencePieceClass known;
  known.is_plain = false;
  if (name == "T5Tokenizer" || name == "MT5Tokenizer") {
    known.after = {hints.eos_text.value_or("</s>")};
    known.between = known.after;
    if (hints.extra_ids < 0 || hints.extra_ids > kMaxExtraIds) {
      return Fail(ErrorCode::kCorrupt, "{}: extra_ids is {}, 0 to {} expected", path,
                  hints.extra_ids, kMaxExtraIds);
    }
    // Where tokenizer_config.json lists them itself, it has the last word.
    const auto is_sentinel = [](const AddedToken& token) {
      return token.text.starts_with("<extra_id_");
    };
    if (std::ranges::any_of(hints.added_tokens, is_sentinel)) return known;
    for (int64_t i = hints.extra_ids; i-- > 0;) {
      known.appended.push_back(fmt::format("<extra_id_{}>", i));
    }
  } else if (name == "XLMRobertaTokenizer") {
    known.has_fairseq_ids = true;
    known.before = {"<s>"};
    known.after = {"</s>"};
    known.between = {"</s>", "</s>"};
    known.appended = {"<mask>"};
  } else if (name == "XGLMTokenizer") {
    known.has_fairseq_ids = true;
    known.before = {"</s>"};
    known.between = {"</s>", "</s>"};
    for (int i = 0; i < kXglmMadeUpWords; ++i) {
      known.appended.push_back(fmt::format("<madeupword{}>", i));
    }
  } else if (IsAlbert(hints)) {
    known.before = {hints.cls_text.value_or("[CLS]")};
    known.after = {hints.sep_text.value_or("[SEP]")};
    known.between = known.after;
    known.has_types = true;
  } else {
    return Fail(ErrorCode::kUnsupported,
                "{}: a Unigram model of the class {}, which is not supported; expected "
                "LlamaTokenizer, T5Tokenizer, XLMRobertaTokenizer, XGLMTokenizer, AlbertTokenizer, "
                "MBartTokenizer, MBart50Tokenizer, NllbTokenizer or a tokenizer.json beside it",
                path, Quoted(hints.tokenizer_class));
  }
  return known;
}

void AddStepsOfClass(const SpecialTokenHints& hints, Normalizer* normalizer) {
  if (!IsAlbert(hints)) return;
  normalizer->Add(MakeReplaceStep("``", "\""));
  normalizer->Add(MakeReplaceStep("''", "\""));
  if (!hints.keep_accents) {
    normalizer->Add(MakeFormStep(NormalizationForm::kNfkd));
    normalizer->Add(MakeStripAccentsStep());
  }
  if (hints.lower_case) normalizer->Add(MakeLowercaseStep());
}

Result<void> ArrangePieces(const SentencePieceClass& known, const std::string& path,
                           std::vector<Token>* tokens, std::vector<float>* scores) {
  if (known.has_fairseq_ids) {
    for (size_t i = 0; i < kFileSpecials; ++i) {
      if (i < tokens->size() && (*tokens)[i].kind != TokenKind::kNormal) continue;
      return Fail(ErrorCode::kCorrupt,
                  "{}: piece {} is no special one, <unk>, <s> and </s> expected", path, i);
    }
    const auto first = std::to_array<Token>({{"<s>", TokenKind::kControl},
                                             {"<pad>", TokenKind::kControl},
                                             {"</s>", TokenKind::kControl},
                                             {"<unk>", TokenKind::kUnknown}});
    tokens->erase(tokens->begin(), tokens->begin() + kFileSpecials);
    tokens->insert(tokens->begin(), first.begin(), first.end());
    scores->erase(scores->begin(), scores->begin() + kFileSpecials);
    scores->insert(scores->begin(), first.size(), 0.0f);
  }
  for (const std::string& text : known.appended) {
    tokens->push_back({text, TokenKind::kControl});
    scores->push_back(0.0f);
  }
  return {};
}

}  // namespace weft
