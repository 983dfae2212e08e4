#include "proto/reply/json_scanner.h"

#include "base/ascii.h"

namespace weft {

using Status = JsonScanner::Status;

Status JsonScanner::Feed(char byte) {
  switch (state_) {
    case State::kValue:
      return BeginValue(byte);
    case State::kFirstElement:
      return byte == ']' ? CloseContainer(byte) : BeginValue(byte);
    case State::kFirstKey:
      if (byte == '}') return CloseContainer(byte);
      [[fallthrough]];
    case State::kKey:
      if (IsJsonSpace(byte)) return Status::kMore;
      if (byte != '"') return Status::kOutside;
      string_is_key_ = true;
      return Go(State::kString);
    case State::kColon:
      if (IsJsonSpace(byte)) return Status::kMore;
      return byte == ':' ? Go(State::kValue) : Status::kOutside;
    case State::kAfterValue:
      return AfterValue(byte);
    case State::kString:
    case State::kEscape:
    case State::kHex:
      return InString(byte);
    case State::kLiteral:
      if (byte != *literal_rest_) return Status::kOutside;
      return *++literal_rest_ == '\0' ? EndValue() : Status::kMore;
    case State::kEnd:
      return Status::kOutside;
    default:
      return InNumber(byte);
  }
}

Status JsonScanner::BeginValue(char byte) {
  if (IsJsonSpace(byte) && depth_ > 0) return Status::kMore;
  if (byte == '{' || byte == '[') return OpenContainer(byte);
  if (byte == '"') {
    string_is_key_ = false;
    return Go(State::kString);
  }
  if (byte == '-') return Go(State::kMinus);
  if (byte == '0') return Go(State::kZero);
  if (IsAsciiDigit(byte)) return Go(State::kDigits);
  literal_rest_ = byte == 't' ? "rue" : byte == 'f' ? "alse" : byte == 'n' ? "ull" : nullptr;
  return literal_rest_ != nullptr ? Go(State::kLiteral) : Status::kOutside;
}

Status JsonScanner::EndValue() {
  if (depth_ > 0) return Go(State::kAfterValue);
  state_ = State::kEnd;
  return Status::kDone;
}

Status JsonScanner::OpenContainer(char byte) {
  if (depth_ == kMaxDepth) return Status::kOutside;
  are_objects_[depth_++] = byte == '{';
  return Go(byte == '{' ? State::kFirstKey : State::kFirstElement);
}

Status JsonScanner::CloseContainer(char byte) {
  if (depth_ == 0 || in_object() != (byte == '}')) return Status::kOutside;
  --depth_;
  return EndValue();
}

Status JsonScanner::AfterValue(char byte) {
  if (IsJsonSpace(byte)) return Status::kMore;
  if (byte == ',') return Go(in_object() ? State::kKey : State::kValue);
  return byte == '}' || byte == ']' ? CloseContainer(byte) : Status::kOutside;
}

Status JsonScanner::InString(char byte) {
  if (state_ == State::kHex) {
    if (HexDigitValue(byte) < 0) return Status::kOutside;
    return --hex_left_ == 0 ? Go(State::kString) : Status::kMore;
  }
  if (state_ == State::kEscape) {
    if (byte == 'u') {
      hex_left_ = 4;
      return Go(State::kHex);
    }
    const bool known = byte == '"' || byte == '\\' || byte == '/' || byte == 'b' || byte == 'f' ||
                       byte == 'n' || byte == 'r' || byte == 't';
    return known ? Go(State::kString) : Status::kOutside;
  }
  if (static_cast<unsigned char>(byte) < 0x20) return Status::kOutside;
  if (byte == '\\') return Go(State::kEscape);
  if (byte != '"') return Status::kMore;
  return string_is_key_ ? Go(State::kColon) : EndValue();
}

Status JsonScanner::InNumber(char byte) {
  const bool digit = IsAsciiDigit(byte);
  switch (state_) {
    case State::kMinus:
      if (byte == '0') return Go(State::kZero);
      return digit ? Go(State::kDigits) : Status::kOutside;
    case State::kPoint:
      return digit ? Go(State::kFraction) : Status::kOutside;
    case State::kExponent:
      if (byte == '+' || byte == '-') return Go(State::kExponentSign);
      [[fallthrough]];
    case State::kExponentSign:
      return digit ? Go(State::kExponentDigits) : Status::kOutside;
    default:
      break;
  }
  if (digit && state_ != State::kZero) return Status::kMore;
  if (byte == '.' && (state_ == State::kZero || state_ == State::kDigits)) return Go(State::kPoint);
  if ((byte == 'e' || byte == 'E') && state_ != State::kExponentDigits) {
    return Go(State::kExponent);
  }
  if (depth_ == 0) return Status::kOutside;  // the number has ended before this byte
  state_ = State::kAfterValue;
  return AfterValue(byte);
}

}  // namespace weft
