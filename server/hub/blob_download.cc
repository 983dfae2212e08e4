#include "server/hub/blob_download.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>

#include "server/hub/content_digest.h"

namespace weft {
namespace {

// The size of a regular file, links followed; nullopt: there is none.
std::optional<uint64_t> SizeOf(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<uint64_t>(status.st_size);
}

bool HasBlob(const HubCache& cache, const std::string& repository, const HubFile& file) {
  return SizeOf(cache.BlobPath(repository, file.blob_id)) == file.size;
}

std::string UnfinishedPath(const HubCache& cache, const std::string& repository,
                           const HubFile& file) {
  return cache.BlobPath(repository, file.blob_id) + ".incomplete";
}

// A blob that is being written.
class UnfinishedBlob : public HubClient::Sink {
 public:
  static Result<std::unique_ptr<UnfinishedBlob>> Open(const std::string& path, const HubFile& file,
                                                      DownloadProgress& progress) {
    const int descriptor =
        open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0) {
      return Fail(ErrorCode::kInternal, "{}: cannot open: {}", path, std::strerror(errno));
    }
    std::unique_ptr<UnfinishedBlob> blob(new UnfinishedBlob(path, descriptor, file, progress));
    WEFT_RETURN_IF_ERROR(blob->ReadWhatIsThere());
    return blob;
  }

  ~UnfinishedBlob() override { close(descriptor_); }
  UnfinishedBlob(const UnfinishedBlob&) = delete;
  UnfinishedBlob& operator=(const UnfinishedBlob&) = delete;

  uint64_t received() const override { return received_; }
  bool has_older_part() const { return has_older_part_; }

  Result<void> Drop() override {
    if (ftruncate(descriptor_, 0) != 0) return FailToWrite();
    progress_.TakeBack(received_);
    received_ = 0;
    has_older_part_ = false;
    digest_ = ContentDigest(file_.blob_id, file_.size);
    return {};
  }

  Result<void> Take(std::string_view piece) override {
    for (std::string_view rest = piece; !rest.empty();) {
      const ssize_t count = write(descriptor_, rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return FailToWrite();
      rest.remove_prefix(static_cast<size_t>(count));
    }
    received_ += piece.size();
    digest_.Update(piece);
    progress_.Add(piece.size(), DownloadProgress::Clock::now());
    return {};
  }

  // Whether the content is what its name says; once.
  bool IsRight() { return received_ == file_.size && digest_.Finish() == file_.blob_id; }

  // Makes the blob of it.
  Result<void> Publish(const std::string& blob_path) {
    if (fsync(descriptor_) == 0 && rename(path_.c_str(), blob_path.c_str()) == 0) return {};
    return FailToWrite();
  }

 private:
  UnfinishedBlob(std::string path, int descriptor, HubFile file, DownloadProgress& progress)
      : path_(std::move(path)),
        descriptor_(descriptor),
        file_(std::move(file)),
        progress_(progress),
        digest_(file_.blob_id, file_.size) {}

  Result<void> ReadWhatIsThere() {
    std::array<char, 1 << 16> buffer{};
    for (;;) {
      const ssize_t count =
          pread(descriptor_, buffer.data(), buffer.size(), static_cast<off_t>(received_));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return FailToWrite();
      if (count == 0) break;
      received_ += static_cast<uint64_t>(count);
      digest_.Update({buffer.data(), static_cast<size_t>(count)});
      if (received_ > file_.size) break;
    }
    progress_.Skip(received_);
    has_older_part_ = received_ > 0;
    return received_ > file_.size ? Drop() : Result<void>();
  }

  tl::unexpected<Error> FailToWrite() const {
    return Fail(
        errno == ENOSPC || errno == EDQUOT ? ErrorCode::kResourceExhausted : ErrorCode::kInternal,
        "{}: cannot write it: {}", path_, std::strerror(errno));
  }

  const std::string path_;
  const int descriptor_;
  const HubFile file_;
  DownloadProgress& progress_;
  ContentDigest digest_;
  uint64_t received_ = 0;
  bool has_older_part_ = false;
};

}  // namespace

uint64_t MissingBytes(const HubCache& cache, const std::string& repository, const HubFile& file) {
  if (HasBlob(cache, repository, file)) return 0;
  const uint64_t there = SizeOf(UnfinishedPath(cache, repository, file)).value_or(0);
  return there > file.size ? file.size : file.size - there;
}

Result<void> FetchFile(HubClient& client, const HubCache& cache, const HubName& name,
                       const std::string& commit, const HubFile& file, DownloadProgress& progress,
                       const std::function<void(const std::string&)>& say) {
  const std::string& repository = name.repository;
  progress.Begin(file.path);
  const auto on_wait = [&] {
    say(fmt::format("{}: another process is fetching it; waiting", file.path));
  };
  WEFT_ASSIGN_OR_RETURN(const FileLock lock, cache.Lock(repository, file.blob_id, on_wait));
  if (HasBlob(cache, repository, file)) {
    progress.Skip(file.size);
    return cache.Link(repository, commit, file);
  }
  const std::string path = UnfinishedPath(cache, repository, file);
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<UnfinishedBlob> blob,
                        UnfinishedBlob::Open(path, file, progress));
  for (;;) {
    WEFT_RETURN_IF_ERROR(client.Download(name, commit, file, *blob));
    if (blob->IsRight()) break;
    const bool may_be_older = blob->has_older_part();
    WEFT_RETURN_IF_ERROR(blob->Drop());
    if (may_be_older) continue;
    std::remove(path.c_str());
    return Fail(ErrorCode::kCorrupt,
                "{}: what the Hub sent is not what it listed ({} {}); it has been deleted",
                file.path, file.blob_id.size() == 64 ? "SHA-256" : "git's id", file.blob_id);
  }
  WEFT_RETURN_IF_ERROR(blob->Publish(cache.BlobPath(repository, file.blob_id)));
  return cache.Link(repository, commit, file);
}

}  // namespace weft
