#include "loadtest/run/body_framing.h"

#include "base/ascii.h"

namespace weft {

BodyFraming BodyFraming::OfLength(uint64_t bytes) {
  BodyFraming framing(bytes == 0 ? State::kDone : State::kContent, bytes);
  framing.is_chunked_ = false;
  return framing;
}

std::string_view BodyFraming::Next(std::string_view& bytes) {
  while (!bytes.empty() && error_ == nullptr && state_ != State::kDone) {
    if (state_ == State::kContent || state_ == State::kUntilClosed) return TakeContent(bytes);
    TakeFraming(bytes.front());
    bytes.remove_prefix(1);
  }
  return {};
}

bool BodyFraming::Close() {
  if (state_ == State::kUntilClosed) state_ = State::kDone;
  return is_done();
}

std::string_view BodyFraming::TakeContent(std::string_view& bytes) {
  std::string_view content = bytes;
  if (state_ == State::kContent) {
    content = bytes.substr(0, left_);
    left_ -= content.size();
    if (left_ == 0) state_ = is_chunked_ ? State::kContentEnd : State::kDone;
  }
  framing_bytes_ = 0;
  content_bytes_ += content.size();
  if (content_bytes_ > kMostContentBytes) {
    Break("a body of more than 256 MiB");
    return {};
  }
  bytes.remove_prefix(content.size());
  return content;
}

void BodyFraming::TakeFraming(char byte) {
  if (++framing_bytes_ > kMostFramingBytes) return Break("more than 64 KiB without content");
  switch (state_) {
    case State::kSize:
      return TakeSize(byte);
    case State::kExtension:
      if (byte == '\r') state_ = State::kSizeEnd;
      return;
    case State::kSizeEnd:
      return Expect('\n', byte, left_ == 0 ? State::kTrailer : State::kContent);
    case State::kContentEnd:
      return Expect('\r', byte, State::kContentLineEnd);
    case State::kContentLineEnd:
      has_digit_ = false;
      return Expect('\n', byte, State::kSize);
    case State::kTrailer:
      state_ = byte == '\r' ? State::kBodyEnd : State::kTrailerRest;
      return;
    case State::kTrailerRest:
      if (byte == '\r') state_ = State::kTrailerLineEnd;
      return;
    case State::kTrailerLineEnd:
      return Expect('\n', byte, State::kTrailer);
    case State::kBodyEnd:
      return Expect('\n', byte, State::kDone);
    case State::kContent:
    case State::kUntilClosed:
    case State::kDone:
      return;
  }
}

void BodyFraming::TakeSize(char byte) {
  if (const int digit = HexDigitValue(byte); digit >= 0) {
    has_digit_ = true;
    left_ = left_ * 16 + static_cast<uint64_t>(digit);
    if (left_ > kMostContentBytes) Break("a chunk of more than 256 MiB");
  } else if (has_digit_ && byte == '\r') {
    state_ = State::kSizeEnd;
  } else if (has_digit_ && (byte == ';' || byte == ' ' || byte == '\t')) {
    state_ = State::kExtension;
  } else {
    Break("a chunk whose size is no hexadecimal number");
  }
}

void BodyFraming::Expect(char expected, char byte, State next) {
  if (byte != expected) return Break("a line of the chunked coding that does not end in CR LF");
  state_ = next;
}

}  // namespace weft
