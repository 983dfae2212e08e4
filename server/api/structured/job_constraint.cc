#include "server/api/structured/job_constraint.h"

#include <string>
#include <utility>

#include "base/result.h"
#include "proto/json_dump.h"
#include "server/api/structured/output_grammar.h"

namespace weft {

using nlohmann::ordered_json;

ApiResult<void> SetConstraint(const ordered_json& content, const PrepareContext& context,
                              const std::function<ApiResult<CompiledOutput>()>& compile,
                              GenerationJob& job) {
  const std::string text = DumpJson(content);
  const OutputKey key = OutputKeyOf(text);
  StructuredOutput& structured = *job.model->structured;
  OutputConstraint output = structured.Find(key);
  if (output.constraint == nullptr) {
    if (!context.may_compile) {
      job = ExcessJob(context);
      return {};
    }
    WEFT_ASSIGN_OR_RETURN(output, structured.Compile(key, text.size(), compile));
  }
  job.constraint = std::move(output.constraint);
  job.loose_tool_count = output.loose_tool_count;
  return {};
}

ApiResult<void> SetOutputConstraint(const OutputFormat& format, const PrepareContext& context,
                                    GenerationJob& job) {
  if (format.kind == OutputKind::kText) return {};
  const auto compile = [&]() -> ApiResult<CompiledOutput> {
    WEFT_ASSIGN_OR_RETURN(RecognizerFactory make,
                          CompileOutput(format, SpecialTokensOf(*job.model->tokenizer)));
    return CompiledOutput{.make = std::move(make), .loose_tool_count = 0};
  };
  return SetConstraint({{"output", ContentOf(format)}}, context, compile, job);
}

ordered_json ContentOf(const OutputFormat& format) {
  return {{"kind", format.kind},          {"path", format.path},       {"schema", format.schema},
          {"text", format.text},          {"choices", format.choices}, {"space", format.space},
          {"any_order", format.any_order}};
}

}  // namespace weft
