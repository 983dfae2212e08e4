#include "server/api/completions/infill.h"

#include <array>

namespace weft {
namespace {

struct InfillNames {
  std::string_view prefix;
  std::string_view suffix;
  std::string_view middle;
};
constexpr std::array kNames = {
    InfillNames{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},  // Qwen, CodeGemma
    InfillNames{"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},        // StarCoder, Granite
    InfillNames{"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},        // SantaCoder
    InfillNames{"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},  // DeepSeek
    InfillNames{"▁<PRE>", "▁<SUF>", "▁<MID>"},                          // Code Llama
};

constexpr auto kRepositoryNames =
    std::to_array<std::string_view>({"<|repo_name|>", "<repo_name>", "<reponame>"});
constexpr auto kFileNames = std::to_array<std::string_view>(
    {"<|file_sep|>", "<file_sep>", "<|file_separator|>", "<filename>"});

// The first of these tokens that there is.
std::optional<TokenId> FirstTokenOf(const Tokenizer& tokenizer, const auto& names) {
  for (const std::string_view name : names) {
    if (const std::optional<TokenId> token = tokenizer.TokenOf(name)) return token;
  }
  return std::nullopt;
}

}  // namespace

std::optional<InfillTokens> FindInfillTokens(const Tokenizer& tokenizer) {
  for (const InfillNames& names : kNames) {
    const std::optional<TokenId> prefix = tokenizer.TokenOf(names.prefix);
    const std::optional<TokenId> suffix = tokenizer.TokenOf(names.suffix);
    const std::optional<TokenId> middle = tokenizer.TokenOf(names.middle);
    if (prefix && suffix && middle)
      return InfillTokens{.prefix = *prefix,
                          .suffix = *suffix,
                          .middle = *middle,
                          .repository = FirstTokenOf(tokenizer, kRepositoryNames),
                          .file = FirstTokenOf(tokenizer, kFileNames)};
  }
  return std::nullopt;
}

std::vector<TokenId> InfillPrompt(const Tokenizer& tokenizer, const InfillTokens& tokens,
                                  const std::vector<TokenId>& before,
                                  const std::vector<TokenId>& after) {
  std::vector<TokenId> prompt;
  if (tokenizer.adds_bos() && tokenizer.bos()) prompt.push_back(*tokenizer.bos());
  prompt.push_back(tokens.prefix);
  prompt.insert(prompt.end(), before.begin(), before.end());
  prompt.push_back(tokens.suffix);
  prompt.insert(prompt.end(), after.begin(), after.end());
  prompt.push_back(tokens.middle);
  return prompt;
}

}  // namespace weft
