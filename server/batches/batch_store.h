// The batches of /v1/batches, and what has become of their lines so far.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "proto/api_error.h"
#include "proto/batches/batch_object.h"
#include "server/batches/file_store.h"
#include "server/http/list_page.h"

namespace weft {

// A batch and whose it is.
struct StoredBatch {
  int64_t sequence = 0;  // later ones have larger numbers
  std::string owner;     // a key's name; empty without keys
  BatchObject object;
};

struct BatchList {
  std::vector<BatchObject> batches;
  bool has_more = false;
};

// What a line has made: a line of the output file, or of the error file.
struct LineResult {
  int64_t line = 0;  // of the input, from 1
  bool is_error = false;
  std::string text;  // without its end
};

// Thread-safe; may wait for the disk. Of other owners' batches it is said what is said of those
// that never were (404 "batch_not_found").
class BatchStore {
 public:
  // In the files' database. `files` outlives it.
  explicit BatchStore(FileStore& files) : files_(files), database_(files.database()) {}

  // Gives it its id and times. Errors: its input is no file of this owner's, or none for batches;
  // 400 "too_many_batches".
  ApiResult<BatchObject> Create(const std::string& owner, BatchObject batch);
  ApiResult<BatchObject> Find(const std::string& owner, const std::string& id);
  ApiResult<BatchList> List(const std::string& owner, const ListPage& page);
  // From now on it is cancelling. Errors besides: 400 "batch_has_ended".
  ApiResult<BatchObject> Cancel(const std::string& owner, const std::string& id);

  // Those whose input has not been checked yet, the oldest first.
  Result<std::vector<StoredBatch>> Unchecked();
  // What there is to do: of each owner's that have not ended the oldest, and all that are being
  // cancelled; the oldest first.
  Result<std::vector<StoredBatch>> Unended();
  // Changes the batch, unless its status has become another than it was. False: it has.
  Result<bool> Update(const StoredBatch& batch, BatchStatus was);
  // Results and counts, all or none; takes the space, if there is some: false otherwise.
  Result<bool> AddResults(StoredBatch& batch, const std::vector<LineResult>& results);
  // The numbers of the lines that have a result.
  Result<std::set<int64_t>> LinesDone(const StoredBatch& batch);
  // Makes files of the results, which they replace, and gives the batch its last status and time,
  // all or nothing.
  Result<void> Finish(StoredBatch& batch, BatchStatus status);
  // Forgets batches that ended so long ago that their files are gone.
  Result<void> RemoveOld();

 private:
  // Of which this holds, in SQL; the oldest first.
  Result<std::vector<StoredBatch>> Where(std::string_view condition);
  Result<std::optional<StoredBatch>> Lookup(const std::string& owner, const std::string& id);
  Result<void> Save(const StoredBatch& batch);
  // The id of a file of these results, which is known with the transaction; nullopt: there are
  // none.
  Result<std::optional<std::string>> MakeOutput(const StoredBatch& batch, bool of_errors);

  FileStore& files_;
  Database& database_;
};

}  // namespace weft
