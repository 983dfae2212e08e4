// Packed matrices in a file: what a second start of the same checkpoint maps instead of packing it
// again. Processes that map the same file share its pages.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/weights.h"

namespace weft {

// 128 bits for all that packed bytes follow from.
struct PackedKey {
  uint64_t low = 0;
  uint64_t high = 0;
};

// The place of one checkpoint's matrices, as one kernel table has them packed.
class PackedCache {
 public:
  // In `directory`, which is made if it is not there, under a name out of `name` and of all that
  // the packed bytes follow from: the checkpoint's files (their sizes, their times of change, and
  // samples of what they hold), which of their bytes each matrix is and how it is packed, and the
  // version of packing.
  PackedCache(const std::string& directory, const std::string& name, const ModelTensors& tensors,
              std::span<const MappedFile> files, const KernelTable& kernels);

  const std::string& path() const { return path_; }
  int64_t file_bytes() const { return file_bytes_; }

  // All of the file is read, and compared with the checksums in it. ErrorCode::kNotFound: there is
  // none.
  Result<std::shared_ptr<const MappedMatrices>> Open(ThreadPool& threads) const;

  // Writes what Open will find. Whoever opens it sees a whole file, or the one before it; nothing
  // is written where the disk would be left with less than a gibibyte.
  Result<void> Save(const Weights& weights, ThreadPool& threads) const;

 private:
  // Where a matrix lies behind the head.
  struct Extent {
    int64_t offset = 0;
    int64_t size_bytes = 0;
  };

  std::string path_;
  PackedKey key_;
  std::vector<Extent> extents_;
  int64_t checksum_count_ = 0;
  int64_t data_bytes_ = 0;
  int64_t head_bytes_ = 0;
  int64_t file_bytes_ = 0;
};

}  // namespace weft
