// What the environment says about the Hub, as huggingface_hub reads it (its constants.py and
// utils/_auth.py, 2.4.0).
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace weft {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT, no '/' at its end
  std::string token;             // HF_TOKEN, or the file at HF_TOKEN_PATH; empty: none
  std::string cache_path;        // HF_HUB_CACHE, or hub/ in HF_HOME
  std::string certificate_path;  // SSL_CERT_FILE: PEM; empty: the system's
  bool is_offline = false;       // HF_HUB_OFFLINE
};

// A variable's value; nullptr: it is not set.
using HubEnvironment = std::function<const char*(const char* name)>;

// Variables that are empty count as not set. Errors name the variable or the file: an endpoint that
// is no URL, a token with characters that no header may have, nowhere to have the cache.
Result<HubSettings> ReadHubSettings(const HubEnvironment& environment);

}  // namespace weft
