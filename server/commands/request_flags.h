// The flags of `weft serve` that say how requests are read.
#pragma once

#include <CLI/CLI.hpp>

#include "proto/request_rules.h"

namespace weft {

void AddRequestFlags(CLI::App& app, RequestRules& rules);

}  // namespace weft
