// The form of POST /v1/files, read as it comes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "proto/api_error.h"
#include "proto/files/multipart_parser.h"

namespace weft {

struct UploadFields {
  std::string filename;
  int32_t expiry_seconds = 0;  // after the upload
};

// Fields may come before the file or after it. Those that it does not know are dropped.
class UploadForm : public MultipartHandler {
 public:
  using FileSink = std::function<ApiResult<void>(std::string_view bytes)>;

  // `on_file` gets what is in the file, piece by piece.
  explicit UploadForm(FileSink on_file) : on_file_(std::move(on_file)) {}

  ApiResult<void> OnPart(MultipartPart part) override;
  ApiResult<void> OnData(std::string_view bytes) override;
  // When all parts were there. Errors name the field.
  ApiResult<UploadFields> Finish() const;

 private:
  ApiResult<int32_t> ExpirySeconds() const;

  const FileSink on_file_;
  std::map<std::string, std::string, std::less<>> fields_;
  std::string* field_ = nullptr;  // that is being read; nullptr: the file, or one to be dropped
  bool is_file_ = false;
  bool has_file_ = false;
  std::string filename_;
};

}  // namespace weft
