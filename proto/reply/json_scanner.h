// JSON, byte by byte: says where a value ends and where it stops being JSON.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace weft {

// RFC 8259, for one value without space before it. Nesting is bounded. Copying allocates nothing.
class JsonScanner {
 public:
  enum class Status {
    kMore,  // the byte belongs to the value; more must come
    kDone,  // the byte ends the value
    // The byte does not belong to the value: a number or name has ended before it (complete() is
    // true then), or it is not JSON.
    kOutside,
  };

  Status Feed(char byte);
  // What was fed so far is a whole value.
  bool complete() const { return state_ == State::kEnd || (depth_ == 0 && InNumberThatMayEnd()); }

 private:
  static constexpr size_t kMaxDepth = 256;

  enum class State : uint8_t {
    kValue,     // a value must begin
    kFirstKey,  // a key or }
    kKey,       // a key
    kColon,
    kFirstElement,  // a value or ]
    kAfterValue,    // , or the container's end
    kString,
    kEscape,
    kHex,      // of \u
    kLiteral,  // true, false, null
    kMinus,
    kZero,
    kDigits,
    kPoint,
    kFraction,
    kExponent,
    kExponentSign,
    kExponentDigits,
    kEnd,
  };

  bool InNumberThatMayEnd() const {
    return state_ == State::kZero || state_ == State::kDigits || state_ == State::kFraction ||
           state_ == State::kExponentDigits;
  }
  Status Go(State state) {
    state_ = state;
    return Status::kMore;
  }
  bool in_object() const { return are_objects_[depth_ - 1]; }
  Status BeginValue(char byte);
  Status EndValue();
  Status OpenContainer(char byte);
  Status CloseContainer(char byte);
  Status InString(char byte);
  Status InNumber(char byte);
  Status AfterValue(char byte);

  State state_ = State::kValue;
  size_t depth_ = 0;                    // containers that are open
  std::bitset<kMaxDepth> are_objects_;  // the outermost first; others are arrays
  bool string_is_key_ = false;
  int hex_left_ = 0;
  const char* literal_rest_ = nullptr;
};

}  // namespace weft
