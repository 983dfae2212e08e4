#include "server/batches/batch_input.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>
#include <tuple>
#include <unistd.h>
#include <unordered_set>
#include <utility>

#include <fmt/core.h>
#include <openssl/sha.h>

#include "base/ascii.h"

namespace weft {
namespace {

constexpr size_t kMaxInputErrors = 100;
constexpr std::array<size_t, 5> kPrefixBytes = {64, 256, 1024, 4096, 16384};

Result<size_t> ReadAt(const RegularFile& file, uint64_t offset, char* bytes, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t count =
        pread(file.descriptor(), bytes + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Fail(ErrorCode::kInternal, "{}: cannot read it: {}", file.path(),
                  std::strerror(errno));
    }
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

// So many names that 16 bytes of their digests stand for them.
class SeenIds {
 public:
  // False: it was there before.
  bool Add(std::string_view id) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(id.data()), id.size(), digest.data());
    Key key;
    std::memcpy(&key, digest.data(), sizeof(key));
    return seen_.insert(key).second;
  }

 private:
  struct Key {
    uint64_t high = 0;
    uint64_t low = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const { return key.low; }
  };
  std::unordered_set<Key, Hash> seen_;
};

// Checks lines as they are found.
class InputReader {
 public:
  InputReader(std::string_view url, const BatchInputLimits& limits) : limits_(limits) {
    input_.url = url;
  }

  // False: there are enough errors, or too many lines.
  bool Add(uint64_t offset, std::string_view text) {
    ++number_;
    if (std::ranges::all_of(text, IsJsonSpace)) return true;
    if (++count_ > limits_.max_lines) {
      Blame({.code = "too_many_lines",
             .message = fmt::format("the file has more than {} lines", limits_.max_lines),
             .param = {},
             .line = number_});
      return false;
    }
    if (text.size() > limits_.max_line_bytes) {
      return Blame(
          {.code = "line_too_long",
           .message = fmt::format("the line has more than {} bytes", limits_.max_line_bytes),
           .param = {},
           .line = number_});
    }
    auto line = ParseBatchLine(text);
    if (!line) {
      line.error().line = number_;
      return Blame(std::move(line).error());
    }
    if (input_.url.empty()) input_.url = line->url;
    if (line->url != input_.url) {
      return Blame(
          {.code = "mismatched_url",
           .message = fmt::format("'url' is {}, but the batch's is {}", line->url, input_.url),
           .param = "url",
           .line = number_});
    }
    if (!seen_.Add(line->custom_id)) {
      return Blame(
          {.code = "duplicate_custom_id",
           .message = fmt::format("another line has the 'custom_id' '{}', too", line->custom_id),
           .param = "custom_id",
           .line = number_});
    }
    input_.lines.push_back({.offset = offset,
                            .size_bytes = static_cast<uint32_t>(text.size()),
                            .number = static_cast<uint32_t>(number_),
                            .prefix = PrefixKeyOf(line->prompt)});
    return true;
  }

  BatchInput Finish() {
    if (count_ == 0) {
      Blame({.code = "empty_file", .message = "the file has no lines", .param = {}, .line = {}});
    }
    std::ranges::sort(input_.lines, [](const InputLine& a, const InputLine& b) {
      return std::tie(a.prefix, a.number) < std::tie(b.prefix, b.number);
    });
    return std::move(input_);
  }

 private:
  // False: these are enough.
  bool Blame(BatchError error) {
    input_.errors.push_back(std::move(error));
    return input_.errors.size() < kMaxInputErrors;
  }

  const BatchInputLimits limits_;
  BatchInput input_;
  SeenIds seen_;
  int64_t number_ = 0;
  int64_t count_ = 0;
};

}  // namespace

PrefixKey PrefixKeyOf(std::string_view prompt) {
  PrefixKey key;
  for (size_t i = 0; i < key.size(); ++i) {
    key[i] = std::hash<std::string_view>()(prompt.substr(0, kPrefixBytes[i]));
  }
  return key;
}

Result<BatchInput> ReadBatchInput(const RegularFile& file, std::string_view url,
                                  const BatchInputLimits& limits) {
  constexpr size_t kReadBytes = 1 << 20;
  InputReader reader(url, limits);
  std::string buffer;  // of a line that has not come whole: what is kept of it
  std::string bytes(kReadBytes, '\0');
  uint64_t line_offset = 0;
  for (uint64_t offset = 0; true;) {
    WEFT_ASSIGN_OR_RETURN(const size_t count, ReadAt(file, offset, bytes.data(), bytes.size()));
    std::string_view rest(bytes.data(), count);
    while (!rest.empty()) {
      const size_t end = rest.find('\n');
      // Of a line that is too long, so much shows that it is.
      const size_t room =
          limits.max_line_bytes + 1 - std::min(limits.max_line_bytes + 1, buffer.size());
      buffer.append(rest.substr(0, std::min(end, room)));
      if (end == std::string_view::npos) {
        offset += rest.size();
        break;
      }
      rest.remove_prefix(end + 1);
      offset += end + 1;
      if (!reader.Add(line_offset, buffer)) return reader.Finish();
      buffer.clear();
      line_offset = offset;
    }
    if (count < bytes.size()) break;
  }
  if (!buffer.empty()) reader.Add(line_offset, buffer);
  return reader.Finish();
}

Result<BatchLine> ReadLineAt(const RegularFile& file, const InputLine& line) {
  std::string text(line.size_bytes, '\0');
  WEFT_ASSIGN_OR_RETURN(const size_t count, ReadAt(file, line.offset, text.data(), text.size()));
  auto parsed = ParseBatchLine(std::string_view(text).substr(0, count));
  if (parsed) return *std::move(parsed);
  return Fail(ErrorCode::kCorrupt, "{}:{}: the line has changed: {}", file.path(), line.number,
              parsed.error().message);
}

}  // namespace weft
