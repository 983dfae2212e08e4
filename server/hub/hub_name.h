// What users call a model of the Hugging Face Hub.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

struct HubName {
  std::string repository;  // "ORG/REPO"
  std::string selector;    // a quantisation or a file of it; empty: none is named
  std::string revision = "main";

  bool operator==(const HubName&) const = default;
};

// Whether --model means the Hub and no path: "hf:...".
bool IsHubName(std::string_view text);

// "[hf:]ORG/REPO[:QUANTISATION or FILE][@REVISION]". Repositories are as huggingface_hub has them
// (validate_repo_id): letters, digits, '-', '_' and '.', at most 96 in all, without "--", "..", or
// '-' or '.' at an end. Errors quote the text and say what of it is wrong.
Result<HubName> ParseHubName(std::string_view text);

// As ParseHubName reads it, with "hf:"; the revision "main" is left out.
std::string ToString(const HubName& name);

// 40 hexadecimal digits, lower case: a revision that nothing can change.
bool IsCommit(std::string_view revision);

}  // namespace weft
