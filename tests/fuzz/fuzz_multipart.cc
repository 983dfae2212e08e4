// Forms of uploads: whatever comes, in pieces of any size, the same parts or a refusal.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "proto/files/multipart_parser.h"
#include "proto/files/upload_form.h"

namespace {

// What a body comes to: all that handlers are told, or that it is no form.
std::string TextOf(std::string_view body, size_t piece_bytes) {
  struct : weft::MultipartHandler {
    weft::ApiResult<void> OnPart(weft::MultipartPart part) override {
      text += "\n" + part.name + "\n" + part.filename.value_or("-") + "\n";
      return form.OnPart(std::move(part));
    }
    weft::ApiResult<void> OnData(std::string_view bytes) override {
      if (bytes.empty()) std::abort();
      text += bytes;
      return form.OnData(bytes);
    }
    std::string text;
    weft::UploadForm form{[](std::string_view) { return weft::ApiResult<void>(); }};
  } recorder;
  weft::MultipartParser parser("b", recorder);
  for (; !body.empty(); body.remove_prefix(std::min(piece_bytes, body.size()))) {
    if (!parser.Put(body.substr(0, piece_bytes))) return "refused";
  }
  if (!parser.Finish()) return "refused";
  const auto fields = recorder.form.Finish();
  return recorder.text + (fields ? fields->filename : fields.error().param);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const std::string_view body(reinterpret_cast<const char*>(data), size_bytes);
  static_cast<void>(weft::MultipartParser::BoundaryOf(body));
  const std::string whole = TextOf(body, std::max<size_t>(size_bytes, 1));
  if (TextOf(body, 1) != whole || TextOf(body, 7) != whole) std::abort();
  return 0;
}
