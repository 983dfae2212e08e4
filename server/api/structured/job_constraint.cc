#include "server/api/structured/job_constraint.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "engine/engine.h"
#include "proto/json_dump.h"
#include "server/api/structured/output_grammar.h"

namespace weft {

using nlohmann::ordered_json;

ApiResult<void> SetConstraint(const ordered_json& content, const GenerationRequest& request,
                              const PrepareContext& context,
                              const std::function<ApiResult<CompiledOutput>()>& compile,
                              GenerationJob& job) {
  std::string text = DumpJson(content);
  if (request.finish_by_length) text += " finish_by_length";
  const OutputKey key = OutputKeyOf(text);
  StructuredOutput& structured = *job.model->structured;
  OutputConstraint output = structured.Find(key);
  if (output.constraint == nullptr) {
    if (!context.may_compile) {
      job = ExcessJob(context);
      return {};
    }
    WEFT_ASSIGN_OR_RETURN(output,
                          structured.Compile(key, text.size(), request.finish_by_length, compile));
  }
  job.constraint = std::move(output.constraint);
  job.loose_tool_count = output.loose_tool_count;
  return {};
}

ApiResult<void> SetOutputConstraint(const GenerationRequest& request, const PrepareContext& context,
                                    GenerationJob& job) {
  const OutputFormat& format = request.output;
  if (format.kind == OutputKind::kText) return {};
  const auto compile = [&]() -> ApiResult<CompiledOutput> {
    WEFT_ASSIGN_OR_RETURN(RecognizerFactory make,
                          CompileOutput(format, SpecialTokensOf(*job.model->tokenizer)));
    return CompiledOutput{.make = std::move(make), .loose_tool_count = 0};
  };
  return SetConstraint({{"output", ContentOf(format)}}, request, context, compile, job);
}

ApiResult<void> SetFinish(const GenerationRequest& request, const std::string& max_tokens_path,
                          GenerationJob& job) {
  if (!request.finish_by_length) return {};
  if (job.constraint == nullptr) {
    return tl::unexpected(InvalidField(
        "finish_by_length",
        "'finish_by_length' is for texts whose form is given: send a schema, a regex, a grammar or "
        "the like, too"));
  }
  std::vector<TokenId> ends = job.sampling.stop_token_ids;
  if (!job.sampling.ignore_eos) {
    const std::vector<TokenId>& model_ends = job.model->engine->options().end_tokens;
    ends.insert(ends.end(), model_ends.begin(), model_ends.end());
  }
  const std::optional<size_t> least = job.constraint->CountLeastTokens(ends);
  if (!least) {
    return tl::unexpected(InvalidField(
        "stop_token_ids",
        "'stop_token_ids' ends the text with tokens that the shortest text of its form needs, so "
        "that 'finish_by_length' cannot be had"));
  }
  const auto needed = static_cast<int64_t>(*least) + 1;
  if (needed > job.sampling.max_tokens) {
    return tl::unexpected(InvalidField(
        max_tokens_path,
        fmt::format("the shortest text that the request allows takes {} tokens, its end included, "
                    "but '{}' is {}, and 'finish_by_length' wants it to finish",
                    needed, max_tokens_path, job.sampling.max_tokens)));
  }
  job.finish_by_length = true;
  return {};
}

ordered_json ContentOf(const OutputFormat& format) {
  return {{"kind", format.kind},          {"path", format.path},       {"schema", format.schema},
          {"text", format.text},          {"choices", format.choices}, {"space", format.space},
          {"any_order", format.any_order}};
}

}  // namespace weft
