#include "server/commands/corpus/embedding_writer.h"

#include <bit>
#include <string_view>

#include <fmt/core.h>

#include "base/check.h"
#include "proto/embeddings/embedding_response.h"

namespace weft {

std::string NpyHeader(int64_t count, int64_t dimensions) {
  constexpr size_t kSize = 128;  // of which 74 are used with the longest numbers
  static_assert(kSize % 64 == 0 && kSize - 10 < 256);
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(kSize - 10);  // of what follows, in 16 bits
  header += '\0';
  header += fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", count,
                        dimensions);
  WEFT_CHECK(header.size() < kSize);
  header.resize(kSize - 1, ' ');
  return header + '\n';
}

Result<void> EmbeddingWriter::Write(const std::vector<float>& embedding) {
  static_assert(std::endian::native == std::endian::little);
  WEFT_CHECK(std::ssize(embedding) == dimensions_);
  if (format_ == EmbeddingFileFormat::kNpy) {
    if (count_++ == 0) WEFT_RETURN_IF_ERROR(file_.Write(NpyHeader(0, dimensions_)));
    return file_.Write(
        {reinterpret_cast<const char*>(embedding.data()), embedding.size() * sizeof(embedding[0])});
  }
  std::string line = fmt::format(R"({{"index":{},"embedding":)", count_++);
  AppendNumbers(embedding, line);
  line += "}\n";
  return file_.Write(line);
}

Result<void> EmbeddingWriter::Finish() {
  if (format_ == EmbeddingFileFormat::kNpy) {
    WEFT_RETURN_IF_ERROR(file_.Overwrite(NpyHeader(count_, dimensions_)));
  }
  return file_.Commit();
}

}  // namespace weft
