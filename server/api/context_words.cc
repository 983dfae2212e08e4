#include "server/api/context_words.h"

#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace weft {
namespace {

ApiError ContextExceeded(const ContextExcess& excess, std::string message) {
  ApiError error = InvalidField(excess.param, std::move(message));
  error.code = "context_length_exceeded";
  error.context_excess = {.prompt_tokens = excess.prompt_tokens, .context = excess.context};
  return error;
}

}  // namespace

ApiError OpenAiContextWords(const ContextExcess& excess) {
  const std::string_view prompt =
      std::string_view(excess.prompt).substr(0, excess.prompt.find('['));
  const std::string limit =
      fmt::format("This model's maximum context length is {} tokens. However, ", excess.context);
  if (excess.max_tokens == 0) {
    return ContextExceeded(
        excess, fmt::format("{}your {} resulted in {} tokens. Please reduce the length of the "
                            "{}.",
                            limit, prompt, excess.prompt_tokens, prompt));
  }
  return ContextExceeded(
      excess,
      fmt::format("{}you requested {} tokens ({} in the {}, {} in the completion). Please reduce "
                  "the length of the {} or completion.",
                  limit, excess.prompt_tokens + excess.max_tokens, excess.prompt_tokens, prompt,
                  excess.max_tokens, prompt));
}

ApiError AnthropicContextWords(const ContextExcess& excess) {
  if (excess.max_tokens == 0) {
    return ContextExceeded(excess, fmt::format("prompt is too long: {} tokens > {} maximum",
                                               excess.prompt_tokens, excess.context));
  }
  return ContextExceeded(
      excess,
      fmt::format(
          "input length and `max_tokens` exceed context limit: {} + {} > {}, decrease input "
          "length or `max_tokens` and try again",
          excess.prompt_tokens, excess.max_tokens, excess.context));
}

ApiError LlamaContextWords(const ContextExcess& excess) {
  return ContextExceeded(
      excess,
      fmt::format("the request exceeds the available context size. Its prompt has {} tokens "
                  "and {} more are asked for, and the context has {} positions; shorten it",
                  excess.prompt_tokens, excess.max_tokens, excess.context));
}

}  // namespace weft
