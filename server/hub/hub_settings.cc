#include "server/hub/hub_settings.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/ascii.h"
#include "base/quoted.h"
#include "base/regular_file.h"

namespace weft {
namespace {

constexpr size_t kMaxTokenBytes = 4096;

class Variables {
 public:
  explicit Variables(const HubEnvironment& environment) : environment_(environment) {}

  // The first of them that is set; empty: none.
  std::string First(std::initializer_list<const char*> names) const {
    for (const char* const name : names) {
      const char* const value = environment_(name);
      if (value != nullptr && *value != '\0') return value;
    }
    return {};
  }

  bool IsTrue(std::initializer_list<const char*> names) const {
    const std::string value = First(names);
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{"1", "on", "yes", "true"},
        [&value](std::string_view word) { return EqualIgnoringCase(word, value); });
  }

  // A path with "~", "$NAME" and "${NAME}" replaced, as Python's expanduser and expandvars do.
  std::string Path(std::initializer_list<const char*> names) const {
    std::string path = First(names);
    const std::string home = First({"HOME"});
    if (!home.empty() && (path == "~" || path.starts_with("~/"))) path.replace(0, 1, home);
    std::string expanded;
    for (size_t i = 0; i < path.size(); ++i) {
      if (path[i] != '$') {
        expanded += path[i];
        continue;
      }
      const bool is_braced = i + 1 < path.size() && path[i + 1] == '{';
      const size_t begin = i + (is_braced ? 2 : 1);
      size_t end = begin;
      while (end < path.size() && (IsAsciiAlphanumeric(path[end]) || path[end] == '_')) ++end;
      const bool is_whole = !is_braced || (end < path.size() && path[end] == '}');
      const std::string name = path.substr(begin, end - begin);
      const char* const value = is_whole && !name.empty() ? environment_(name.c_str()) : nullptr;
      if (value == nullptr) {
        expanded += '$';
        continue;
      }
      expanded += value;
      i = is_braced ? end : end - 1;
    }
    return expanded;
  }

 private:
  const HubEnvironment& environment_;
};

Result<std::string> ReadToken(const Variables& variables, const std::string& home) {
  if (variables.IsTrue({"HF_HUB_DISABLE_IMPLICIT_TOKEN"})) return std::string();
  std::string from = "HF_TOKEN";
  std::string text = variables.First({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"});
  if (text.empty()) {
    from = variables.Path({"HF_TOKEN_PATH"});
    if (from.empty() && !home.empty()) from = home + "/token";
    if (from.empty()) return std::string();
    WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> file,
                          ReadFileIfPresent(from, kMaxTokenBytes));
    text = file.value_or("");
  }
  std::erase_if(text, [](char c) { return c == '\r' || c == '\n'; });
  const std::string token(Trimmed(text, kAsciiSpace));
  const auto is_visible = [](char c) { return c > ' ' && c < 0x7f; };
  if (!std::ranges::all_of(token, is_visible)) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: the token has characters that no token has, expected visible ASCII", from);
  }
  return token;
}

}  // namespace

Result<HubSettings> ReadHubSettings(const HubEnvironment& environment) {
  const Variables variables(environment);
  HubSettings settings;
  if (const std::string endpoint = variables.First({"HF_ENDPOINT"}); !endpoint.empty()) {
    settings.endpoint = endpoint.substr(0, endpoint.find_last_not_of('/') + 1);
    if (!settings.endpoint.starts_with("https://") && !settings.endpoint.starts_with("http://")) {
      return Fail(ErrorCode::kInvalidArgument, "HF_ENDPOINT: {}, expected https://HOST",
                  Quoted(endpoint));
    }
  }
  std::string home = variables.Path({"HF_HOME"});
  if (home.empty()) {
    std::string caches = variables.First({"XDG_CACHE_HOME"});
    if (caches.empty() && !variables.First({"HOME"}).empty()) {
      caches = variables.First({"HOME"}) + "/.cache";
    }
    if (!caches.empty()) home = caches + "/huggingface";
  }
  settings.cache_path = variables.Path({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"});
  if (settings.cache_path.empty() && !home.empty()) settings.cache_path = home + "/hub";
  if (settings.cache_path.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "there is no place for models: none of HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME and "
                "HOME is set");
  }
  WEFT_ASSIGN_OR_RETURN(settings.token, ReadToken(variables, home));
  settings.certificate_path = variables.First({"SSL_CERT_FILE"});
  settings.is_offline = variables.IsTrue({"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"});
  return settings;
}

}  // namespace weft
