#include "base/format_bytes.h"

#include <fmt/core.h>

namespace weft {

std::string FormatBytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  const double kibibytes = static_cast<double>(bytes) / 1024;
  if (kibibytes < 102.4) return fmt::format("{:.1f} KiB", kibibytes);
  const double mebibytes = kibibytes / 1024;
  return mebibytes < 1024 ? fmt::format("{:.1f} MiB", mebibytes)
                          : fmt::format("{:.2f} GiB", mebibytes / 1024);
}

}  // namespace weft
