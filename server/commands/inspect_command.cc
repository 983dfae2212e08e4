#include "server/commands/inspect_command.h"

#include <optional>
#include <string>

#include <fmt/core.h>

#include "base/resources.h"
#include "model/inspect.h"
#include "server/commands/command_line.h"
#include "server/models/model_path.h"

namespace weft {
namespace {

Result<void> Inspect(std::string model_path, const WeightsChoice& weights) {
  WEFT_ASSIGN_OR_RETURN(model_path, FindModel(model_path, 0));
  WEFT_ASSIGN_OR_RETURN(Checkpoint checkpoint, LoadCheckpoint(model_path));
  WEFT_ASSIGN_OR_RETURN(const Isa isa, ChooseIsa());
  ChooseWeights(checkpoint.tensors, weights, std::nullopt, isa,
                checkpoint.spec.head.linear.weights);
  fmt::print("{}",
             DescribeCheckpoint(checkpoint, {.isa = isa, .thread_count = AvailableCpuCount()}));
  return {};
}

}  // namespace

int InspectCommand(int argc, const char* const* argv) {
  std::string model_path;
  WeightsChoice weights;
  CLI::App app("Prints what a model file holds and the memory it will take.", "weft inspect");
  app.add_option(
      "MODEL", model_path,
      "GGUF file, Hugging Face directory or hf:ORG/REPO[:QUANTISATION] (the bundled model)");
  AddWeightsFlag(app, weights);
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  const Result<void> inspected = Inspect(std::move(model_path), weights);
  return inspected ? 0 : FailCommand(app, inspected.error());
}

}  // namespace weft
