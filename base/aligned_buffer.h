// Owned bytes on a 64-byte boundary (a cache line, an AVX-512 register, an AMX tile row), zeroed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace weft {

struct AlignedBufferRelease {
  size_t size_bytes = 0;
  bool mapped = false;
  void operator()(std::byte* data) const;
};

class AlignedBuffer {
 public:
  static constexpr size_t kAlignment = 64;

  AlignedBuffer() = default;
  // Large buffers come straight from the kernel (zero pages, transparent huge pages asked for).
  // Throws std::bad_alloc.
  explicit AlignedBuffer(size_t size_bytes);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t size_bytes() const { return data_.get_deleter().size_bytes; }
  std::span<std::byte> bytes() { return {data(), size_bytes()}; }
  std::span<const std::byte> bytes() const { return {data(), size_bytes()}; }

  template <typename T>
  T* As() {
    return reinterpret_cast<T*>(data());
  }
  template <typename T>
  const T* As() const {
    return reinterpret_cast<const T*>(data());
  }

 private:
  std::unique_ptr<std::byte[], AlignedBufferRelease> data_;
};

}  // namespace weft
