// The files of /v1/files: their contents and what is known of them, in one directory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/regular_file.h"
#include "base/result.h"
#include "proto/api_error.h"
#include "proto/files/file_object.h"
#include "proto/files/upload_form.h"
#include "server/batches/database.h"
#include "server/batches/new_content.h"
#include "server/http/list_page.h"

namespace weft {

struct FileStoreOptions {
  std::string directory;         // nobody else's: mode 0700
  uint64_t max_bytes = 0;        // of all contents
  std::function<int64_t()> now;  // seconds since 1970
};

struct FileList {
  std::vector<FileObject> files;
  bool has_more = false;
};

// "file-" and 128 random bits: nobody can guess it.
std::string MakeStoredId(std::string_view prefix);
// What a client is told of a failure that is not its own; the log has the rest.
ApiError StoreFailure(const Error& error);

// Thread-safe; may wait for the disk. An owner is a key's name, empty without keys; of others'
// files it is said what is said of those that never were (404 "file_not_found").
class FileStore {
 public:
  // Makes the directory if it is not there, and locks it. What an unclean end has left half-done
  // is removed. Errors name the place: another process has it, others may read it.
  static Result<std::unique_ptr<FileStore>> Open(FileStoreOptions options);
  ~FileStore();
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;

  Database& database() { return *database_; }
  int64_t now() const { return options_.now(); }

  // A file that a client sends; gone with this unless it was kept.
  class Upload {
   public:
    Upload(FileStore& store, std::string owner, std::string id, NewContent content);
    ~Upload();
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    // Errors: 413 "file_too_large", "file_space_spent".
    ApiResult<void> Write(std::string_view bytes);
    ApiResult<FileObject> Keep(const UploadFields& fields);

   private:
    FileStore& store_;
    const std::string owner_;
    const std::string id_;
    NewContent content_;
    uint64_t taken_bytes_ = 0;  // of the store's space
  };
  // Errors: 400 "too_many_files".
  ApiResult<std::unique_ptr<Upload>> BeginUpload(const std::string& owner);

  ApiResult<FileObject> Find(const std::string& owner, const std::string& id);
  // `purpose`: of these alone; nullopt: of all.
  ApiResult<FileList> List(const std::string& owner, const std::optional<std::string>& purpose,
                           const ListPage& page);
  // Errors besides: 400 "file_in_use", by a batch that has not ended.
  ApiResult<void> Delete(const std::string& owner, const std::string& id);
  ApiResult<RegularFile> OpenContent(const std::string& owner, const std::string& id);

  // For batches: what they read, which may have expired meanwhile.
  Result<RegularFile> OpenInput(const std::string& id);
  // What they make of their results. The space is taken already.
  Result<NewContent> BeginOutput(const std::string& id);
  // Places it and makes it known; its database is locked, and in a transaction.
  Result<void> KeepOutput(NewContent content, const std::string& owner, const FileObject& file);
  // False: all that may be taken is taken, by everybody or by this owner.
  bool TakeSpace(const std::string& owner, uint64_t bytes);
  void GiveSpace(const std::string& owner, uint64_t bytes);
  uint64_t used_bytes() const;
  uint64_t max_bytes() const { return options_.max_bytes; }

  // Removes what has expired and no batch reads.
  Result<void> RemoveExpired();

 private:
  explicit FileStore(FileStoreOptions options) : options_(std::move(options)) {}

  Result<void> Lock();
  Result<void> MakeTables();
  Result<void> CountSpace();
  Result<void> RemoveStrangers();
  std::string ContentPath(const std::string& id) const;
  std::string IncomingPath(const std::string& id) const;
  Result<void> Insert(const std::string& owner, const FileObject& file);
  Result<std::optional<FileObject>> Lookup(const std::string& owner, const std::string& id);
  void RemoveContent(const std::string& owner, const FileObject& file);

  const FileStoreOptions options_;
  int lock_ = -1;
  std::unique_ptr<Database> database_;
  mutable std::mutex space_mutex_;
  uint64_t used_bytes_ = 0;
  std::map<std::string, uint64_t, std::less<>> used_by_owner_;
};

}  // namespace weft
