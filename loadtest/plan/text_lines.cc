#include "loadtest/plan/text_lines.h"

#include <algorithm>

#include "base/mapped_file.h"

namespace weft {

Result<void> ReadLines(const std::string& path,
                       const std::function<Result<void>(std::string_view line)>& read) {
  WEFT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  if (file.bytes().size() > kMaxTextFileBytes) {
    return Fail(ErrorCode::kResourceExhausted, "{}: {} bytes, more than the {} that are read", path,
                file.bytes().size(), kMaxTextFileBytes);
  }
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (line.size() > kMaxLineBytes) {
      return Fail(ErrorCode::kResourceExhausted, "{}:{}: a line of {} bytes, more than {}", path,
                  number, line.size(), kMaxLineBytes);
    }
    const Result<void> status = read(line);
    if (!status)
      return Fail(status.error().code, "{}:{}: {}", path, number, status.error().message);
  }
  // One that grows meanwhile is as good as it was.
  return file.is_torn() ? file.CheckUnchanged() : Result<void>();
}

}  // namespace weft
