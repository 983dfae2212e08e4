// What is asked of the Hub. What it answers is not trusted: sizes, counts, names and contents are
// checked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/hub/http_client.h"
#include "server/hub/hub_file.h"
#include "server/hub/hub_name.h"
#include "server/hub/hub_settings.h"

namespace weft {

// How often something is tried that may help: after no connection, after 429 and 5xx. The pauses
// grow from one second; Retry-After is heeded, up to two minutes.
struct HubPatience {
  int attempts = 5;
};

// Not thread-safe. Errors: kUnavailable if the Hub cannot be reached or has no time, kNotFound if
// it has no such thing or hides it; all name what was asked for.
class HubClient {
 public:
  // `say` gets a line whenever something is tried again.
  HubClient(const HubSettings& settings, std::string user_agent,
            std::function<void(const std::string&)> say);

  // The commit that the revision is now.
  Result<std::string> CommitOf(const HubName& name, HubPatience patience);
  // All files of a commit whose names a model's file may have.
  Result<std::vector<HubFile>> ListFiles(const HubName& name, const std::string& commit);

  // Where a file's bytes go, in their order.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual uint64_t received() const = 0;  // bytes that are there
    virtual Result<void> Drop() = 0;        // all of them
    virtual Result<void> Take(std::string_view piece) = 0;
  };
  // Until the sink has `file.size` bytes, however often the connection breaks: the patience begins
  // anew with every byte.
  Result<void> Download(const HubName& name, const std::string& commit, const HubFile& file,
                        Sink& sink);

 private:
  // An answer with status 200; the whole body, at most `max_bytes`.
  Result<HttpAnswer> GetText(const HubName& name, const std::string& url, HubPatience patience,
                             std::string& body);
  // Why the Hub refuses.
  tl::unexpected<Error> Refusal(const HubName& name, const HttpAnswer& answer) const;
  void Pause(int attempt, const HttpAnswer& answer, const std::string& why) const;

  HubSettings settings_;
  HttpClient http_;
  std::function<void(const std::string&)> say_;
};

// What a page of a repository's tree lists. Files that no model has are left out; errors name what
// is wrong with one.
Result<std::vector<HubFile>> ReadTreePage(std::string_view json, std::string_view url);

// Of a Link header the URL with rel="next"; empty: there is none.
std::string NextPage(std::string_view link);

}  // namespace weft
