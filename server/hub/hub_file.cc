#include "server/hub/hub_file.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"
#include "base/quoted.h"

namespace weft {
namespace {

constexpr size_t kMaxPathBytes = 512;
constexpr int kMaxPathParts = 16;

// The number that five digits are; 0: they are none.
int FiveDigits(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number =
      text.size() == 5 && error == std::errc() && number > 0 && end == text.data() + text.size();
  return is_number ? number : 0;
}

}  // namespace

Result<void> CheckHubPath(std::string_view path) {
  const auto refuse = [path](std::string_view what) {
    return Fail(ErrorCode::kCorrupt, "the path {} {}", Quoted(path), what);
  };
  if (path.empty()) return refuse("is empty");
  if (path.size() > kMaxPathBytes) return refuse("has more than 512 bytes");
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(path, is_control)) return refuse("has control characters");
  if (path.find('\\') != std::string_view::npos) return refuse("has a backslash");
  int parts = 0;
  for (std::string_view rest = path;; ++parts) {
    const size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty()) return refuse("has an empty part");
    if (part.front() == '.') return refuse("has a part that begins with '.'");
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (parts >= kMaxPathParts) return refuse("has more than 16 parts");
  return {};
}

bool IsHidden(std::string_view path) {
  for (;;) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.starts_with('.') && part != "." && part != "..") return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

bool IsModelFile(std::string_view path) {
  constexpr std::array kExtensions = {
      std::string_view(".gguf"),    std::string_view(".safetensors"), std::string_view(".json"),
      std::string_view(".jinja"),   std::string_view(".model"),       std::string_view(".spm"),
      std::string_view(".tiktoken")};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name == "vocab.txt" || name == "merges.txt") return true;
  return std::ranges::any_of(kExtensions, [name](std::string_view extension) {
    return name.size() > extension.size() && name.ends_with(extension);
  });
}

SetPart PartOf(std::string_view path) {
  constexpr std::string_view kExample = "-00001-of-00001";
  const std::string_view stem = path.substr(0, path.rfind('.'));
  if (stem.size() > kExample.size()) {
    const std::string_view end = stem.substr(stem.size() - kExample.size());
    const int number = FiveDigits(end.substr(1, 5));
    const int count = FiveDigits(end.substr(10, 5));
    if (end.front() == '-' && end.substr(6, 4) == "-of-" && number > 0 && number <= count) {
      return {std::string(stem.substr(0, stem.size() - kExample.size())), number, count};
    }
  }
  return {std::string(stem), 1, 1};
}

}  // namespace weft
