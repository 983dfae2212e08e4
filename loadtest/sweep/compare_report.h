// A comparison for terminals and programs.
#pragma once

#include <string>

#include "loadtest/sweep/compare.h"

namespace weft {

std::string CompareTable(const CompareResult& result, const CompareOptions& options, bool colour);

// One line.
std::string CompareJson(const CompareResult& result, const CompareOptions& options);

}  // namespace weft
