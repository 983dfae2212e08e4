// What the files of a checkpoint say of how it ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/formats/gguf.h"
#include "model/ranking.h"
#include "model/sentence_prompts.h"

namespace weft {

struct Checkpoint;

// What a text with both texts' places (see RankingPrompt) is for a prompt: the control tokens
// before the first place and behind the last one are outside of the body.
RankingPrompt PromptOfText(std::string_view text, const Tokenizer& tokenizer);

// The prompt that a chat template makes of messages of the roles "query" and "document", as
// sentence-transformers has rankers; its message of the role "system" is the instruction, by
// default `instruction`, or the template's own. Nothing: it makes none of them. An error: it is no
// template.
Result<std::optional<RankingPrompt>> PromptOfChatTemplate(const std::string& source,
                                                          const Tokenizer& tokenizer,
                                                          const std::string& instruction);

// Of a decoder that its files do not say to be a ranker, because they are those of any other: the
// prompt and the tokens that Qwen3-Reranker and mxbai-rerank v2 were trained with, by architecture.
// Errors: kUnsupported for others, kInvalidArgument if the vocabulary lacks the tokens.
Result<Ranking> TrainedRanking(const ModelSpec& spec, const Tokenizer& tokenizer);

// What an operator calls the task of such a decoder.
inline constexpr std::string_view kRankTask = "rerank";

// How a checkpoint ranks, if it does: by its files, or because `task`, which is --task's word, says
// so. Errors: TrainedRanking's.
Result<std::optional<Ranking>> RankingFor(const Checkpoint& checkpoint, std::string_view task);

// Of a GGUF file with a classifier: llama.cpp's "rerank" template is its prompt.
Result<std::optional<Ranking>> RankingOfGguf(const GgufMetadata& metadata, const ModelSpec& spec,
                                             const Tokenizer& tokenizer);

// What LoadCheckpoint has read of a directory before.
struct DirectoryRanking {
  const ModelSpec& spec;
  const Tokenizer& tokenizer;
  const std::string& chat_template;
  const SentencePrompts& prompts;
  const std::vector<TokenId>& tokens;  // a LogitScore module's; empty: there is none
};

// Of a directory with a classifier of one label, or with a LogitScore module. What config.json and
// config_sentence_transformers.json say of the activation tells scores from logits.
Result<std::optional<Ranking>> RankingOfDirectory(const std::string& directory,
                                                  const DirectoryRanking& read);

}  // namespace weft
