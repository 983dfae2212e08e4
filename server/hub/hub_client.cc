#include "server/hub/hub_client.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/json_limits.h"
#include "base/quoted.h"
#include "server/hub/content_digest.h"

namespace weft {
namespace {

constexpr JsonLimits kHubJson = {64 << 20, 1 << 20, 32};
constexpr size_t kMaxFiles = 100'000;
constexpr int kMaxPages = 1000;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 44;  // 16 TiB
constexpr int kMaxPauseSeconds = 120;

Result<nlohmann::json> ParseHubJson(std::string_view text, std::string_view url) {
  WEFT_RETURN_IF_ERROR(CheckJsonLimits(text, kHubJson, url));
  nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
  if (!parsed.is_discarded()) return parsed;
  return Fail(ErrorCode::kCorrupt, "{}: the answer is no JSON; it begins with {}", url,
              Quoted(text));
}

// A member that is a string; empty: it is absent or something else.
std::string TextOf(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// What is worth another try.
bool IsTemporary(int status) { return status == 429 || status == 408 || status >= 500; }

// "bytes 100-199/200": whether it begins at `begin` and the whole has `size` bytes.
bool IsRangeFrom(const std::string& content_range, uint64_t begin, uint64_t size) {
  return content_range == fmt::format("bytes {}-{}/{}", begin, size - 1, size);
}

std::string NameOf(const HubName& name) { return fmt::format("hf:{}", name.repository); }

}  // namespace

HubClient::HubClient(const HubSettings& settings, std::string user_agent,
                     std::function<void(const std::string&)> say)
    : settings_(settings), http_(settings, std::move(user_agent)), say_(std::move(say)) {}

Result<std::string> HubClient::CommitOf(const HubName& name, HubPatience patience) {
  const std::string url = fmt::format("{}/api/models/{}/revision/{}", settings_.endpoint,
                                      name.repository, PercentEncoded(name.revision, ""));
  std::string body;
  WEFT_RETURN_IF_ERROR(GetText(name, url, patience, body));
  WEFT_ASSIGN_OR_RETURN(const nlohmann::json answer, ParseHubJson(body, url));
  const std::string commit = answer.is_object() ? TextOf(answer, "sha") : "";
  if (IsCommit(commit)) return commit;
  return Fail(ErrorCode::kCorrupt, "{}: 'sha' is {}, expected a commit of 40 hexadecimal digits",
              url, Quoted(commit));
}

Result<std::vector<HubFile>> HubClient::ListFiles(const HubName& name, const std::string& commit) {
  std::string url = fmt::format("{}/api/models/{}/tree/{}?recursive=true", settings_.endpoint,
                                name.repository, commit);
  std::vector<HubFile> files;
  for (int pages = 0; !url.empty(); ++pages) {
    std::string body;
    WEFT_ASSIGN_OR_RETURN(const HttpAnswer answer, GetText(name, url, {}, body));
    WEFT_ASSIGN_OR_RETURN(std::vector<HubFile> page, ReadTreePage(body, url));
    std::ranges::move(page, std::back_inserter(files));
    if (files.size() > kMaxFiles || pages >= kMaxPages) {
      return Fail(ErrorCode::kCorrupt, "{}: the Hub lists more than {} files or {} pages",
                  NameOf(name), kMaxFiles, kMaxPages);
    }
    url = NextPage(answer.header("link"));
    if (settings_.endpoint.starts_with("https:") && !url.empty() && !url.starts_with("https:")) {
      return Fail(ErrorCode::kCorrupt, "{}: the next page is {}, expected https", NameOf(name),
                  Quoted(url));
    }
  }
  std::ranges::sort(files, {}, &HubFile::path);
  const auto same = std::ranges::adjacent_find(files, {}, &HubFile::path);
  if (same != files.end()) {
    return Fail(ErrorCode::kCorrupt, "{}: the Hub lists {} twice", NameOf(name), same->path);
  }
  return files;
}

Result<void> HubClient::Download(const HubName& name, const std::string& commit,
                                 const HubFile& file, Sink& sink) {
  const std::string url = fmt::format("{}/{}/resolve/{}/{}", settings_.endpoint, name.repository,
                                      commit, PercentEncoded(file.path, "/"));
  uint64_t most = sink.received();  // that was ever there
  for (int attempt = 1; sink.received() < file.size; ++attempt) {
    const uint64_t begin = sink.received();
    bool has_begun = false;
    const auto answer =
        http_.Get(url, begin, [&](const HttpAnswer& head, std::string_view piece) -> Result<void> {
          if (!std::exchange(has_begun, true)) {
            if (head.status == 200 && begin > 0) WEFT_RETURN_IF_ERROR(sink.Drop());
            if (head.status == 206 &&
                !IsRangeFrom(head.header("content-range"), begin, file.size)) {
              return Fail(ErrorCode::kCorrupt, "{}: Content-Range is {}, expected {}-{}/{}", url,
                          Quoted(head.header("content-range")), begin, file.size - 1, file.size);
            }
          }
          if (piece.size() > file.size - sink.received()) {
            return Fail(ErrorCode::kCorrupt, "{}: more than the {} bytes that the Hub listed", url,
                        file.size);
          }
          return sink.Take(piece);
        });
    if (sink.received() > most) {
      most = sink.received();
      attempt = 1;
    }
    std::string why;
    if (answer) {
      if (sink.received() == file.size) break;
      if (answer->status == 416) {
        WEFT_RETURN_IF_ERROR(sink.Drop());
      } else if (answer->status != 200 && answer->status != 206 && !IsTemporary(answer->status)) {
        return Refusal(name, *answer);
      }
      why = fmt::format("{}: status {} after {} of {} bytes", file.path, answer->status,
                        sink.received(), file.size);
    } else if (answer.error().code != ErrorCode::kUnavailable) {
      return tl::unexpected(answer.error());
    } else {
      why = answer.error().message;
    }
    if (attempt >= HubPatience().attempts) {
      return Fail(ErrorCode::kUnavailable, "{}: tried {} times: {}", NameOf(name), attempt, why);
    }
    Pause(attempt, answer.value_or(HttpAnswer()), why);
  }
  return {};
}

Result<HttpAnswer> HubClient::GetText(const HubName& name, const std::string& url,
                                      HubPatience patience, std::string& body) {
  for (int attempt = 1;; ++attempt) {
    body.clear();
    const auto answer =
        http_.Get(url, 0, [&body, &url](const HttpAnswer&, std::string_view piece) -> Result<void> {
          if (body.size() + piece.size() > kHubJson.max_bytes) {
            return Fail(ErrorCode::kCorrupt, "{}: the answer has more than {} bytes", url,
                        kHubJson.max_bytes);
          }
          body += piece;
          return {};
        });
    if (answer && answer->status == 200) return *answer;
    if (answer && !IsTemporary(answer->status)) return Refusal(name, *answer);
    if (!answer && answer.error().code != ErrorCode::kUnavailable) {
      return tl::unexpected(answer.error());
    }
    const std::string why =
        answer ? fmt::format("{}: status {}", url, answer->status) : answer.error().message;
    if (attempt >= patience.attempts) {
      return Fail(ErrorCode::kUnavailable, "{}: tried {} times: {}", NameOf(name), attempt, why);
    }
    Pause(attempt, answer.value_or(HttpAnswer()), why);
  }
}

tl::unexpected<Error> HubClient::Refusal(const HubName& name, const HttpAnswer& answer) const {
  const std::string code = answer.header("x-error-code");
  const std::string token = settings_.token.empty() ? "no token is set (HF_TOKEN)"
                                                    : "the token that is set has no access to it";
  if (code == "GatedRepo") {
    return Fail(ErrorCode::kNotFound,
                "{}: its authors want you to agree to their terms first, at {}/{}; {}",
                NameOf(name), settings_.endpoint, name.repository, token);
  }
  if (code == "RevisionNotFound") {
    return Fail(ErrorCode::kNotFound, "{}: there is no revision {}", NameOf(name),
                Quoted(name.revision));
  }
  if (code == "RepoNotFound" || answer.status == 401 || answer.status == 403 ||
      answer.status == 404) {
    return Fail(ErrorCode::kNotFound,
                "{}: {} has no such model, or it is private and {} (status {})", NameOf(name),
                settings_.endpoint, token, answer.status);
  }
  return Fail(ErrorCode::kInvalidArgument, "{}: {} answers with status {} {}", NameOf(name),
              answer.url.substr(0, answer.url.find('?')), answer.status,
              Quoted(answer.header("x-error-message")));
}

void HubClient::Pause(int attempt, const HttpAnswer& answer, const std::string& why) const {
  int seconds = 1 << std::min(attempt - 1, 5);
  const std::string wanted = answer.header("retry-after");
  if (int asked = 0;
      std::from_chars(wanted.data(), wanted.data() + wanted.size(), asked).ec == std::errc()) {
    seconds = std::clamp(asked, seconds, kMaxPauseSeconds);
  }
  say_(fmt::format("{}; trying again in {} s", why, seconds));
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
}

Result<std::vector<HubFile>> ReadTreePage(std::string_view json, std::string_view url) {
  WEFT_ASSIGN_OR_RETURN(const nlohmann::json page, ParseHubJson(json, url));
  if (!page.is_array()) {
    return Fail(ErrorCode::kCorrupt, "{}: the answer is no array of files", url);
  }
  std::vector<HubFile> files;
  for (const nlohmann::json& entry : page) {
    if (!entry.is_object() || TextOf(entry, "type") != "file") continue;
    HubFile file;
    file.path = TextOf(entry, "path");
    // Nothing is made of these names.
    if (!IsModelFile(file.path) || IsHidden(file.path)) continue;
    if (const Result<void> checked = CheckHubPath(file.path); !checked) {
      return Fail(ErrorCode::kCorrupt, "{}: {}", url, checked.error().message);
    }
    const auto lfs = entry.find("lfs");
    const bool is_lfs = lfs != entry.end() && lfs->is_object();
    const nlohmann::json& content = is_lfs ? *lfs : entry;
    file.blob_id = TextOf(content, "oid");
    const auto size = content.find("size");
    const bool has_size = size != content.end() && size->is_number_unsigned() &&
                          size->get<uint64_t>() <= kMaxFileBytes;
    const size_t id_digits = is_lfs ? 64 : 40;
    if (!has_size || !IsBlobId(file.blob_id) || file.blob_id.size() != id_digits) {
      return Fail(ErrorCode::kCorrupt, "{}: {}: expected a size and an oid of {} digits", url,
                  file.path, id_digits);
    }
    file.size = size->get<uint64_t>();
    files.push_back(std::move(file));
  }
  return files;
}

std::string NextPage(std::string_view link) {
  // <https://...>; rel="next", <...>; rel="..."
  while (!link.empty()) {
    const size_t begin = link.find('<');
    const size_t end = link.find('>', begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) break;
    const std::string_view url = link.substr(begin + 1, end - begin - 1);
    const size_t next = link.find('<', end);
    const std::string_view parameters = link.substr(end + 1, next - std::min(next, end + 1));
    if (parameters.find("rel=\"next\"") != std::string_view::npos) return std::string(url);
    link.remove_prefix(std::min(next, link.size()));
  }
  return {};
}

}  // namespace weft
