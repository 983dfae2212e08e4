#include "proto/files/upload_form.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "base/quoted.h"
#include "proto/expiry.h"
#include "proto/files/file_object.h"

namespace weft {
namespace {

constexpr std::string_view kAnchorField = "expires_after[anchor]";
constexpr std::string_view kSecondsField = "expires_after[seconds]";
constexpr std::array kUploadFields = {std::string_view("purpose"), kAnchorField, kSecondsField};
constexpr size_t kMaxFieldBytes = 256;
constexpr size_t kMaxNameBytes = 255;

// What a client calls its file, without the folders that it may lie in.
ApiResult<std::string> NameOf(std::string_view path) {
  const size_t folder_end = path.find_last_of("/\\");
  const std::string_view name =
      folder_end == std::string_view::npos ? path : path.substr(folder_end + 1);
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (name.empty() || name.size() > kMaxNameBytes || std::ranges::any_of(name, is_control)) {
    return tl::unexpected(InvalidField(
        "file", fmt::format("'file' must have a name of 1 to {} bytes without control characters, "
                            "not {}",
                            kMaxNameBytes, Quoted(name))));
  }
  return std::string(name);
}

}  // namespace

ApiResult<void> UploadForm::OnPart(MultipartPart part) {
  field_ = nullptr;
  is_file_ = part.name == "file";
  if (is_file_) {
    if (std::exchange(has_file_, true)) {
      return tl::unexpected(InvalidField("file", "'file' is there twice; send one file a request"));
    }
    ApiResult<std::string> name = NameOf(part.filename.value_or(""));
    if (!name) return tl::unexpected(std::move(name).error());
    filename_ = *std::move(name);
  } else if (std::ranges::find(kUploadFields, part.name) != kUploadFields.end()) {
    field_ = &fields_[part.name];
    field_->clear();
  }
  return {};
}

ApiResult<void> UploadForm::OnData(std::string_view bytes) {
  if (is_file_) return on_file_(bytes);
  if (field_ == nullptr) return {};
  if (field_->size() + bytes.size() > kMaxFieldBytes) {
    return tl::unexpected(InvalidField(
        "", fmt::format("a field of the form is longer than {} bytes", kMaxFieldBytes)));
  }
  field_->append(bytes);
  return {};
}

ApiResult<UploadFields> UploadForm::Finish() const {
  if (!has_file_) {
    return tl::unexpected(InvalidField("file", "'file' is missing; send the file to upload"));
  }
  const auto purpose = fields_.find("purpose");
  if (purpose == fields_.end()) {
    return tl::unexpected(InvalidField("purpose", "'purpose' is missing; it must be batch"));
  }
  if (purpose->second != kBatchPurpose) {
    return tl::unexpected(InvalidField(
        "purpose", fmt::format("'purpose' must be batch, not {}", Quoted(purpose->second))));
  }
  const ApiResult<int32_t> expiry_seconds = ExpirySeconds();
  if (!expiry_seconds) return tl::unexpected(expiry_seconds.error());
  return UploadFields{.filename = filename_, .expiry_seconds = *expiry_seconds};
}

ApiResult<int32_t> UploadForm::ExpirySeconds() const {
  const auto anchor = fields_.find(kAnchorField);
  const auto seconds = fields_.find(kSecondsField);
  if (anchor == fields_.end() && seconds == fields_.end()) return kMaxExpirySeconds;
  if (anchor == fields_.end() || anchor->second != "created_at") {
    return tl::unexpected(
        InvalidField(std::string(kAnchorField), "'expires_after[anchor]' must be created_at"));
  }
  int32_t count = 0;
  const std::string text = seconds == fields_.end() ? "" : seconds->second;
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, count);
  if (error != std::errc() || end != text_end || count < kMinExpirySeconds ||
      count > kMaxExpirySeconds) {
    return tl::unexpected(InvalidField(
        std::string(kSecondsField),
        fmt::format("'expires_after[seconds]' must be an integer from {} to {}, not {}",
                    kMinExpirySeconds, kMaxExpirySeconds, Quoted(text))));
  }
  return count;
}

}  // namespace weft
