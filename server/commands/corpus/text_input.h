// The texts that `weft embed` and `weft rerank` read: of files or of standard input, a line each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft {

inline constexpr size_t kMaxInputLineBytes = size_t{64} << 20;

struct TextSource {
  std::vector<std::string> paths = {};  // one after the other; "-": standard input; none: that
  std::string json_field = {};  // lines are JSON objects, of which this is the text; empty: no
};

struct InputText {
  std::string text;
  std::string place;  // "corpus.txt:17", for messages
};

// "corpus.txt:17: what is wrong with it"
tl::unexpected<Error> FailAt(const std::string& place, const Error& error);

// A line is a text, an empty one too, without its end (LF or CRLF); what stands behind the last
// line's end is a text if it is not empty. Holds one line and what was read with it, whatever the
// size of the files. One thread.
class TextInput {
 public:
  // Opens the first file. All must be there, so that a name that is misspelt is told at once.
  static Result<TextInput> Open(TextSource source);
  TextInput(TextInput&& other) noexcept;
  TextInput& operator=(TextInput&&) = delete;
  ~TextInput();

  // Nullopt: there are no more. Waits for whoever writes a pipe. Errors name file and line.
  Result<std::optional<InputText>> Next();
  // Whether Next would wait, because a pipe or a terminal has nothing yet.
  bool WouldWait() const;

  uint64_t read_bytes() const { return read_bytes_; }  // of the texts given out
  // Of all files; nullopt if one is a pipe or a device.
  std::optional<uint64_t> total_bytes() const { return total_bytes_; }

 private:
  explicit TextInput(TextSource source) : source_(std::move(source)) {}

  const std::string& path() const { return source_.paths[file_index_]; }
  std::string Name() const;
  std::string Place() const;
  Result<void> OpenFile();
  void CloseFile();
  bool HasWholeLine() const { return buffer_.find('\n', begin_) != std::string::npos; }
  // False: the file has ended.
  Result<bool> ReadMore();
  // Of the file that is open; nullopt: it has ended.
  Result<std::optional<std::string_view>> NextLine();
  Result<std::string> TextOf(std::string_view line) const;

  TextSource source_;
  std::optional<uint64_t> total_bytes_;
  uint64_t read_bytes_ = 0;
  size_t file_index_ = 0;
  int descriptor_ = -1;  // of the file that is open; -1: none
  int64_t line_ = 0;     // the number of the last one, from 1
  std::string buffer_;   // of it; up to `begin_` it was given out
  size_t begin_ = 0;
};

}  // namespace weft
