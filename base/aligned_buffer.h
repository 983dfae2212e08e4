// Owned bytes on a 64-byte boundary (a cache line, an AVX-512 register, an AMX tile row), zeroed,
// and parts of such.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace weft {

class AlignedBuffer {
 public:
  static constexpr size_t kAlignment = 64;

  AlignedBuffer() = default;
  // Large buffers come straight from the kernel (zero pages, transparent huge pages asked for).
  // Throws std::bad_alloc.
  explicit AlignedBuffer(size_t size_bytes);
  AlignedBuffer(AlignedBuffer&&) = default;
  AlignedBuffer& operator=(AlignedBuffer&&) = default;

  // Bytes [offset, offset + size_bytes) of these, which are there until the last of their owners is
  // gone. `offset` is a multiple of kAlignment.
  AlignedBuffer Part(size_t offset, size_t size_bytes);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t size_bytes() const { return size_bytes_; }
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
  std::shared_ptr<std::byte> data_;
  size_t size_bytes_ = 0;
};

}  // namespace weft
