// What an encoder-decoder is to do with a text: "translation_en_to_de", "summarization", ...
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/spec.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

// Why other models refuse a task.
inline constexpr std::string_view kNoTasks =
    "the model is no encoder-decoder, which alone have tasks";

struct SourceTask {
  std::string prefix = {};  // of the text
  // The language's token, in place of the one that the tokenizer's files put around a text.
  std::optional<TokenId> source_language = {};
  std::vector<TokenId> target_prefix = {};  // as TargetSpec::prefix
};

// The task that goes by this name, or without one what the model's files say. A name is one of
// TargetSpec::task_prefixes, or "translation_SOURCE_to_TARGET" with two languages as the
// vocabulary calls them: "eng_Latn" (NLLB), "en_XX" (mBART), "en" for "__en__" (M2M100) or for
// ">>en<<" (Marian, where the source's language is not looked at). Errors say what there is.
Result<SourceTask> FindSourceTask(const TargetSpec& target, const Tokenizer& tokenizer,
                                  std::string_view name);

// The tokens of a text as the model's encoder reads it for this task. Errors: Tokenizer::Encode's.
Result<std::vector<TokenId>> EncodeSource(const Tokenizer& tokenizer, const SourceTask& task,
                                          std::string_view text);

}  // namespace weft
