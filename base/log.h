// The log: one line an event, on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "base/result.h"

namespace weft {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// kText: "2026-01-31T12:00:00.000+01:00 info message name=value", in local time. kJson: one object
// a line, {"timestamp":"2026-01-31T11:00:00.000000Z","level":"info","message":"...","name":value}.
enum class LogFormat { kText, kJson };

// Call once, before threads start; without them the level is kInfo, the format kText. Thread-safe
// afterwards.
void SetLogLevel(LogLevel level);
void SetLogFormat(LogFormat format);
std::string_view NameOf(LogLevel level);
Result<LogLevel> ParseLogLevel(
    std::string_view name);  // "debug", "info", "warning", "error", "off"

// Something that an event is about. A double has three decimals.
struct LogField {
  std::string_view name;  // letters, digits and underscores; not timestamp, level or message
  std::variant<std::string_view, int64_t, double> value;  // text: any bytes
};

// Logging throws nothing, so that what handles a failure can log it: a line for which there is no
// memory is counted with those that stderr did not take.
void LogLine(LogLevel level, std::string_view message,
             std::span<const LogField> fields = {}) noexcept;

// A line on stderr as it is, whatever the level, behind those of the log: why a command fails.
void PrintError(std::string_view line) noexcept;

// While it lives, a thread writes the lines, and who logs never waits for stderr: a pipe that
// nobody reads has room for its own bytes and a mebibyte here, then lines are dropped, and one says
// how many. Without it every line is on stderr when the call returns. One at a time; throws
// std::system_error if there can be no thread.
class LogThread {
 public:
  LogThread();
  // Gives the last lines two seconds. If stderr has not taken them by then, the thread stays: the
  // process can end, and nobody waits for stderr until it does.
  ~LogThread();
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;
};

// Until all that was logged so far is on stderr or lost, at most so long. False: it is not.
bool FlushLog(std::chrono::milliseconds patience);
// Lines that are lost.
uint64_t LogLinesDropped();

void LogFormatted(LogLevel level, fmt::string_view format, fmt::format_args arguments) noexcept;

template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) noexcept {
  LogFormatted(level, format, fmt::make_format_args(args...));
}

// What follows the level in a line of that format.
std::string FormatLogText(std::string_view message, std::span<const LogField> fields);
std::string FormatLogJson(std::string_view message, std::span<const LogField> fields);

}  // namespace weft
