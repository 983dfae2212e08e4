#include "server/random_sequence.h"

#include <random>

namespace weft {
namespace {

uint64_t Random64() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

RandomSequence::RandomSequence() : state_(Random64()) {}

uint64_t RandomSequence::Next() {
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  uint64_t value = state_.fetch_add(kStep, std::memory_order_relaxed) + kStep;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace weft
