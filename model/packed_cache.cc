#include "model/packed_cache.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/checked_math.h"

namespace weft {
namespace {

// Raise it whenever the same file is packed, or quantised, to other bytes: packed_cache_test.cc
// tells.
constexpr uint32_t kVersion = 2;
constexpr char kMagic[8] = {'W', 'E', 'F', 'T', 'P', 'A', 'C', 'K'};
constexpr int64_t kAlignment = AlignedBuffer::kAlignment;
constexpr size_t kPieceBytes = size_t{1} << 20;      // of a matrix, under a checksum
constexpr uint64_t kSpareBytes = uint64_t{1} << 30;  // what is left of a disk

// What a file begins with; behind it the checksums.
struct Head {
  char magic[8];
  uint32_t version;
  uint32_t checksum_count;
  PackedKey key;
  int64_t file_bytes;
  uint64_t checksum;  // of the head, this as 0, and the checksums
};

class Hash {
 public:
  Hash() { XXH3_128bits_reset(&state_); }
  void Add(const void* data, size_t size_bytes) { XXH3_128bits_update(&state_, data, size_bytes); }
  void AddNumber(int64_t number) { Add(&number, sizeof(number)); }
  PackedKey key() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return {hash.low64, hash.high64};
  }

 private:
  XXH3_state_t state_;
};

// What tells a file from another one, without reading it whole: a model has gigabytes.
void AddFile(const MappedFile& file, Hash& hash) {
  constexpr size_t kSampleBytes = 4096;
  constexpr size_t kSamples = 256;
  constexpr size_t kFirstBytes = size_t{1} << 20;  // where metadata and tensors' places are
  const std::span<const std::byte> bytes = file.bytes();
  struct stat status {};
  if (stat(file.path().c_str(), &status) == 0) {
    hash.AddNumber(status.st_mtim.tv_sec);
    hash.AddNumber(status.st_mtim.tv_nsec);
  }
  hash.AddNumber(static_cast<int64_t>(bytes.size()));
  hash.Add(bytes.data(), std::min(bytes.size(), kFirstBytes));
  for (size_t i = 1; i <= kSamples; ++i) {
    const size_t end = bytes.size() / kSamples * i;
    if (end >= kSampleBytes) hash.Add(bytes.data() + end - kSampleBytes, kSampleBytes);
  }
}

// Which bytes of the files a matrix is made of. What puts rows together follows from config.json as
// well, and so two of its rows stand for it.
void AddSource(const BoundMatrix& matrix, std::span<const MappedFile> files, Hash& hash) {
  for (const MappedFile& file : files) {
    const std::span<const std::byte> bytes = file.bytes();
    const bool is_within =
        matrix.view.data >= bytes.data() && matrix.view.data < bytes.data() + bytes.size();
    hash.AddNumber(is_within ? matrix.view.data - bytes.data() : -1);
  }
  for (const int64_t number : {matrix.rows.first, matrix.rows.run, matrix.rows.stride,
                               static_cast<int64_t>(matrix.is_transposed)}) {
    hash.AddNumber(number);
  }
  if (matrix.assembled == nullptr) return;
  const int64_t row_bytes = RowBytes(matrix.view.type, matrix.view.columns());
  std::vector<std::byte> row(static_cast<size_t>(row_bytes));
  for (const int64_t i : {int64_t{0}, matrix.view.rows() / 2}) {
    matrix.assembled->read_row(matrix.rows(i), row.data());
    hash.Add(row.data(), row.size());
  }
}

uint64_t ChecksumOf(Head head, std::span<const uint64_t> sums) {
  head.checksum = 0;
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, &head, sizeof(head));
  XXH3_64bits_update(&state, sums.data(), sums.size_bytes());
  return XXH3_64bits_digest(&state);
}

// Of every piece of every matrix. A piece takes a thread a tenth of a millisecond, so that streams
// of other models are not kept waiting.
std::vector<uint64_t> Checksums(std::span<const std::span<const std::byte>> matrices,
                                ThreadPool& threads) {
  std::vector<std::span<const std::byte>> pieces;
  for (std::span<const std::byte> rest : matrices) {
    while (!rest.empty()) {
      pieces.push_back(rest.first(std::min(rest.size(), kPieceBytes)));
      rest = rest.subspan(pieces.back().size());
    }
  }
  std::vector<uint64_t> sums(pieces.size());
  const ScopedTurn turn(threads.turns(), Turns::Urgency::kPatient);
  threads.ParallelFor(std::ssize(pieces), [&](int64_t i, int) {
    const std::span<const std::byte> piece = pieces[static_cast<size_t>(i)];
    sums[static_cast<size_t>(i)] = XXH3_64bits(piece.data(), piece.size());
  });
  return sums;
}

// Letters, digits and what else is harmless in the name of a file; the end counts most.
std::string FileName(const std::string& name) {
  constexpr size_t kMaxName = 64;
  std::string plain;
  for (const char c : name) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                          (c >= 'a' && c <= 'z') || c == '.' || c == '_';
    plain += is_plain ? c : '-';
  }
  return plain.substr(plain.size() - std::min(plain.size(), kMaxName));
}

// A file that is not there, or only half, until it is whole.
class NewFile {
 public:
  explicit NewFile(std::string path)
      : path_(std::move(path)),
        part_(fmt::format("{}.{}.part", path_, getpid())),
        descriptor_(open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {}
  ~NewFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!is_whole_) unlink(part_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  Result<void> Write(const void* data, size_t size_bytes) {
    const auto* next = static_cast<const char*>(data);
    while (size_bytes > 0 && descriptor_ >= 0) {
      const ssize_t written = write(descriptor_, next, size_bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return Failed();
      next += written;
      size_bytes -= static_cast<size_t>(written);
    }
    return descriptor_ >= 0 ? Result<void>() : Failed();
  }
  Result<void> Finish() {
    if (rename(part_.c_str(), path_.c_str()) != 0) return Failed();
    is_whole_ = true;
    return {};
  }

 private:
  tl::unexpected<Error> Failed() const {
    return Fail(ErrorCode::kInternal, "{}: cannot be written: {}", part_, std::strerror(errno));
  }

  std::string path_;
  std::string part_;
  int descriptor_;
  bool is_whole_ = false;
};

}  // namespace

PackedCache::PackedCache(const std::string& directory, const std::string& name,
                         const ModelTensors& tensors, std::span<const MappedFile> files,
                         const KernelTable& kernels) {
  Hash hash;
  hash.AddNumber(kVersion);
  for (const MappedFile& file : files) AddFile(file, hash);
  const auto add = [&](const BoundMatrix& matrix) {
    const PanelFormat layout = kernels.packed_layout(matrix.type());
    const int64_t panels = CeilDivide(matrix.view.rows(), kPanelRows);
    const int64_t size_bytes = panels * kernels.panel_bytes(layout, matrix.view.columns());
    for (const int64_t number : {static_cast<int64_t>(layout), static_cast<int64_t>(matrix.type()),
                                 matrix.view.rows(), matrix.view.columns(), size_bytes}) {
      hash.AddNumber(number);
    }
    AddSource(matrix, files, hash);
    extents_.push_back({data_bytes_, size_bytes});
    checksum_count_ += CeilDivide(size_bytes, static_cast<int64_t>(kPieceBytes));
    data_bytes_ += CeilDivide(size_bytes, kAlignment) * kAlignment;
  };
  for (const BoundMatrix& matrix : tensors.matrices) add(matrix);
  for (const std::vector<BoundMatrix>& stack : tensors.stacks) {
    for (const BoundMatrix& matrix : stack) add(matrix);
  }
  key_ = hash.key();
  path_ =
      fmt::format("{}/{}-{:016x}{:016x}.packed", directory, FileName(name), key_.high, key_.low);
  const int64_t sums_bytes = checksum_count_ * static_cast<int64_t>(sizeof(uint64_t));
  head_bytes_ =
      CeilDivide(static_cast<int64_t>(sizeof(Head)) + sums_bytes, kAlignment) * kAlignment;
  file_bytes_ = head_bytes_ + data_bytes_;
}

Result<std::shared_ptr<const MappedMatrices>> PackedCache::Open(ThreadPool& threads) const {
  auto mapped = std::make_shared<MappedMatrices>();
  WEFT_ASSIGN_OR_RETURN(mapped->file, MappedFile::Open(path_));
  const std::span<const std::byte> bytes = mapped->file.bytes();
  if (std::ssize(bytes) != file_bytes_) {
    return Fail(ErrorCode::kCorrupt, "{}: has {} bytes, expected {}", path_, bytes.size(),
                file_bytes_);
  }
  Head head;
  std::memcpy(&head, bytes.data(), sizeof(head));
  std::vector<uint64_t> expected(static_cast<size_t>(checksum_count_));
  std::memcpy(expected.data(), bytes.data() + sizeof(head), expected.size() * sizeof(uint64_t));
  const bool is_whole = std::memcmp(head.magic, kMagic, sizeof(kMagic)) == 0 &&
                        head.version == kVersion && head.checksum_count == checksum_count_ &&
                        head.key.low == key_.low && head.key.high == key_.high &&
                        head.checksum == ChecksumOf(head, expected);
  if (!is_whole) {
    return Fail(ErrorCode::kCorrupt, "{}: its head is not the one of these weights", path_);
  }
  for (const Extent& extent : extents_) {
    mapped->panels.push_back(bytes.subspan(static_cast<size_t>(head_bytes_ + extent.offset),
                                           static_cast<size_t>(extent.size_bytes)));
  }
  const std::vector<uint64_t> sums = Checksums(mapped->panels, threads);
  WEFT_RETURN_IF_ERROR(mapped->file.CheckUnchanged());
  if (sums != expected) {
    return Fail(ErrorCode::kCorrupt, "{}: a checksum differs from the one written with it", path_);
  }
  return mapped;
}

Result<void> PackedCache::Save(const Weights& weights, ThreadPool& threads) const {
  const std::filesystem::path directory = std::filesystem::path(path_).parent_path();
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::filesystem::space_info space = std::filesystem::space(directory, error);
  if (error) {
    return Fail(ErrorCode::kInternal, "{}: {}", directory.string(), error.message());
  }
  if (space.available < static_cast<uint64_t>(file_bytes_) + kSpareBytes) {
    return Fail(ErrorCode::kResourceExhausted, "{}: {} bytes are free, expected {} and 1 GiB more",
                directory.string(), space.available, file_bytes_);
  }
  std::vector<std::span<const std::byte>> matrices;
  for (const PackedMatrix* matrix : weights.all_matrices()) matrices.push_back(matrix->bytes());
  const std::vector<uint64_t> sums = Checksums(matrices, threads);
  Head head = {.magic = {},
               .version = kVersion,
               .checksum_count = static_cast<uint32_t>(sums.size()),
               .key = key_,
               .file_bytes = file_bytes_,
               .checksum = 0};
  std::memcpy(head.magic, kMagic, sizeof(kMagic));
  head.checksum = ChecksumOf(head, sums);

  NewFile file(path_);
  constexpr char kZeros[kAlignment] = {};
  // Pads what begins at a multiple of the alignment.
  const auto write_padded = [&](const void* data, size_t size_bytes) -> Result<void> {
    WEFT_RETURN_IF_ERROR(file.Write(data, size_bytes));
    const size_t rest = size_bytes % kAlignment;
    return rest == 0 ? Result<void>() : file.Write(kZeros, kAlignment - rest);
  };
  std::vector<std::byte> first(sizeof(head) + sums.size() * sizeof(uint64_t));
  std::memcpy(first.data(), &head, sizeof(head));
  std::memcpy(first.data() + sizeof(head), sums.data(), sums.size() * sizeof(uint64_t));
  WEFT_RETURN_IF_ERROR(write_padded(first.data(), first.size()));
  for (const std::span<const std::byte> bytes : matrices) {
    WEFT_RETURN_IF_ERROR(write_padded(bytes.data(), bytes.size()));
  }
  return file.Finish();
}

}  // namespace weft
