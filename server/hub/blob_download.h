// One file, from the Hub into the cache.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "server/hub/download_progress.h"
#include "server/hub/hub_cache.h"
#include "server/hub/hub_client.h"
#include "server/hub/hub_file.h"
#include "server/hub/hub_name.h"

namespace weft {

// Bytes that are still to come for a file: none if its blob is there.
uint64_t MissingBytes(const HubCache& cache, const std::string& repository, const HubFile& file);

// Makes the file part of the snapshot: links its blob if that is there, otherwise goes on with a
// download that was interrupted, or begins one. Waits for another process that does the same. The
// content is checked; one that is wrong is deleted (what an earlier download had left is fetched
// anew once).
Result<void> FetchFile(HubClient& client, const HubCache& cache, const HubName& name,
                       const std::string& commit, const HubFile& file, DownloadProgress& progress,
                       const std::function<void(const std::string&)>& say);

}  // namespace weft
