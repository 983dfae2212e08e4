#include "tests/loadtest/plan_fixture.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "loadtest/plan/plan_options.h"
#include "loadtest/plan/render_prompt.h"

namespace weft {
namespace {

Result<LoadPlan> ParseAndPlan(std::vector<std::string> arguments) {
  PlanOptions options;
  CLI::App app;
  AddPlanOptions(app, options);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return Fail(ErrorCode::kInvalidArgument, "{}", error.what());
  }
  return MakePlan(options);
}

}  // namespace

LoadPlan PlanOf(const std::vector<std::string>& arguments) {
  Result<LoadPlan> plan = ParseAndPlan(arguments);
  if (plan) return *std::move(plan);
  ADD_FAILURE() << plan.error().message;
  return {};
}

std::string PlanError(const std::vector<std::string>& arguments) {
  const Result<LoadPlan> plan = ParseAndPlan(arguments);
  return plan ? "" : plan.error().message;
}

TextFile::TextFile(const std::string& text) : path_(testing::TempDir() + "plan_XXXXXX") {
  const int file = mkstemp(path_.data());
  const auto size = static_cast<ssize_t>(text.size());
  if (file < 0 || write(file, text.data(), text.size()) != size || close(file) != 0) {
    ADD_FAILURE() << path_ << ": cannot write it";
  }
}

TextFile::~TextFile() { unlink(path_.c_str()); }

uint64_t HashOf(const LoadPlan& plan) {
  uint64_t hash = 0xCBF29CE484222325u;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  };
  add(fmt::format("{} {} {};", plan.users, plan.ramp.count(), plan.duration.count()));
  for (const std::string& name : plan.profiles) add(name + ";");
  for (const PlannedRequest& request : plan.requests) {
    add(fmt::format("{} {} {} {} {} {} {} {};", request.send_at.count(), request.previous_turn,
                    request.pause.count(), request.profile, request.max_tokens,
                    static_cast<int>(request.behaviour), request.behaviour_tokens,
                    request.stall.count()));
    add(RenderPrompt(plan, request));
  }
  return hash;
}

}  // namespace weft
