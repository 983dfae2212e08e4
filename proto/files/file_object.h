// What /v1/files says of a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

inline constexpr uint64_t kMaxFileBytes = 200'000'000;

inline constexpr char kBatchPurpose[] = "batch";          // what clients upload
inline constexpr char kOutputPurpose[] = "batch_output";  // what batches make

// Times are seconds since 1970.
struct FileObject {
  std::string id;
  std::string filename;  // as the client called it, without folders
  std::string purpose;
  int64_t size_bytes = 0;
  int64_t created_at = 0;
  int64_t expires_at = 0;

  bool operator==(const FileObject&) const = default;
};

std::string ToJson(const FileObject& file);
std::string DeletedFileJson(const std::string& id);
// `has_more`: there are others behind these.
std::string ToJson(const std::vector<FileObject>& files, bool has_more);

}  // namespace weft
