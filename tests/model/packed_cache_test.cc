#include "model/packed_cache.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/formats/quantize.h"
#include "tests/model/kernels/kernel_fixtures.h"
#include "tests/model/model_fixture.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

class PackedCacheTest : public testing::Test {
 protected:
  PackedCacheTest() {
    std::string name = testing::TempDir() + "weft_packed_XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~PackedCacheTest() override { fs::remove_all(directory_); }

  // Experts of MXFP4 in two tensors, and plain matrices.
  static Checkpoint Open() { return LoadCheckpoint(ParityPath("gpt_oss", "hf")).value(); }
  static const KernelTable& Kernels(Arithmetic arithmetic = Arithmetic::kInt8) {
    return KernelsFor(arithmetic, Isa::kScalar);
  }
  PackedCache CacheOf(const Checkpoint& checkpoint, const KernelTable& kernels = Kernels()) const {
    return {directory_, "a model/with: a name", checkpoint.tensors, checkpoint.files, kernels};
  }
  Weights Pack(const Checkpoint& checkpoint,
               std::shared_ptr<const MappedMatrices> mapped = nullptr) {
    return Weights::Pack(checkpoint.tensors, checkpoint.files, Kernels(), threads_, {},
                         std::move(mapped));
  }
  int64_t FileCount() const {
    return std::distance(fs::directory_iterator(directory_), fs::directory_iterator());
  }

  std::string directory_;
  ThreadPool threads_ = ThreadPool(2);
};

TEST_F(PackedCacheTest, WhatIsMappedIsWhatWasPacked) {
  const Checkpoint checkpoint = Open();
  const PackedCache cache = CacheOf(checkpoint);
  const auto absent = cache.Open(threads_);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  const Weights packed = Pack(checkpoint);
  const Result<void> saved = cache.Save(packed, threads_);
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(static_cast<int64_t>(fs::file_size(cache.path())), cache.file_bytes());
  EXPECT_EQ(FileCount(), 1);
  EXPECT_THAT(cache.path(), testing::HasSubstr("/a-model-with--a-name-"));

  const auto mapped = cache.Open(threads_);
  ASSERT_TRUE(mapped) << mapped.error().message;
  const Weights again = Pack(checkpoint, *mapped);
  const auto expected = packed.all_matrices();
  const auto found = again.all_matrices();
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_GT(found.size(), 10U);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i]->storage.size_bytes(), 0U) << i;
    EXPECT_TRUE(std::ranges::equal(found[i]->bytes(), expected[i]->bytes())) << i;
    EXPECT_EQ(found[i]->layout, expected[i]->layout);
    EXPECT_EQ(found[i]->rows, expected[i]->rows);
    EXPECT_EQ(found[i]->columns, expected[i]->columns);
    EXPECT_EQ(found[i]->panel_bytes, expected[i]->panel_bytes);
  }
}

// Loading writes it once, and does without it where it cannot.
TEST_F(PackedCacheTest, LoadingUsesIt) {
  for (int start = 0; start < 2; ++start) {
    Checkpoint checkpoint = Open();
    ASSERT_TRUE(LoadTransformer(checkpoint, Kernels(), threads_, {}, directory_));
    EXPECT_EQ(FileCount(), 1);
  }
  Checkpoint checkpoint = Open();
  EXPECT_TRUE(LoadTransformer(checkpoint, Kernels(), threads_, {}, "/proc/nowhere"));
}

TEST_F(PackedCacheTest, DamageIsFoundAndMended) {
  const Checkpoint checkpoint = Open();
  const PackedCache cache = CacheOf(checkpoint);
  ASSERT_TRUE(cache.Save(Pack(checkpoint), threads_));
  const int64_t size_bytes = cache.file_bytes();
  // The head, its checksums, the first byte of a matrix, and far behind.
  for (const int64_t at : {int64_t{0}, int64_t{8}, int64_t{20}, int64_t{60}, size_bytes / 2}) {
    std::fstream file(cache.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const auto byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(at);
    file.put(byte);
    file.close();
    const auto found = cache.Open(threads_);
    ASSERT_FALSE(found) << at;
    EXPECT_EQ(found.error().code, ErrorCode::kCorrupt) << at;
    EXPECT_THAT(found.error().message, testing::StartsWith(cache.path()));
    ASSERT_TRUE(cache.Save(Pack(checkpoint), threads_));
    EXPECT_TRUE(cache.Open(threads_)) << at;
  }
  fs::resize_file(cache.path(), static_cast<uintmax_t>(size_bytes - 1));
  EXPECT_FALSE(cache.Open(threads_));
  fs::resize_file(cache.path(), 0);
  EXPECT_FALSE(cache.Open(threads_));
}

TEST_F(PackedCacheTest, AnotherFileOrPackingHasAnotherPlace) {
  const Checkpoint checkpoint = Open();
  const std::string path = CacheOf(checkpoint).path();
  EXPECT_EQ(CacheOf(Open()).path(), path);
  // The same bytes on every instruction set, and in every arithmetic over panels.
  EXPECT_EQ(CacheOf(checkpoint, KernelsFor(Arithmetic::kBF16, Isa::kScalar)).path(), path);
  EXPECT_NE(CacheOf(checkpoint, KernelsFor(Arithmetic::kF32, Isa::kScalar)).path(), path);
  Checkpoint quantized = Open();
  QuantizeMatrices(quantized.tensors, DataType::kQ8_0, MatrixId::kNone);
  EXPECT_NE(CacheOf(quantized).path(), path);
  EXPECT_NE(
      PackedCache(directory_, "a model/with: a name", checkpoint.tensors, {}, Kernels()).path(),
      path);
}

// Bytes of the same shape from elsewhere, or put together otherwise, as another config.json says.
TEST_F(PackedCacheTest, OtherRowsHaveAnotherPlace) {
  const std::string path = CacheOf(Open()).path();
  Checkpoint other = Open();
  BoundMatrix& matrix = other.tensors.stacks.front().front();
  ++matrix.rows.first;
  EXPECT_NE(CacheOf(other).path(), path);
  --matrix.rows.first;
  EXPECT_EQ(CacheOf(other).path(), path);
  AssembledTensor changed = *matrix.assembled;
  changed.read_row = [read_row = changed.read_row](int64_t row, std::byte* out) {
    read_row(row, out);
    out[0] ^= std::byte{1};
  };
  matrix.assembled = std::make_shared<const AssembledTensor>(changed);
  EXPECT_NE(CacheOf(other).path(), path);
}

// If this fails, the same file is packed or quantised to other bytes than before: files that
// earlier versions wrote must not be mapped. Raise kVersion in packed_cache.cc, then the figure
// here; a new type changes that alone.
TEST(PackedVersionTest, PacksAsItsVersionDoes) {
  constexpr uint64_t kBytesOfVersion2 = 2698905031984441772U;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&](std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
    }
  };
  constexpr int64_t kRows = 21;
  constexpr int64_t kColumns = 512;
  const KernelTable& kernels = KernelsFor(Arithmetic::kBF16, Isa::kScalar);
  uint64_t state = 1;
  const auto next = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  };
  std::vector<float> values(static_cast<size_t>(kColumns));
  for (float& value : values) value = static_cast<float>(next() % 4096) / 1024 - 2;
  for (const DataType type : AllTypes()) {
    std::vector<std::byte> bytes(static_cast<size_t>(kRows * RowBytes(type, kColumns)));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(next() >> 24 & 0x3f);
    add(Pack(kernels, TensorView::Contiguous(bytes.data(), type, {kRows, kColumns})).bytes());
  }
  for (const DataType type :
       {DataType::kQ8_0, DataType::kQ6_K, DataType::kQ5_K, DataType::kQ4_K, DataType::kQ4_0}) {
    std::vector<std::byte> row(static_cast<size_t>(RowBytes(type, kColumns)));
    QuantizeRow(type, values.data(), kColumns, row.data());
    add(row);
  }
  EXPECT_EQ(hash, kBytesOfVersion2);
}

}  // namespace
}  // namespace weft
