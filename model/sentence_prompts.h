// What a sentence encoder wants to stand before a text, by what the text is for.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

struct SentencePrompts {
  std::map<std::string, std::string, std::less<>> texts = {};  // "query" -> "query: "
  std::string default_name = {};  // of them; empty: nothing stands before a text by default

  // The prompt that goes by this name, or without one the default. An error names those that there
  // are.
  Result<std::string_view> Find(std::string_view name) const;
};

// A directory's config_sentence_transformers.json: its prompts and default_prompt_name. Without the
// file there are none.
Result<SentencePrompts> ReadSentencePrompts(const std::string& directory);

}  // namespace weft
