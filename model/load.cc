#include "model/load.h"

#include <chrono>
#include <filesystem>
#include <new>
#include <optional>
#include <utility>

#include "base/format_bytes.h"
#include "base/log.h"
#include "model/packed_cache.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::optional<PackedCache> CacheOf(const Checkpoint& checkpoint, const KernelTable& kernels,
                                   const ThreadPool& threads, const std::string& directory) {
  if (directory.empty()) return std::nullopt;
  if (threads.node_count() > 1) {
    Log(LogLevel::kWarning, "packed weights are not kept: {} NUMA nodes have a part each",
        threads.node_count());
    return std::nullopt;
  }
  const std::string name = std::filesystem::path(checkpoint.path).filename().string();
  return PackedCache(directory, name, checkpoint.tensors, checkpoint.files, kernels);
}

// nullptr: they are to be packed.
std::shared_ptr<const MappedMatrices> Map(const PackedCache& cache, ThreadPool& threads) {
  const Clock::time_point start = Clock::now();
  Result<std::shared_ptr<const MappedMatrices>> mapped = cache.Open(threads);
  if (mapped) {
    Log(LogLevel::kInfo, "packed weights: {} mapped from {} in {:.2f} s",
        FormatBytes(static_cast<uint64_t>(cache.file_bytes())), cache.path(), SecondsSince(start));
    return *std::move(mapped);
  }
  if (mapped.error().code != ErrorCode::kNotFound) {
    Log(LogLevel::kWarning, "packed weights are not mapped: {}", mapped.error().message);
  }
  return nullptr;
}

void Save(const PackedCache& cache, const Weights& weights, ThreadPool& threads) {
  const Clock::time_point start = Clock::now();
  const Result<void> saved = cache.Save(weights, threads);
  if (!saved) {
    Log(LogLevel::kWarning, "packed weights are not kept: {}", saved.error().message);
    return;
  }
  Log(LogLevel::kInfo, "packed weights: {} written to {} in {:.1f} s; the next start maps them",
      FormatBytes(static_cast<uint64_t>(cache.file_bytes())), cache.path(), SecondsSince(start));
}

}  // namespace

Result<Transformer> LoadTransformer(Checkpoint& checkpoint, const KernelTable& kernels,
                                    ThreadPool& threads, const PackingProgress& progress,
                                    const std::string& packed_cache) {
  bool is_stopped = false;
  const PackingProgress watched = [&](int64_t done_bytes, int64_t total_bytes) {
    is_stopped |= progress && !progress(done_bytes, total_bytes);
    return !is_stopped;
  };
  const int64_t packed_bytes = Weights::PackedBytes(checkpoint.tensors, kernels);
  try {
    const std::optional<PackedCache> cache = CacheOf(checkpoint, kernels, threads, packed_cache);
    const std::shared_ptr<const MappedMatrices> mapped = cache ? Map(*cache, threads) : nullptr;
    Weights weights =
        Weights::Pack(checkpoint.tensors, checkpoint.files, kernels, threads, watched, mapped);
    if (is_stopped) {
      return Fail(ErrorCode::kUnavailable, "{}: nobody wants it any more", checkpoint.path);
    }
    for (const MappedFile& file : checkpoint.files) WEFT_RETURN_IF_ERROR(file.CheckUnchanged());
    if (cache && mapped == nullptr) Save(*cache, weights, threads);
    Transformer transformer(checkpoint.spec, std::move(weights), kernels, threads);
    checkpoint.tensors = {};
    checkpoint.files.clear();
    return transformer;
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kResourceExhausted, "{}: no memory for {} bytes of weights",
                checkpoint.path, packed_bytes);
  }
}

}  // namespace weft
