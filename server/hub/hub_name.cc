#include "server/hub/hub_name.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/quoted.h"
#include "server/hub/hub_file.h"

namespace weft {
namespace {

constexpr std::string_view kScheme = "hf:";
constexpr size_t kMaxRepositoryBytes = 96;
constexpr size_t kMaxRevisionBytes = 200;

bool IsNameCharacter(char c) { return IsAsciiAlphanumeric(c) || c == '-' || c == '_' || c == '.'; }

bool IsPartOfRepository(std::string_view part) {
  const auto is_bad_end = [](char c) { return c == '-' || c == '.'; };
  return !part.empty() && std::ranges::all_of(part, IsNameCharacter) && !is_bad_end(part.front()) &&
         !is_bad_end(part.back()) && part.find("--") == std::string_view::npos &&
         part.find("..") == std::string_view::npos && !part.ends_with(".git");
}

// Branches, tags, "refs/pr/1": what is a path below refs/ in the cache.
bool IsRevision(std::string_view revision) {
  const auto is_allowed = [](char c) { return IsNameCharacter(c) || c == '/' || c == '+'; };
  return !revision.empty() && revision.size() <= kMaxRevisionBytes &&
         std::ranges::all_of(revision, is_allowed) && revision.front() != '/' &&
         revision.back() != '/' && revision.find("//") == std::string_view::npos &&
         revision.find("..") == std::string_view::npos && revision.front() != '.' &&
         revision.find("/.") == std::string_view::npos;
}

}  // namespace

bool IsHubName(std::string_view text) { return text.starts_with(kScheme); }

bool IsCommit(std::string_view revision) {
  const auto is_digit = [](char c) { return IsAsciiDigit(c) || (c >= 'a' && c <= 'f'); };
  return revision.size() == 40 && std::ranges::all_of(revision, is_digit);
}

Result<HubName> ParseHubName(std::string_view text) {
  std::string_view rest = text;
  if (IsHubName(rest)) rest.remove_prefix(kScheme.size());
  HubName name;
  if (const size_t at = rest.find('@'); at != std::string_view::npos) {
    name.revision = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!IsRevision(name.revision)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{}: {} is no revision, expected a branch, a tag or a commit behind '@'",
                  Quoted(text), Quoted(name.revision));
    }
  }
  if (const size_t colon = rest.find(':'); colon != std::string_view::npos) {
    name.selector = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (const Result<void> path = CheckHubPath(name.selector); !path) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{}: expected a quantisation or a file behind ':', as Q4_K_M: {}", Quoted(text),
                  path.error().message);
    }
  }
  name.repository = rest;
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos || rest.size() > kMaxRepositoryBytes ||
      !IsPartOfRepository(rest.substr(0, slash)) || !IsPartOfRepository(rest.substr(slash + 1))) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: {} is no name of a repository, expected ORGANISATION/REPOSITORY of letters, "
                "digits, '-', '_' and '.', at most {} of them",
                Quoted(text), Quoted(rest), kMaxRepositoryBytes);
  }
  return name;
}

std::string ToString(const HubName& name) {
  std::string text = fmt::format("{}{}", kScheme, name.repository);
  if (!name.selector.empty()) text += ":" + name.selector;
  if (name.revision != "main") text += "@" + name.revision;
  return text;
}

}  // namespace weft
