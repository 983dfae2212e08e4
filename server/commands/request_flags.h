// The flags of `weft serve` that say how requests are read.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "proto/request_rules.h"

namespace weft {

struct RequestFlags {
  RequestRules rules;                 // but for what the others come to
  std::vector<std::string> defaults;  // NAME=VALUE of sampling fields
  std::string template_variables;     // a JSON object; empty: none
  std::string reasoning = "auto";     // or "on", "off"
};

// `flags` outlives the app.
void AddRequestFlags(CLI::App& app, RequestFlags& flags);

// Errors name the flag.
Result<RequestRules> RulesOf(const RequestFlags& flags);

}  // namespace weft
