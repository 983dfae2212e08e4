#include "proto/responses/sealed_text.h"

#include "base/base64.h"
#include "base/utf8.h"

namespace weft {
namespace {

// Says whose it is, and in which form.
constexpr std::string_view kSealedMark = "weft.1:";

}  // namespace

std::string SealText(std::string_view text) {
  std::string sealed;
  AppendBase64(std::string(kSealedMark).append(text), &sealed);
  return sealed;
}

std::optional<std::string> UnsealText(std::string_view sealed) {
  std::optional<std::string> text = DecodeBase64(sealed);
  if (!text || !text->starts_with(kSealedMark)) return std::nullopt;
  text->erase(0, kSealedMark.size());
  if (ValidUtf8Prefix(*text) != text->size()) return std::nullopt;
  return text;
}

}  // namespace weft
