#include "server/batches/batch_store.h"

#include <utility>

#include <fmt/core.h>

namespace weft {
namespace {

constexpr int64_t kWindowSeconds = 24 * 3600;
constexpr int64_t kMaxUnendedBatches = 100;  // of an owner
constexpr int64_t kMaxBatches = 10'000;      // of an owner, with those that have ended
constexpr char kBatchColumns[] = "sequence, owner, state";

ApiError BatchNotFound(std::string_view id) {
  ApiError error =
      InvalidField("batch_id", fmt::format("there is no batch '{}' (any more)", id.substr(0, 100)));
  error.status = 404;
  error.code = "batch_not_found";
  return error;
}

Result<StoredBatch> StoredBatchOf(const Statement& row) {
  ApiResult<BatchObject> object = ParseBatchState(row.Text(2));
  if (!object) return Fail(ErrorCode::kCorrupt, "a batch's state: {}", object.error().message);
  return StoredBatch{
      .sequence = row.Integer(0), .owner = row.Text(1), .object = *std::move(object)};
}

// When it was for the last time that something happened to it.
std::optional<int64_t>& EndOf(BatchObject& batch) {
  switch (batch.status) {
    case BatchStatus::kFailed:
      return batch.failed_at;
    case BatchStatus::kExpired:
      return batch.expired_at;
    case BatchStatus::kCancelled:
      return batch.cancelled_at;
    default:
      return batch.completed_at;
  }
}

}  // namespace

ApiResult<BatchObject> BatchStore::Create(const std::string& owner, BatchObject batch) {
  WEFT_ASSIGN_OR_RETURN(const FileObject input, files_.Find(owner, batch.input_file_id));
  if (input.purpose != kBatchPurpose) {
    return tl::unexpected(InvalidField(
        "input_file_id", fmt::format("'input_file_id': the file's purpose is {}, not {}",
                                     input.purpose, kBatchPurpose)));
  }
  batch.id = MakeStoredId("batch_");
  batch.created_at = files_.now();
  batch.expires_at = batch.created_at + kWindowSeconds;
  const std::lock_guard lock(database_.mutex());
  const auto insert = [&]() -> Result<bool> {
    WEFT_ASSIGN_OR_RETURN(
        Statement statement,
        database_.Prepare("INSERT INTO batches (id, owner, input_file_id, has_ended, status, state)"
                          " SELECT ?1, ?2, ?3, 0, ?4, ?5 WHERE"
                          " EXISTS (SELECT 1 FROM files WHERE id=?3) AND"
                          " (SELECT COUNT(*) FROM batches WHERE owner=?2) < ?6 AND"
                          " (SELECT COUNT(*) FROM batches WHERE owner=?2 AND NOT has_ended) < ?7"));
    WEFT_RETURN_IF_ERROR(statement.Bind(batch.id)
                             .Bind(owner)
                             .Bind(batch.input_file_id)
                             .Bind(std::string(NameOf(batch.status)))
                             .Bind(BatchStateJson(batch))
                             .Bind(kMaxBatches)
                             .Bind(kMaxUnendedBatches)
                             .Run());
    return database_.changed_rows() > 0;
  };
  const Result<bool> is_inserted = insert();
  if (!is_inserted) return tl::unexpected(StoreFailure(is_inserted.error()));
  if (*is_inserted) return batch;
  return tl::unexpected(
      HttpError(400, "too_many_batches",
                fmt::format("at most {} batches that have not ended, and {} in 30 days",
                            kMaxUnendedBatches, kMaxBatches)));
}

Result<std::optional<StoredBatch>> BatchStore::Lookup(const std::string& owner,
                                                      const std::string& id) {
  WEFT_ASSIGN_OR_RETURN(Statement select,
                        database_.Prepare(fmt::format(
                            "SELECT {} FROM batches WHERE owner=? AND id=?", kBatchColumns)));
  WEFT_ASSIGN_OR_RETURN(const bool is_there, select.Bind(owner).Bind(id).Step());
  if (!is_there) return std::nullopt;
  WEFT_ASSIGN_OR_RETURN(StoredBatch batch, StoredBatchOf(select));
  return batch;
}

ApiResult<BatchObject> BatchStore::Find(const std::string& owner, const std::string& id) {
  const std::lock_guard lock(database_.mutex());
  Result<std::optional<StoredBatch>> batch = Lookup(owner, id);
  if (!batch) return tl::unexpected(StoreFailure(batch.error()));
  if (!*batch) return tl::unexpected(BatchNotFound(id));
  return (*std::move(*batch)).object;
}

ApiResult<BatchList> BatchStore::List(const std::string& owner, const ListPage& page) {
  const std::lock_guard lock(database_.mutex());
  if (page.after) {
    const Result<std::optional<StoredBatch>> before = Lookup(owner, *page.after);
    if (!before) return tl::unexpected(StoreFailure(before.error()));
    if (!*before) {
      return tl::unexpected(InvalidField(
          "after", fmt::format("'after': there is no batch '{}'", page.after->substr(0, 100))));
    }
  }
  const auto list = [&]() -> Result<BatchList> {
    WEFT_ASSIGN_OR_RETURN(
        Statement select,
        database_.Prepare(fmt::format(
            "SELECT {} FROM batches WHERE owner=?1 AND (?2 IS NULL OR sequence {} (SELECT sequence "
            "FROM batches WHERE id=?2 AND owner=?1)) ORDER BY sequence {} LIMIT ?3",
            kBatchColumns, page.newest_first ? "<" : ">", page.newest_first ? "DESC" : "ASC")));
    select.Bind(owner).Bind(page.after).Bind(int64_t{page.limit} + 1);
    BatchList found;
    while (true) {
      WEFT_ASSIGN_OR_RETURN(const bool has_row, select.Step());
      if (!has_row) return found;
      found.has_more = std::ssize(found.batches) == page.limit;
      if (found.has_more) continue;
      WEFT_ASSIGN_OR_RETURN(StoredBatch batch, StoredBatchOf(select));
      found.batches.push_back(std::move(batch.object));
    }
  };
  Result<BatchList> found = list();
  if (!found) return tl::unexpected(StoreFailure(found.error()));
  return *std::move(found);
}

ApiResult<BatchObject> BatchStore::Cancel(const std::string& owner, const std::string& id) {
  const std::lock_guard lock(database_.mutex());
  Result<std::optional<StoredBatch>> found = Lookup(owner, id);
  if (!found) return tl::unexpected(StoreFailure(found.error()));
  if (!*found) return tl::unexpected(BatchNotFound(id));
  StoredBatch& batch = **found;
  if (HasEnded(batch.object.status) || batch.object.status == BatchStatus::kFinalizing) {
    return tl::unexpected(HttpError(
        400, "batch_has_ended",
        fmt::format("the batch is {}: there is nothing to cancel", NameOf(batch.object.status))));
  }
  if (batch.object.status != BatchStatus::kCancelling) {
    batch.object.status = BatchStatus::kCancelling;
    batch.object.cancelling_at = files_.now();
    const Result<void> saved = Save(batch);
    if (!saved) return tl::unexpected(StoreFailure(saved.error()));
  }
  return std::move(batch.object);
}

Result<void> BatchStore::Save(const StoredBatch& batch) {
  WEFT_ASSIGN_OR_RETURN(Statement update,
                        database_.Prepare("UPDATE batches SET status=?, has_ended=?, ended_at=?, "
                                          "state=? WHERE sequence=?"));
  BatchObject object = batch.object;
  const bool has_ended = HasEnded(object.status);
  return update.Bind(std::string(NameOf(object.status)))
      .Bind(int64_t{has_ended})
      .Bind(has_ended ? EndOf(object) : std::nullopt)
      .Bind(BatchStateJson(object))
      .Bind(batch.sequence)
      .Run();
}

Result<std::vector<StoredBatch>> BatchStore::Unchecked() {
  return Where("NOT has_ended AND status='validating'");
}

Result<std::vector<StoredBatch>> BatchStore::Unended() {
  return Where(
      "NOT has_ended AND (status='cancelling' OR sequence IN "
      "(SELECT MIN(sequence) FROM batches WHERE NOT has_ended GROUP BY owner))");
}

Result<std::vector<StoredBatch>> BatchStore::Where(std::string_view condition) {
  const std::lock_guard lock(database_.mutex());
  WEFT_ASSIGN_OR_RETURN(Statement select, database_.Prepare(fmt::format(
                                              "SELECT {} FROM batches WHERE {} ORDER BY sequence",
                                              kBatchColumns, condition)));
  std::vector<StoredBatch> batches;
  while (true) {
    WEFT_ASSIGN_OR_RETURN(const bool has_row, select.Step());
    if (!has_row) return batches;
    WEFT_ASSIGN_OR_RETURN(StoredBatch batch, StoredBatchOf(select));
    batches.push_back(std::move(batch));
  }
}

Result<bool> BatchStore::Update(const StoredBatch& batch, BatchStatus was) {
  const std::lock_guard lock(database_.mutex());
  WEFT_ASSIGN_OR_RETURN(const std::optional<StoredBatch> now, Lookup(batch.owner, batch.object.id));
  if (!now || now->object.status != was) return false;
  WEFT_RETURN_IF_ERROR(Save(batch));
  return true;
}

Result<bool> BatchStore::AddResults(StoredBatch& batch, const std::vector<LineResult>& results) {
  uint64_t size_bytes = 0;
  int64_t error_count = 0;
  for (const LineResult& result : results) {
    size_bytes += result.text.size() + 1;
    error_count += result.is_error ? 1 : 0;
  }
  if (!files_.TakeSpace(batch.owner, size_bytes)) return false;
  const auto add = [&]() -> Result<void> {
    const std::lock_guard lock(database_.mutex());
    WEFT_ASSIGN_OR_RETURN(Database::Transaction transaction,
                          Database::Transaction::Begin(database_));
    for (const LineResult& result : results) {
      WEFT_ASSIGN_OR_RETURN(Statement insert,
                            database_.Prepare("INSERT INTO results (batch, line, is_error, text) "
                                              "VALUES (?, ?, ?, ?)"));
      WEFT_RETURN_IF_ERROR(insert.Bind(batch.sequence)
                               .Bind(result.line)
                               .Bind(int64_t{result.is_error})
                               .Bind(result.text)
                               .Run());
    }
    // Somebody may have cancelled it: of the batch, the counts alone are changed.
    WEFT_ASSIGN_OR_RETURN(std::optional<StoredBatch> now, Lookup(batch.owner, batch.object.id));
    if (!now) return Fail(ErrorCode::kInternal, "the batch {} is gone", batch.object.id);
    now->object.failed_count += error_count;
    now->object.completed_count += std::ssize(results) - error_count;
    WEFT_RETURN_IF_ERROR(Save(*now));
    WEFT_RETURN_IF_ERROR(transaction.Commit());
    batch.object = now->object;
    return {};
  };
  const Result<void> added = add();
  if (added) return true;
  files_.GiveSpace(batch.owner, size_bytes);
  return tl::unexpected(added.error());
}

Result<std::set<int64_t>> BatchStore::LinesDone(const StoredBatch& batch) {
  const std::lock_guard lock(database_.mutex());
  WEFT_ASSIGN_OR_RETURN(Statement select,
                        database_.Prepare("SELECT line FROM results WHERE batch=?"));
  select.Bind(batch.sequence);
  std::set<int64_t> lines;
  while (true) {
    WEFT_ASSIGN_OR_RETURN(const bool has_row, select.Step());
    if (!has_row) return lines;
    lines.insert(select.Integer(0));
  }
}

Result<std::optional<std::string>> BatchStore::MakeOutput(const StoredBatch& batch,
                                                          bool of_errors) {
  WEFT_ASSIGN_OR_RETURN(Statement select,
                        database_.Prepare("SELECT text FROM results WHERE batch=? AND is_error=? "
                                          "ORDER BY line"));
  select.Bind(batch.sequence).Bind(int64_t{of_errors});
  WEFT_ASSIGN_OR_RETURN(bool has_row, select.Step());
  if (!has_row) return std::nullopt;
  FileObject file{
      .id = MakeStoredId("file-"),
      .filename = fmt::format("{}_{}.jsonl", batch.object.id, of_errors ? "error" : "output"),
      .purpose = kOutputPurpose,
      .created_at = files_.now()};
  file.expires_at = file.created_at + batch.object.output_expiry_seconds;
  WEFT_ASSIGN_OR_RETURN(NewContent content, files_.BeginOutput(file.id));
  while (has_row) {
    WEFT_RETURN_IF_ERROR(content.Write(select.Text(0) + '\n'));
    WEFT_ASSIGN_OR_RETURN(has_row, select.Step());
  }
  file.size_bytes = static_cast<int64_t>(content.size_bytes());
  WEFT_RETURN_IF_ERROR(files_.KeepOutput(std::move(content), batch.owner, file));
  return file.id;
}

Result<void> BatchStore::Finish(StoredBatch& batch, BatchStatus status) {
  const std::lock_guard lock(database_.mutex());
  WEFT_ASSIGN_OR_RETURN(Database::Transaction transaction, Database::Transaction::Begin(database_));
  StoredBatch ended = batch;
  WEFT_ASSIGN_OR_RETURN(ended.object.output_file_id, MakeOutput(batch, false));
  WEFT_ASSIGN_OR_RETURN(ended.object.error_file_id, MakeOutput(batch, true));
  ended.object.status = status;
  EndOf(ended.object) = files_.now();
  WEFT_ASSIGN_OR_RETURN(Statement remove, database_.Prepare("DELETE FROM results WHERE batch=?"));
  WEFT_RETURN_IF_ERROR(remove.Bind(batch.sequence).Run());
  WEFT_RETURN_IF_ERROR(Save(ended));
  WEFT_RETURN_IF_ERROR(transaction.Commit());
  batch = std::move(ended);
  return {};
}

Result<void> BatchStore::RemoveOld() {
  const std::lock_guard lock(database_.mutex());
  WEFT_ASSIGN_OR_RETURN(Statement remove,
                        database_.Prepare("DELETE FROM batches WHERE has_ended AND ended_at<?"));
  return remove.Bind(files_.now() - kMaxExpirySeconds).Run();
}

}  // namespace weft
