// A step allocates nothing, under every definition of the arithmetic. A binary of its own, because
// it replaces operator new and aligned_alloc for all of it.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "tests/model/parity_fixture.h"

namespace {

std::atomic<int64_t> allocation_count{0};  // of all threads

}  // namespace

void* operator new(size_t size) {
  ++allocation_count;
  if (void* const memory = std::malloc(std::max<size_t>(size, 1))) return memory;
  throw std::bad_alloc();
}
// std::stable_sort's: replaced too, because a sanitizer's own would not match the operator delete
// below.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocation_count;
  return std::malloc(std::max<size_t>(size, 1));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
// AlignedBuffer's memory.
extern "C" void* aligned_alloc(size_t alignment, size_t size) noexcept {
  ++allocation_count;
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

namespace weft {
namespace {

struct Definition {
  Arithmetic arithmetic;
  KvType kv_type;
};

class StepMemoryTest : public testing::TestWithParam<std::tuple<const char*, Definition>> {};

TEST_P(StepMemoryTest, AStepAllocatesNothing) {
  const auto& [fixture, definition] = GetParam();
  int step_count = 0;
  RunOptions options{.arithmetic = definition.arithmetic,
                     .isa = ChooseIsa().value(),
                     .kv_type = definition.kv_type,
                     .thread_count = 2,
                     .block_size = 16};
  options.before_step = [] { allocation_count = 0; };
  options.after_step = [&] {
    const int64_t count = allocation_count;
    EXPECT_EQ(count, 0) << "step " << step_count;
    ++step_count;
  };
  RunnableModel model(ParityPath(fixture, "model.gguf"), options);
  // Prompts of several sequences, then a position each.
  std::vector<Chunk> chunks;
  const auto length = static_cast<int32_t>(std::min<int64_t>(40, model.spec().context_length - 1));
  for (int32_t i = 0; i < 3; ++i) {
    const std::vector<TokenId> tokens(static_cast<size_t>(length), 5 + i);
    chunks.push_back({tokens, 0, model.Blocks(4 * i, length + 1)});
  }
  model.Run(chunks);
  for (Chunk& chunk : chunks) {
    chunk.tokens = {7};
    chunk.first_position = length;
  }
  model.Run(chunks);
  EXPECT_EQ(step_count, 2);
}

std::string NameOfCase(const testing::TestParamInfo<StepMemoryTest::ParamType>& info) {
  const auto& [fixture, definition] = info.param;
  return std::string(fixture) + "_" + std::string(NameOf(definition.arithmetic));
}

INSTANTIATE_TEST_SUITE_P(
    Architectures, StepMemoryTest,
    testing::Combine(testing::ValuesIn(kParityFixtures),
                     testing::Values(Definition{Arithmetic::kF32, KvType::kF32},
                                     Definition{Arithmetic::kBF16, KvType::kBF16},
                                     Definition{Arithmetic::kInt8, KvType::kQ8})),
    NameOfCase);

}  // namespace
}  // namespace weft
