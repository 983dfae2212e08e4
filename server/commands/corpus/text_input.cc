#include "server/commands/corpus/text_input.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>

#include "base/format_bytes.h"
#include "proto/json_reader.h"

namespace weft {
namespace {

bool IsStandardInput(const std::string& path) { return path == "-"; }

// How much a regular file has, of which standard input may have been read in part; nullopt: it is
// another kind.
Result<std::optional<uint64_t>> SizeOf(const std::string& path) {
  struct stat status {};
  const bool is_standard = IsStandardInput(path);
  if ((is_standard ? fstat(STDIN_FILENO, &status) : stat(path.c_str(), &status)) != 0) {
    return Fail(ErrorCode::kNotFound, "{}: cannot read it: {}", path, std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<uint64_t>(status.st_size);
  const off_t offset = is_standard ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
  return size - std::min(size, static_cast<uint64_t>(std::max<off_t>(offset, 0)));
}

}  // namespace

tl::unexpected<Error> FailAt(const std::string& place, const Error& error) {
  return Fail(error.code, "{}: {}", place, error.message);
}

Result<TextInput> TextInput::Open(TextSource source) {
  if (source.paths.empty()) source.paths = {"-"};
  TextInput input(std::move(source));
  input.total_bytes_ = 0;
  for (const std::string& path : input.source_.paths) {
    WEFT_ASSIGN_OR_RETURN(const std::optional<uint64_t> size, SizeOf(path));
    if (!size) input.total_bytes_.reset();
    if (input.total_bytes_) *input.total_bytes_ += *size;
  }
  WEFT_RETURN_IF_ERROR(input.OpenFile());
  return input;
}

TextInput::TextInput(TextInput&& other) noexcept
    : source_(std::move(other.source_)),
      total_bytes_(other.total_bytes_),
      read_bytes_(other.read_bytes_),
      file_index_(other.file_index_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      line_(other.line_),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_) {}

TextInput::~TextInput() { CloseFile(); }

std::string TextInput::Name() const { return IsStandardInput(path()) ? "standard input" : path(); }

std::string TextInput::Place() const { return fmt::format("{}:{}", Name(), line_); }

Result<void> TextInput::OpenFile() {
  descriptor_ = IsStandardInput(path()) ? STDIN_FILENO : open(path().c_str(), O_RDONLY | O_CLOEXEC);
  line_ = 0;
  if (descriptor_ >= 0) return {};
  return Fail(ErrorCode::kNotFound, "{}: cannot read it: {}", Name(), std::strerror(errno));
}

void TextInput::CloseFile() {
  if (descriptor_ > STDIN_FILENO) close(descriptor_);
  descriptor_ = -1;
}

bool TextInput::WouldWait() const {
  if (descriptor_ < 0 || HasWholeLine()) return false;
  pollfd waiting = {.fd = descriptor_, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, 0) == 0;
}

Result<bool> TextInput::ReadMore() {
  std::array<char, 65536> bytes;  // NOLINT(*-member-init): read() fills it
  ssize_t count = 0;
  do {
    count = read(descriptor_, bytes.data(), bytes.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    return Fail(ErrorCode::kNotFound, "{}: cannot read it: {}", Name(), std::strerror(errno));
  }
  buffer_.erase(0, begin_);
  begin_ = 0;
  buffer_.append(bytes.data(), static_cast<size_t>(count));
  return count > 0;
}

Result<std::optional<std::string_view>> TextInput::NextLine() {
  size_t searched = begin_;
  size_t end = 0;
  bool has_end = true;
  while ((end = buffer_.find('\n', searched)) == std::string::npos) {
    searched = buffer_.size() - begin_;  // where the new bytes will stand
    WEFT_ASSIGN_OR_RETURN(const bool more, ReadMore());
    if (buffer_.size() > kMaxInputLineBytes) {
      ++line_;
      return Fail(ErrorCode::kResourceExhausted,
                  "{}: the line has more than the {} that a text may", Place(),
                  FormatBytes(kMaxInputLineBytes));
    }
    if (more) continue;
    if (buffer_.empty()) return std::nullopt;
    has_end = false;
    end = buffer_.size();
    break;
  }
  ++line_;
  std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
  begin_ = end + (has_end ? 1 : 0);
  read_bytes_ += line.size() + (has_end ? 1 : 0);
  if (has_end && line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Result<std::string> TextInput::TextOf(std::string_view line) const {
  const std::string& field = source_.json_field;
  if (field.empty()) return std::string(line);
  const auto refuse = [&](std::string_view found) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: expected a JSON object with a string as its member '{}', found {}", Place(),
                field, found);
  };
  const ApiResult<nlohmann::json> object = ParseJson(line);
  if (!object) return refuse(fmt::format("what is no JSON ({})", object.error().message));
  if (!object->is_object()) return refuse(DescribeJson(*object));
  const auto member = object->find(field);
  if (member == object->end()) return refuse("none of that name");
  if (!member->is_string()) return refuse(DescribeJson(*member));
  return member->get<std::string>();
}

Result<std::optional<InputText>> TextInput::Next() {
  while (descriptor_ >= 0) {
    WEFT_ASSIGN_OR_RETURN(const std::optional<std::string_view> line, NextLine());
    if (line) {
      WEFT_ASSIGN_OR_RETURN(std::string text, TextOf(*line));
      return InputText{.text = std::move(text), .place = Place()};
    }
    CloseFile();
    if (++file_index_ < source_.paths.size()) WEFT_RETURN_IF_ERROR(OpenFile());
  }
  return std::nullopt;
}

}  // namespace weft
