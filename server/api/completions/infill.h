// Filling in the middle: a prompt and what follows the text to come, as models trained for it want
// to see them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace weft {

// The tokens before the text that precedes, the text that follows, and the text to come.
struct InfillTokens {
  TokenId prefix = 0;
  TokenId suffix = 0;
  TokenId middle = 0;
  // Where the model was trained on whole repositories: what stands before a repository's name, and
  // before a file's.
  std::optional<TokenId> repository;
  std::optional<TokenId> file;
};

// By the names that families of models give them; nullopt: this one has none.
std::optional<InfillTokens> FindInfillTokens(const Tokenizer& tokenizer);

// prefix token, `before`, suffix token, `after`, middle token; BOS first, where texts begin with
// it. `before` has no special tokens of its own.
std::vector<TokenId> InfillPrompt(const Tokenizer& tokenizer, const InfillTokens& tokens,
                                  const std::vector<TokenId>& before,
                                  const std::vector<TokenId>& after);

}  // namespace weft
