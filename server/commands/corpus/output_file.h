// What a command makes: a file that has its name only when it is whole, or standard output.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

// One at a time in a process, on one thread. While it is open, SIGINT, SIGTERM and SIGHUP remove
// the unfinished file, say so and end the process; a closed pipe is an error of Write, not a
// signal.
class OutputFile {
 public:
  // An empty path: standard output. A file is written beside where it will be; what is no regular
  // file, a device or a named pipe, as it comes.
  static Result<OutputFile> Open(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // Removes it unless it was committed.
  ~OutputFile();

  // Whether Overwrite works.
  bool is_regular() const { return !temporary_path_.empty(); }

  // Errors name the file and what went wrong: no space left, a closed pipe.
  Result<void> Write(std::string_view bytes);
  // Hands on what Write has kept back.
  Result<void> Flush();
  // Over the beginning, which was written before.
  Result<void> Overwrite(std::string_view beginning);
  // Gives the file its name; nothing may be written afterwards.
  Result<void> Commit();

 private:
  OutputFile() = default;
  tl::unexpected<Error> CannotWrite(int error) const;
  Result<void> WriteAll(std::string_view bytes);

  std::string path_;            // as people know it
  std::string temporary_path_;  // of a regular file until it is committed
  int descriptor_ = -1;
  bool owns_descriptor_ = false;
  std::string buffer_;
};

}  // namespace weft
