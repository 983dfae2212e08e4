#include "base/aligned_buffer.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include "base/check.h"

namespace weft {
namespace {
// From here on a private mapping is used: its pages are zero already, cost nothing until touched,
// and lie on the NUMA node of the thread that touches them first.
constexpr size_t kMapFromBytes = size_t{128} << 10;
}  // namespace

AlignedBuffer::AlignedBuffer(size_t size_bytes) : size_bytes_(size_bytes) {
  if (size_bytes == 0) return;
  if (size_bytes >= kMapFromBytes) {
    void* memory =
        mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, size_bytes, MADV_HUGEPAGE);  // advice only: failure changes nothing but speed
    data_ = {static_cast<std::byte*>(memory),
             [size_bytes](std::byte* data) { munmap(data, size_bytes); }};
    return;
  }
  const size_t rounded = (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, rounded);
  data_ = {static_cast<std::byte*>(memory), [](std::byte* data) { std::free(data); }};
}

AlignedBuffer AlignedBuffer::Part(size_t offset, size_t size_bytes) {
  WEFT_CHECK(offset % kAlignment == 0 && offset <= size_bytes_ &&
             size_bytes <= size_bytes_ - offset);
  AlignedBuffer part;
  part.data_ = {data_, data_.get() + offset};
  part.size_bytes_ = size_bytes;
  return part;
}

}  // namespace weft
