// Protocol Buffers' wire format (https://protobuf.dev/programming-guides/encoding), read field by
// field from bytes that may be anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

struct ProtobufField {
  uint32_t number = 0;
  uint32_t wire_type = 0;  // 0 varint, 1 64 bits, 2 bytes, 5 32 bits
  uint64_t integer = 0;    // wire types 0, 1, 5
  std::string_view bytes;  // wire type 2
};

// One message; views into it. `path` (for errors) must outlive the reader.
class ProtobufReader {
 public:
  ProtobufReader(std::string_view message, const std::string& path)
      : message_(message), path_(path) {}

  bool done() const { return offset_ == message_.size(); }
  // The next field; not if done().
  Result<ProtobufField> Next();

  // The field's value, if it has the wire type; `name` is for errors.
  Result<std::string_view> Bytes(const ProtobufField& field, std::string_view name) const;
  Result<uint64_t> Varint(const ProtobufField& field, std::string_view name) const;
  Result<float> Float(const ProtobufField& field, std::string_view name) const;

 private:
  Result<uint64_t> ReadVarint();
  Result<uint64_t> ReadLittleEndian(size_t size_bytes);
  Result<void> Expect(const ProtobufField& field, uint32_t wire_type, std::string_view name) const;
  tl::unexpected<Error> Truncated() const;

  std::string_view message_;
  const std::string& path_;
  size_t offset_ = 0;
};

}  // namespace weft
