// huggingface_hub's cache on disk, in its own layout (its file_download.py, 2.4.0), so that what
// one fetched the other finds:
//
//   models--ORG--REPO/blobs/ID               contents, by HubFile::blob_id
//   models--ORG--REPO/blobs/ID.incomplete    a download that goes on
//   models--ORG--REPO/refs/REVISION          the commit that a branch or tag was last seen at
//   models--ORG--REPO/snapshots/COMMIT/PATH  relative symbolic links to blobs
//   .locks/models--ORG--REPO/ID.lock         held (flock) by who writes a blob or its links
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/hub/hub_file.h"

namespace weft {

// Held until it is destroyed. The file stays, as huggingface_hub leaves it.
class FileLock {
 public:
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

  // nullopt: somebody else holds it.
  static Result<std::optional<FileLock>> Try(const std::string& path);

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

class HubCache {
 public:
  explicit HubCache(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string RepositoryPath(std::string_view repository) const;
  std::string SnapshotPath(std::string_view repository, std::string_view commit) const;
  std::string BlobPath(std::string_view repository, std::string_view blob_id) const;
  std::string LockPath(std::string_view repository, std::string_view blob_id) const;

  // "ORG/REPO" of those that the cache has, sorted. What else lies there is left out.
  std::vector<std::string> Repositories() const;
  // Commits that have a snapshot, sorted.
  std::vector<std::string> Commits(std::string_view repository) const;
  // The commit of a revision: itself, if it is one, or what refs/ says; nullopt: not known, or
  // there is no snapshot of it.
  std::optional<std::string> CommitOf(std::string_view repository, std::string_view revision) const;
  // A snapshot's files that are there, with the sizes of their contents; sorted. Paths that
  // CheckHubPath refuses and links to nothing are left out.
  std::vector<HubFile> Files(std::string_view repository, std::string_view commit) const;

  // Whether the snapshot has the file, as a link to a blob of its size.
  bool Has(std::string_view repository, std::string_view commit, const HubFile& file) const;

  // Makes the folders of a repository, and marks the cache as one for programs that make backups
  // (CACHEDIR.TAG).
  Result<void> Prepare(std::string_view repository) const;
  Result<void> SetCommitOf(std::string_view repository, std::string_view revision,
                           std::string_view commit) const;
  // Links a file of a snapshot to its blob; the lock of the blob is held.
  Result<void> Link(std::string_view repository, std::string_view commit,
                    const HubFile& file) const;
  // Waits for the lock of a blob; `on_wait` is called once if somebody else holds it.
  Result<FileLock> Lock(std::string_view repository, std::string_view blob_id,
                        const std::function<void()>& on_wait) const;

 private:
  std::string path_;
};

}  // namespace weft
