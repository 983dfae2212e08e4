// Content out of the framing of an HTTP/1.1 body (RFC 9112, sections 6 and 7.1), as it arrives.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

// For streams, in place of Beast's parser: a token that comes by itself would have to wait for that
// one's five cache lines and for the memory into which it copies. This is half a line.
class BodyFraming {
 public:
  // A body is broken that says more about its framing at a time, or has more content, than these.
  static constexpr uint32_t kMostFramingBytes = 64 << 10;
  static constexpr uint64_t kMostContentBytes = 256 << 20;

  static BodyFraming Chunked() { return {State::kSize, 0}; }
  static BodyFraming OfLength(uint64_t bytes);
  static BodyFraming UntilClosed() { return {State::kUntilClosed, 0}; }

  // The next content in `bytes`, of which it takes that and the framing before it. Empty: no more;
  // all bytes are taken then, unless the body has ended or is broken.
  std::string_view Next(std::string_view& bytes);

  // The connection has ended: whether the body is whole.
  bool Close();
  bool is_done() const { return state_ == State::kDone; }
  const char* error() const { return error_; }  // what is broken; null: nothing

 private:
  enum class State : uint8_t {
    kSize,            // of a chunk, in hexadecimal digits
    kExtension,       // behind the size, to its line's carriage return
    kSizeEnd,         // that line's line feed
    kContent,         // of a chunk or a length
    kContentEnd,      // the carriage return behind a chunk's content
    kContentLineEnd,  // and its line feed
    kTrailer,         // the beginning of a line behind the last chunk
    kTrailerRest,     // the rest of it, to its carriage return
    kTrailerLineEnd,  // its line feed
    kBodyEnd,         // the line feed of the empty line
    kUntilClosed,
    kDone,
  };

  BodyFraming(State state, uint64_t left) : left_(left), state_(state) {}

  std::string_view TakeContent(std::string_view& bytes);
  void TakeFraming(char byte);
  void TakeSize(char byte);
  void Expect(char expected, char byte, State next);
  void Break(const char* error) { error_ = error; }

  const char* error_ = nullptr;
  uint64_t left_;  // of the chunk or the length; while kSize: the size so far
  uint64_t content_bytes_ = 0;
  uint32_t framing_bytes_ = 0;  // since the last content
  State state_;
  bool has_digit_ = false;
  bool is_chunked_ = true;
};

}  // namespace weft
