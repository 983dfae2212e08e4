// Plans from a command line, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loadtest/plan/load_plan.h"

namespace weft {

// The plan of these arguments; fails the test, and returns an empty plan, if there is none.
LoadPlan PlanOf(const std::vector<std::string>& arguments);

// Why there is no plan of these arguments; "" if there is one.
std::string PlanError(const std::vector<std::string>& arguments);

// A file with this text, for the time of a test.
class TextFile {
 public:
  explicit TextFile(const std::string& text);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// FNV-1a over everything that a plan says, prompts as rendered.
uint64_t HashOf(const LoadPlan& plan);

}  // namespace weft
