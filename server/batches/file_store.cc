#include "server/batches/file_store.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/log.h"

namespace weft {
namespace {

constexpr int64_t kMaxFilesOfOwner = 10'000;
constexpr char kFileColumns[] = "id, filename, purpose, bytes, created_at, expires_at";
constexpr char kFileTables[] =
    "CREATE TABLE IF NOT EXISTS files ("
    "  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL,"
    "  filename TEXT NOT NULL, purpose TEXT NOT NULL, bytes INTEGER NOT NULL,"
    "  created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL);"
    "CREATE INDEX IF NOT EXISTS files_of_owner ON files (owner, sequence);"
    "CREATE TABLE IF NOT EXISTS batches ("
    "  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL,"
    "  input_file_id TEXT NOT NULL, has_ended INTEGER NOT NULL, status TEXT NOT NULL,"
    "  ended_at INTEGER, state TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS batches_of_owner ON batches (owner, sequence);"
    "CREATE INDEX IF NOT EXISTS unended_batches ON batches (sequence) WHERE NOT has_ended;"
    "CREATE TABLE IF NOT EXISTS results ("
    "  batch INTEGER NOT NULL REFERENCES batches (sequence), line INTEGER NOT NULL,"
    "  is_error INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (batch, line));";

ApiError FileNotFound(std::string_view id) {
  ApiError error =
      InvalidField("file_id", fmt::format("there is no file '{}' (any more)", id.substr(0, 100)));
  error.status = 404;
  error.code = "file_not_found";
  return error;
}

FileObject FileOf(const Statement& row) {
  return {.id = row.Text(0),
          .filename = row.Text(1),
          .purpose = row.Text(2),
          .size_bytes = row.Integer(3),
          .created_at = row.Integer(4),
          .expires_at = row.Integer(5)};
}

// Made if it is not there; otherwise a directory that nobody else may look into.
Result<void> MakePrivate(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Fail(ErrorCode::kInternal, "{}: cannot make the directory: {}", path,
                std::strerror(errno));
  }
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    return Fail(ErrorCode::kInternal, "{}: cannot read it: {}", path, std::strerror(errno));
  }
  if (!S_ISDIR(status.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: not a directory", path);
  }
  constexpr mode_t kOthers = 077;
  if ((status.st_mode & kOthers) != 0 || status.st_uid != geteuid()) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: others may look into it (owner {}, mode {:04o}); it must be this user's, with "
                "mode 0700",
                path, status.st_uid, status.st_mode & 07777U);
  }
  return {};
}

}  // namespace

std::string MakeStoredId(std::string_view prefix) {
  std::random_device device;
  std::string id(prefix);
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", device());
  return id;
}

ApiError StoreFailure(const Error& error) {
  Log(LogLevel::kError, "--files-dir: {}", error.message);
  if (error.code == ErrorCode::kResourceExhausted) {
    return HttpError(503, "no_disk_space", "the server's disk is full; try again later");
  }
  return HttpError(500, "internal_error", "the files cannot be used; the server's log says why");
}

Result<std::unique_ptr<FileStore>> FileStore::Open(FileStoreOptions options) {
  std::unique_ptr<FileStore> store(new FileStore(std::move(options)));
  const std::string& directory = store->options_.directory;
  for (const std::string& path : {directory, directory + "/content", directory + "/incoming"}) {
    WEFT_RETURN_IF_ERROR(MakePrivate(path));
  }
  WEFT_RETURN_IF_ERROR(store->Lock());
  const std::string path = directory + "/weft.db";
  // SQLite would make it readable to others; the files beside it get its mode.
  const int made = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (made >= 0) close(made);
  WEFT_ASSIGN_OR_RETURN(store->database_, Database::Open(path));
  WEFT_RETURN_IF_ERROR(store->database_->Execute(kFileTables));
  WEFT_RETURN_IF_ERROR(store->RemoveStrangers());
  WEFT_RETURN_IF_ERROR(store->CountSpace());
  return store;
}

FileStore::~FileStore() {
  database_.reset();
  if (lock_ >= 0) close(lock_);
}

Result<void> FileStore::Lock() {
  const std::string path = options_.directory + "/lock";
  lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (lock_ < 0) {
    return Fail(ErrorCode::kInternal, "{}: cannot open it: {}", path, std::strerror(errno));
  }
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return {};
  return Fail(ErrorCode::kUnavailable, "{}: another process uses this directory",
              options_.directory);
}

std::string FileStore::ContentPath(const std::string& id) const {
  return options_.directory + "/content/" + id;
}

std::string FileStore::IncomingPath(const std::string& id) const {
  return options_.directory + "/incoming/" + id;
}

// What nothing is known of: uploads that broke off, and contents whose last step was not done.
Result<void> FileStore::RemoveStrangers() {
  std::error_code error;
  const auto entries_of = [&](const char* folder) {
    return std::filesystem::directory_iterator(options_.directory + folder, error);
  };
  for (const auto& entry : entries_of("/incoming")) std::filesystem::remove(entry.path(), error);
  for (const auto& entry : entries_of("/content")) {
    WEFT_ASSIGN_OR_RETURN(Statement known, database_->Prepare("SELECT 1 FROM files WHERE id=?"));
    WEFT_ASSIGN_OR_RETURN(const bool is_known, known.Bind(entry.path().filename().string()).Step());
    if (!is_known) std::filesystem::remove(entry.path(), error);
  }
  if (!error) return {};
  return Fail(ErrorCode::kInternal, "{}: {}", options_.directory, error.message());
}

Result<void> FileStore::CountSpace() {
  WEFT_ASSIGN_OR_RETURN(
      Statement sums,
      database_->Prepare("SELECT owner, SUM(bytes) FROM files GROUP BY owner UNION ALL "
                         "SELECT owner, SUM(LENGTH(CAST(text AS BLOB)) + 1) FROM results "
                         "JOIN batches ON batch = sequence GROUP BY owner"));
  while (true) {
    WEFT_ASSIGN_OR_RETURN(const bool has_row, sums.Step());
    if (!has_row) return {};
    const auto bytes = static_cast<uint64_t>(sums.Integer(1));
    used_by_owner_[sums.Text(0)] += bytes;
    used_bytes_ += bytes;
  }
}

bool FileStore::TakeSpace(const std::string& owner, uint64_t bytes) {
  const std::lock_guard lock(space_mutex_);
  uint64_t& own_bytes = used_by_owner_[owner];
  const uint64_t share_bytes = owner.empty() ? options_.max_bytes : options_.max_bytes / 2;
  if (used_bytes_ + bytes > options_.max_bytes || own_bytes + bytes > share_bytes) return false;
  used_bytes_ += bytes;
  own_bytes += bytes;
  return true;
}

void FileStore::GiveSpace(const std::string& owner, uint64_t bytes) {
  const std::lock_guard lock(space_mutex_);
  used_bytes_ -= bytes;
  used_by_owner_[owner] -= bytes;
}

uint64_t FileStore::used_bytes() const {
  const std::lock_guard lock(space_mutex_);
  return used_bytes_;
}

FileStore::Upload::Upload(FileStore& store, std::string owner, std::string id, NewContent content)
    : store_(store), owner_(std::move(owner)), id_(std::move(id)), content_(std::move(content)) {}

FileStore::Upload::~Upload() { store_.GiveSpace(owner_, taken_bytes_); }

ApiResult<void> FileStore::Upload::Write(std::string_view bytes) {
  if (content_.size_bytes() + bytes.size() > kMaxFileBytes) {
    return tl::unexpected(HttpError(413, "file_too_large",
                                    fmt::format("a file has at most {} bytes", kMaxFileBytes)));
  }
  if (!store_.TakeSpace(owner_, bytes.size())) {
    return tl::unexpected(
        HttpError(413, "file_space_spent",
                  "there is no space for this file; delete others, or wait until they expire"));
  }
  taken_bytes_ += bytes.size();
  const Result<void> written = content_.Write(bytes);
  if (!written) return tl::unexpected(StoreFailure(written.error()));
  return {};
}

ApiResult<FileObject> FileStore::Upload::Keep(const UploadFields& fields) {
  const int64_t now = store_.now();
  FileObject file{.id = id_,
                  .filename = fields.filename,
                  .purpose = kBatchPurpose,
                  .size_bytes = static_cast<int64_t>(content_.size_bytes()),
                  .created_at = now,
                  .expires_at = now + fields.expiry_seconds};
  Result<void> kept = content_.Place(store_.ContentPath(id_));
  if (kept) {
    const std::lock_guard lock(store_.database_->mutex());
    kept = store_.Insert(owner_, file);
  }
  if (!kept) {
    unlink(store_.ContentPath(id_).c_str());
    return tl::unexpected(StoreFailure(kept.error()));
  }
  taken_bytes_ = 0;  // the file's from now on
  return file;
}

ApiResult<std::unique_ptr<FileStore::Upload>> FileStore::BeginUpload(const std::string& owner) {
  const auto count = [&]() -> Result<int64_t> {
    const std::lock_guard lock(database_->mutex());
    WEFT_ASSIGN_OR_RETURN(Statement files,
                          database_->Prepare("SELECT COUNT(*) FROM files WHERE owner=?"));
    WEFT_RETURN_IF_ERROR(files.Bind(owner).Step());
    return files.Integer(0);
  };
  const Result<int64_t> file_count = count();
  if (!file_count) return tl::unexpected(StoreFailure(file_count.error()));
  if (*file_count >= kMaxFilesOfOwner) {
    return tl::unexpected(
        HttpError(400, "too_many_files",
                  fmt::format("there are {} files; delete some of them", *file_count)));
  }
  std::string id = MakeStoredId("file-");
  Result<NewContent> content = NewContent::Create(IncomingPath(id));
  if (!content) return tl::unexpected(StoreFailure(content.error()));
  return std::make_unique<Upload>(*this, owner, std::move(id), *std::move(content));
}

Result<RegularFile> FileStore::OpenInput(const std::string& id) {
  return RegularFile::Open(ContentPath(id));
}

Result<NewContent> FileStore::BeginOutput(const std::string& id) {
  return NewContent::Create(IncomingPath(id));
}

Result<void> FileStore::KeepOutput(NewContent content, const std::string& owner,
                                   const FileObject& file) {
  WEFT_RETURN_IF_ERROR(content.Place(ContentPath(file.id)));
  return Insert(owner, file);
}

Result<void> FileStore::Insert(const std::string& owner, const FileObject& file) {
  WEFT_ASSIGN_OR_RETURN(
      Statement insert,
      database_->Prepare("INSERT INTO files (id, filename, purpose, bytes, created_at, expires_at, "
                         "owner) VALUES (?, ?, ?, ?, ?, ?, ?)"));
  return insert.Bind(file.id)
      .Bind(file.filename)
      .Bind(file.purpose)
      .Bind(file.size_bytes)
      .Bind(file.created_at)
      .Bind(file.expires_at)
      .Bind(owner)
      .Run();
}

Result<std::optional<FileObject>> FileStore::Lookup(const std::string& owner,
                                                    const std::string& id) {
  WEFT_ASSIGN_OR_RETURN(
      Statement select,
      database_->Prepare(fmt::format("SELECT {} FROM files WHERE owner=? AND id=? AND expires_at>?",
                                     kFileColumns)));
  WEFT_ASSIGN_OR_RETURN(const bool is_there, select.Bind(owner).Bind(id).Bind(now()).Step());
  if (!is_there) return std::nullopt;
  return FileOf(select);
}

ApiResult<FileObject> FileStore::Find(const std::string& owner, const std::string& id) {
  const std::lock_guard lock(database_->mutex());
  Result<std::optional<FileObject>> file = Lookup(owner, id);
  if (!file) return tl::unexpected(StoreFailure(file.error()));
  if (!*file) return tl::unexpected(FileNotFound(id));
  return **std::move(file);
}

ApiResult<FileList> FileStore::List(const std::string& owner,
                                    const std::optional<std::string>& purpose,
                                    const ListPage& page) {
  const std::lock_guard lock(database_->mutex());
  const char* const order = page.newest_first ? "DESC" : "ASC";
  const char* const behind = page.newest_first ? "<" : ">";
  const auto list = [&]() -> Result<FileList> {
    WEFT_ASSIGN_OR_RETURN(
        Statement select,
        database_->Prepare(fmt::format(
            "SELECT {} FROM files WHERE owner=?1 AND expires_at>?2 AND (?3 IS NULL OR purpose=?3) "
            "AND (?4 IS NULL OR sequence {} (SELECT sequence FROM files WHERE id=?4 AND owner=?1)) "
            "ORDER BY sequence {} LIMIT ?5",
            kFileColumns, behind, order)));
    select.Bind(owner).Bind(now()).Bind(purpose).Bind(page.after).Bind(int64_t{page.limit} + 1);
    FileList found;
    while (true) {
      WEFT_ASSIGN_OR_RETURN(const bool has_row, select.Step());
      if (!has_row) return found;
      found.has_more = std::ssize(found.files) == page.limit;
      if (!found.has_more) found.files.push_back(FileOf(select));
    }
  };
  if (page.after) {
    const Result<std::optional<FileObject>> before = Lookup(owner, *page.after);
    if (!before) return tl::unexpected(StoreFailure(before.error()));
    if (!*before) {
      return tl::unexpected(InvalidField(
          "after", fmt::format("'after': there is no file '{}'", page.after->substr(0, 100))));
    }
  }
  Result<FileList> found = list();
  if (!found) return tl::unexpected(StoreFailure(found.error()));
  return *std::move(found);
}

ApiResult<void> FileStore::Delete(const std::string& owner, const std::string& id) {
  const std::lock_guard lock(database_->mutex());
  const Result<std::optional<FileObject>> file = Lookup(owner, id);
  if (!file) return tl::unexpected(StoreFailure(file.error()));
  if (!*file) return tl::unexpected(FileNotFound(id));
  const auto remove = [&]() -> Result<bool> {
    WEFT_ASSIGN_OR_RETURN(
        Statement statement,
        database_->Prepare("DELETE FROM files WHERE id=?1 AND NOT EXISTS (SELECT 1 FROM batches "
                           "WHERE input_file_id=?1 AND NOT has_ended)"));
    WEFT_RETURN_IF_ERROR(statement.Bind(id).Run());
    return database_->changed_rows() > 0;
  };
  const Result<bool> is_removed = remove();
  if (!is_removed) return tl::unexpected(StoreFailure(is_removed.error()));
  if (!*is_removed) {
    return tl::unexpected(HttpError(
        400, "file_in_use", "a batch that has not ended reads this file; cancel the batch first"));
  }
  RemoveContent(owner, **file);
  return {};
}

void FileStore::RemoveContent(const std::string& owner, const FileObject& file) {
  unlink(ContentPath(file.id).c_str());
  GiveSpace(owner, static_cast<uint64_t>(file.size_bytes));
}

ApiResult<RegularFile> FileStore::OpenContent(const std::string& owner, const std::string& id) {
  const ApiResult<FileObject> file = Find(owner, id);
  if (!file) return tl::unexpected(file.error());
  Result<RegularFile> content = RegularFile::Open(ContentPath(file->id));
  if (!content) return tl::unexpected(StoreFailure(content.error()));
  return *std::move(content);
}

Result<void> FileStore::RemoveExpired() {
  const std::lock_guard lock(database_->mutex());
  std::vector<std::pair<std::string, FileObject>> expired;
  WEFT_ASSIGN_OR_RETURN(
      Statement select,
      database_->Prepare(fmt::format(
          "SELECT {}, owner FROM files WHERE expires_at<=? AND NOT EXISTS (SELECT 1 FROM batches "
          "WHERE input_file_id=files.id AND NOT has_ended)",
          kFileColumns)));
  select.Bind(now());
  while (true) {
    WEFT_ASSIGN_OR_RETURN(const bool has_row, select.Step());
    if (!has_row) break;
    expired.emplace_back(select.Text(6), FileOf(select));
  }
  for (const auto& [owner, file] : expired) {
    WEFT_ASSIGN_OR_RETURN(Statement remove, database_->Prepare("DELETE FROM files WHERE id=?"));
    WEFT_RETURN_IF_ERROR(remove.Bind(file.id).Run());
    RemoveContent(owner, file);
  }
  return {};
}

}  // namespace weft
