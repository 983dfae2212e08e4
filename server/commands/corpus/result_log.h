// A file of answers that grows by whole lines, and goes on where an interrupted run left it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/result.h"

namespace weft {

// One thread. Lines are JSON objects with a "custom_id".
class ResultLog {
 public:
  // Makes the file if it is not there. A last line without its end, which a process left that was
  // killed while it wrote it, is cut off. Errors name file and line: it is no such file, or another
  // process writes it.
  static Result<ResultLog> Open(const std::string& path);
  ResultLog(ResultLog&& other) noexcept;
  ResultLog& operator=(ResultLog&&) = delete;
  ~ResultLog();

  const std::string& path() const { return path_; }
  // What the file had when it was opened.
  bool Has(const std::string& custom_id) const { return done_.contains(custom_id); }
  size_t size() const { return done_.size(); }

  // Appends a line, to which it gives its end.
  Result<void> Add(std::string line);

 private:
  explicit ResultLog(std::string path) : path_(std::move(path)) {}
  tl::unexpected<Error> CannotUse() const;
  Result<void> ReadDone();

  std::string path_;
  int descriptor_ = -1;
  std::unordered_set<std::string> done_;
};

}  // namespace weft
