#include "model/tokenizer/sentencepiece_file.h"

#include <cmath>
#include <utility>

#include "model/tokenizer/protobuf_reader.h"

namespace weft {
namespace {

constexpr size_t kMaxPieceBytes = 1024;

struct Piece {
  std::string_view text;
  float score = 0.0f;
  uint64_t kind = 1;  // SentencePiece.Type, whose values are TokenKind's
};

class SentencePieceFileReader {
 public:
  SentencePieceFileReader(std::string_view bytes, const std::string& path, int64_t max_pieces)
      : bytes_(bytes), path_(path), max_pieces_(max_pieces) {}

  Result<SentencePieceFile> Read();

 private:
  Result<void> AddPiece(std::string_view message);
  Result<void> ReadTrainerSpec(std::string_view message);
  Result<void> ReadNormalizerSpec(std::string_view message);

  std::string_view bytes_;
  const std::string& path_;
  int64_t max_pieces_;
  SentencePieceFile file_;
};

Result<SentencePieceFile> SentencePieceFileReader::Read() {
  ProtobufReader reader(bytes_, path_);
  while (!reader.done()) {
    WEFT_ASSIGN_OR_RETURN(const ProtobufField field, reader.Next());
    switch (field.number) {
      case 1: {
        WEFT_ASSIGN_OR_RETURN(const std::string_view message, reader.Bytes(field, "pieces"));
        WEFT_RETURN_IF_ERROR(AddPiece(message));
        break;
      }
      case 2: {
        WEFT_ASSIGN_OR_RETURN(const std::string_view message, reader.Bytes(field, "trainer_spec"));
        WEFT_RETURN_IF_ERROR(ReadTrainerSpec(message));
        break;
      }
      case 3: {
        WEFT_ASSIGN_OR_RETURN(const std::string_view message,
                              reader.Bytes(field, "normalizer_spec"));
        WEFT_RETURN_IF_ERROR(ReadNormalizerSpec(message));
        break;
      }
      default:
        break;  // self-test data and the denormalizer, which no model with BPE has
    }
  }
  if (file_.tokens.empty()) return Fail(ErrorCode::kCorrupt, "{}: no pieces", path_);
  return std::move(file_);
}

Result<void> SentencePieceFileReader::AddPiece(std::string_view message) {
  Piece piece;
  ProtobufReader reader(message, path_);
  while (!reader.done()) {
    WEFT_ASSIGN_OR_RETURN(const ProtobufField field, reader.Next());
    if (field.number == 1) {
      WEFT_ASSIGN_OR_RETURN(piece.text, reader.Bytes(field, "piece"));
    } else if (field.number == 2) {
      WEFT_ASSIGN_OR_RETURN(piece.score, reader.Float(field, "score"));
    } else if (field.number == 3) {
      WEFT_ASSIGN_OR_RETURN(piece.kind, reader.Varint(field, "type"));
    }
  }
  const size_t id = file_.tokens.size();
  if (static_cast<int64_t>(id) >= max_pieces_) {
    return Fail(ErrorCode::kCorrupt, "{}: more pieces than the model's vocabulary of {}", path_,
                max_pieces_);
  }
  if (piece.text.empty() || piece.text.size() > kMaxPieceBytes) {
    return Fail(ErrorCode::kCorrupt, "{}: piece {} has {} bytes, 1 to {} expected", path_, id,
                piece.text.size(), kMaxPieceBytes);
  }
  if (!std::isfinite(piece.score)) {
    return Fail(ErrorCode::kCorrupt, "{}: the score of piece {} is not finite", path_, id);
  }
  if (piece.kind < 1 || piece.kind > 6) {
    return Fail(ErrorCode::kCorrupt, "{}: piece {} has type {}, 1 to 6 expected", path_, id,
                piece.kind);
  }
  const auto kind = static_cast<TokenKind>(piece.kind);
  file_.tokens.push_back({std::string(piece.text), kind});
  file_.scores.push_back(piece.score);
  return {};
}

Result<void> SentencePieceFileReader::ReadTrainerSpec(std::string_view message) {
  ProtobufReader reader(message, path_);
  while (!reader.done()) {
    WEFT_ASSIGN_OR_RETURN(const ProtobufField field, reader.Next());
    const auto read_flag = [&](std::string_view name, bool* flag) -> Result<void> {
      WEFT_ASSIGN_OR_RETURN(const uint64_t value, reader.Varint(field, name));
      *flag = value != 0;
      return {};
    };
    const auto read_id = [&](std::string_view name, int32_t* id) -> Result<void> {
      WEFT_ASSIGN_OR_RETURN(const uint64_t value, reader.Varint(field, name));
      *id = static_cast<int32_t>(value);  // int32 on the wire: the low bits of 64
      return {};
    };
    switch (field.number) {
      case 3: {
        WEFT_ASSIGN_OR_RETURN(file_.trainer.model_type, reader.Varint(field, "model_type"));
        break;
      }
      case 24:
        WEFT_RETURN_IF_ERROR(
            read_flag("treat_whitespace_as_suffix", &file_.trainer.treat_whitespace_as_suffix));
        break;
      case 35:
        WEFT_RETURN_IF_ERROR(read_flag("byte_fallback", &file_.trainer.byte_fallback));
        break;
      case 40:
        WEFT_RETURN_IF_ERROR(read_id("unk_id", &file_.trainer.unknown_id));
        break;
      case 41:
        WEFT_RETURN_IF_ERROR(read_id("bos_id", &file_.trainer.bos_id));
        break;
      case 42:
        WEFT_RETURN_IF_ERROR(read_id("eos_id", &file_.trainer.eos_id));
        break;
      default:
        break;  // of interest to the trainer alone
    }
  }
  return {};
}

Result<void> SentencePieceFileReader::ReadNormalizerSpec(std::string_view message) {
  ProtobufReader reader(message, path_);
  while (!reader.done()) {
    WEFT_ASSIGN_OR_RETURN(const ProtobufField field, reader.Next());
    if (field.number == 2) {
      WEFT_ASSIGN_OR_RETURN(file_.normalizer.precompiled_charsmap,
                            reader.Bytes(field, "precompiled_charsmap"));
    } else if (field.number >= 3 && field.number <= 5) {
      WEFT_ASSIGN_OR_RETURN(const uint64_t flag, reader.Varint(field, "normalizer_spec"));
      if (field.number == 3) file_.normalizer.add_dummy_prefix = flag != 0;
      if (field.number == 4) file_.normalizer.remove_extra_whitespaces = flag != 0;
      if (field.number == 5) file_.normalizer.escape_whitespaces = flag != 0;
    }
  }
  return {};
}

}  // namespace

Result<SentencePieceFile> ReadSentencePieceFile(std::string_view bytes, const std::string& path,
                                                int64_t max_pieces) {
  return SentencePieceFileReader(bytes, path, max_pieces).Read();
}

}  // namespace weft
