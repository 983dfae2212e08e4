#include "model/tokenizer/protobuf_reader.h"

#include <bit>

namespace weft {

tl::unexpected<Error> ProtobufReader::Truncated() const {
  return Fail(ErrorCode::kCorrupt, "{}: a message of {} bytes ends inside a field at byte {}",
              path_, message_.size(), offset_);
}

Result<ProtobufField> ProtobufReader::Next() {
  ProtobufField field;
  WEFT_ASSIGN_OR_RETURN(const uint64_t tag, ReadVarint());
  if (tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF) {
    return Fail(ErrorCode::kCorrupt, "{}: field number {}, 1 to 536870911 expected", path_,
                tag >> 3);
  }
  field.number = static_cast<uint32_t>(tag >> 3);
  field.wire_type = static_cast<uint32_t>(tag & 7);
  switch (field.wire_type) {
    case 0: {
      WEFT_ASSIGN_OR_RETURN(field.integer, ReadVarint());
      return field;
    }
    case 1: {
      WEFT_ASSIGN_OR_RETURN(field.integer, ReadLittleEndian(8));
      return field;
    }
    case 2: {
      WEFT_ASSIGN_OR_RETURN(const uint64_t size_bytes, ReadVarint());
      if (size_bytes > message_.size() - offset_) return Truncated();
      field.bytes = message_.substr(offset_, size_bytes);
      offset_ += size_bytes;
      return field;
    }
    case 5: {
      WEFT_ASSIGN_OR_RETURN(field.integer, ReadLittleEndian(4));
      return field;
    }
    default:
      return Fail(ErrorCode::kCorrupt, "{}: field {} has wire type {}, 0, 1, 2 or 5 expected",
                  path_, field.number, field.wire_type);
  }
}

Result<uint64_t> ProtobufReader::ReadVarint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (offset_ == message_.size()) return Truncated();
    const auto byte = static_cast<uint8_t>(message_[offset_++]);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  return Fail(ErrorCode::kCorrupt, "{}: a varint of more than 10 bytes at byte {}", path_, offset_);
}

Result<uint64_t> ProtobufReader::ReadLittleEndian(size_t size_bytes) {
  if (size_bytes > message_.size() - offset_) return Truncated();
  uint64_t value = 0;
  for (size_t i = 0; i < size_bytes; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(message_[offset_ + i])) << (8 * i);
  }
  offset_ += size_bytes;
  return value;
}

Result<void> ProtobufReader::Expect(const ProtobufField& field, uint32_t wire_type,
                                    std::string_view name) const {
  if (field.wire_type == wire_type) return {};
  return Fail(ErrorCode::kCorrupt, "{}: {} has wire type {}, {} expected", path_, name,
              field.wire_type, wire_type);
}

Result<std::string_view> ProtobufReader::Bytes(const ProtobufField& field,
                                               std::string_view name) const {
  WEFT_RETURN_IF_ERROR(Expect(field, 2, name));
  return field.bytes;
}

Result<uint64_t> ProtobufReader::Varint(const ProtobufField& field, std::string_view name) const {
  WEFT_RETURN_IF_ERROR(Expect(field, 0, name));
  return field.integer;
}

Result<float> ProtobufReader::Float(const ProtobufField& field, std::string_view name) const {
  WEFT_RETURN_IF_ERROR(Expect(field, 5, name));
  return std::bit_cast<float>(static_cast<uint32_t>(field.integer));
}

}  // namespace weft
