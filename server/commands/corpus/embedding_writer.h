// Embeddings on their way into a file, one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/commands/corpus/output_file.h"

namespace weft {

enum class EmbeddingFileFormat {
  kJsonLines,  // {"index":0,"embedding":[...]}: the shortest numbers that are the same float32
  kNpy,        // NumPy's, version 1.0: float32, little-endian, (count, dimensions) in C order
};

// Of so many bytes that the numbers behind it are aligned, whatever the count (NumPy's NEP 1).
std::string NpyHeader(int64_t count, int64_t dimensions);

class EmbeddingWriter {
 public:
  // kNpy: into a regular file, whose header is known only at the end.
  EmbeddingWriter(OutputFile& file, EmbeddingFileFormat format, int64_t dimensions)
      : file_(file), format_(format), dimensions_(dimensions) {}

  // As many numbers as there are dimensions.
  Result<void> Write(const std::vector<float>& embedding);
  Result<void> Flush() { return file_.Flush(); }
  // The file is whole then.
  Result<void> Finish();

 private:
  OutputFile& file_;
  const EmbeddingFileFormat format_;
  const int64_t dimensions_;
  int64_t count_ = 0;
};

}  // namespace weft
