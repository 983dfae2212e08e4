// The log: one line an event, on stderr. Kept apart from spdlog's headers so that they cost no room
// a compile.
#pragma once

#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/result.h"

namespace weft {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// Call once, before threads start; without it the level is kInfo. Thread-safe afterwards.
void SetLogLevel(LogLevel level);
std::string_view NameOf(LogLevel level);
Result<LogLevel> ParseLogLevel(
    std::string_view name);  // "debug", "info", "warning", "error", "off"

void LogLine(LogLevel level, std::string_view message);

template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  LogLine(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace weft
