#include "model/source_task.h"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/quoted.h"

namespace weft {
namespace {

constexpr std::string_view kTranslation = "translation_";
constexpr std::string_view kTo = "_to_";

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

// "eng_Latn", "en_XX": two or three small letters, and what stands behind the underscore.
bool IsCodeWithSuffix(std::string_view text) {
  const size_t underscore = text.find('_');
  if (underscore != 2 && underscore != 3) return false;
  const std::string_view language = text.substr(0, underscore);
  const std::string_view suffix = text.substr(underscore + 1);
  return std::ranges::all_of(language, IsLower) && (suffix.size() == 2 || suffix.size() == 4) &&
         IsUpper(suffix.front()) &&
         std::ranges::all_of(suffix, [](char c) { return IsLower(c) || IsUpper(c); });
}

// "__en__"
bool IsCodeInUnderscores(std::string_view text) {
  if (!text.starts_with("__") || !text.ends_with("__") || text.size() < 6 || text.size() > 7) {
    return false;
  }
  return std::ranges::all_of(text.substr(2, text.size() - 4), IsLower);
}

bool IsLanguage(const Tokenizer& tokenizer, TokenId token) {
  const std::string_view text = tokenizer.TokenText(token);
  return IsCodeWithSuffix(text) || IsCodeInUnderscores(text);
}

std::optional<TokenId> LanguageOf(const Tokenizer& tokenizer, std::string_view code) {
  for (const std::string& text : {std::string(code), fmt::format("__{}__", code)}) {
    const std::optional<TokenId> token = tokenizer.TokenOf(text);
    if (token && IsLanguage(tokenizer, *token)) return token;
  }
  return std::nullopt;
}

// "de" of ">>de<<": the languages that a Marian model translates to; none, where it has but one.
std::vector<std::string_view> MarkedLanguages(const Tokenizer& tokenizer) {
  std::vector<std::string_view> languages;
  for (int64_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view text = tokenizer.TokenText(static_cast<TokenId>(id));
    if (text.size() > 4 && text.starts_with(">>") && text.ends_with("<<")) {
      languages.push_back(text.substr(2, text.size() - 4));
    }
  }
  return languages;
}

std::string KnownTranslations(const Tokenizer& tokenizer) {
  constexpr size_t kMostListed = 200;  // a few models have more than a thousand
  std::vector<std::string_view> targets = MarkedLanguages(tokenizer);
  if (targets.empty()) return "translation_SOURCE_to_TARGET with languages of its vocabulary";
  std::ranges::sort(targets);
  const bool is_cut = targets.size() > kMostListed;
  if (is_cut) targets.resize(kMostListed);
  return fmt::format("translation_SOURCE_to_TARGET with a TARGET among {}{}",
                     fmt::join(targets, ", "), is_cut ? ", ..." : "");
}

std::string KnownTasks(const TargetSpec& target, const Tokenizer& tokenizer) {
  std::string known;
  for (const auto& [name, prefix] : target.task_prefixes) known += name + ", ";
  return known + (known.empty() ? "" : "or ") + KnownTranslations(tokenizer);
}

tl::unexpected<Error> UnknownTask(const TargetSpec& target, const Tokenizer& tokenizer,
                                  std::string_view name, const std::string& what) {
  return Fail(ErrorCode::kInvalidArgument, "the task {} is none of this model's{}; expected {}",
              Quoted(name), what, KnownTasks(target, tokenizer));
}

}  // namespace

Result<SourceTask> FindSourceTask(const TargetSpec& target, const Tokenizer& tokenizer,
                                  std::string_view name) {
  SourceTask task{.target_prefix = target.prefix};
  if (name.empty()) return task;
  if (const auto found = target.task_prefixes.find(name); found != target.task_prefixes.end()) {
    task.prefix = found->second;
    return task;
  }
  const size_t to = name.find(kTo, kTranslation.size());
  if (!name.starts_with(kTranslation) || to == std::string_view::npos) {
    return UnknownTask(target, tokenizer, name, "");
  }
  const std::string_view from = name.substr(kTranslation.size(), to - kTranslation.size());
  const std::string_view into = name.substr(to + kTo.size());
  if (const std::string marker = fmt::format(">>{}<<", into); tokenizer.TokenOf(marker)) {
    task.prefix = marker + " ";
    return task;
  }
  task.source_language = LanguageOf(tokenizer, from);
  const std::optional<TokenId> target_language = LanguageOf(tokenizer, into);
  if (!task.source_language || !target_language) {
    // The target's first: Marian's source is not looked at.
    return UnknownTask(
        target, tokenizer, name,
        fmt::format(": its vocabulary has no language {}", Quoted(target_language ? from : into)));
  }
  // Where a text begins with a language, it is that; elsewhere it comes behind what always begins.
  const TokenId start = target.prefix.front();
  task.target_prefix = {start, *target_language};
  if (IsLanguage(tokenizer, start)) task.target_prefix = {*target_language};
  return task;
}

Result<std::vector<TokenId>> EncodeSource(const Tokenizer& tokenizer, const SourceTask& task,
                                          std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(std::vector<TokenId> tokens,
                        tokenizer.Encode(task.prefix + std::string(text), {}));
  if (!task.source_language) return tokens;
  // The first token, or, as with the first mBART, the last one.
  if (!tokens.empty() && IsLanguage(tokenizer, tokens.front())) {
    tokens.front() = *task.source_language;
  } else if (!tokens.empty() && IsLanguage(tokenizer, tokens.back())) {
    tokens.back() = *task.source_language;
  } else {
    tokens.insert(tokens.begin(), *task.source_language);
  }
  return tokens;
}

}  // namespace weft
