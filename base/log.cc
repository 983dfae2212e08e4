#include "base/log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <unistd.h>

#include "base/json_text.h"
#include "base/line_writer.h"

namespace weft {
namespace {

using std::chrono::system_clock;

// In the order of LogLevel.
constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warning", "error",
                                                         "off"};
// On a terminal: cyan, green, bold yellow, bold red.
constexpr std::array<std::string_view, 4> kLevelColors = {"\x1b[36m", "\x1b[32m", "\x1b[33m\x1b[1m",
                                                          "\x1b[31m\x1b[1m"};
constexpr std::string_view kNoColor = "\x1b[m";

std::string NoticeOf(uint64_t lost_count);

bool HasColors() {
  const char* const terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

struct Logger {
  static constexpr size_t kMaxWaitingBytes = 1 << 20;

  std::atomic<LogLevel> level{LogLevel::kInfo};
  std::atomic<LogFormat> format{LogFormat::kText};
  const bool has_colors = HasColors();
  LineWriter writer{STDERR_FILENO, kMaxWaitingBytes, NoticeOf};
};

// Never destroyed: a thread that stderr holds up goes on until the process has ended.
Logger& TheLogger() {
  static Logger& logger = *new Logger;
  return logger;
}

// Down to so many digits of the second. RFC 3339, but for the offset.
template <typename Unit>
std::string TimeText(const std::tm& time, system_clock::time_point now, int digits) {
  const auto fraction = std::chrono::floor<Unit>(now.time_since_epoch()) % std::chrono::seconds(1);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:0{}}", time.tm_year + 1900,
                     time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec,
                     fraction.count(), digits);
}

std::string LocalTimeText(system_clock::time_point now) {
  const std::time_t seconds = system_clock::to_time_t(now);
  std::tm time{};
  localtime_r(&seconds, &time);
  const long offset_minutes = std::labs(time.tm_gmtoff) / 60;
  return fmt::format("{}{}{:02}:{:02}", TimeText<std::chrono::milliseconds>(time, now, 3),
                     time.tm_gmtoff < 0 ? '-' : '+', offset_minutes / 60, offset_minutes % 60);
}

std::string UtcText(system_clock::time_point now) {
  const std::time_t seconds = system_clock::to_time_t(now);
  std::tm time{};
  gmtime_r(&seconds, &time);
  return TimeText<std::chrono::microseconds>(time, now, 6) + 'Z';
}

// The whole line, its line feed included.
std::string FormatLine(const Logger& log, LogLevel level, std::string_view message,
                       std::span<const LogField> fields) {
  const system_clock::time_point now = system_clock::now();
  if (log.format == LogFormat::kJson) {
    return fmt::format(R"({{"timestamp":"{}","level":"{}",{}}})"
                       "\n",
                       UtcText(now), NameOf(level), FormatLogJson(message, fields));
  }
  const auto index = static_cast<size_t>(level);
  const std::string_view color = log.has_colors ? kLevelColors[index] : "";
  return fmt::format("{} {}{}{} {}\n", LocalTimeText(now), color, NameOf(level),
                     log.has_colors ? kNoColor : "", FormatLogText(message, fields));
}

std::string NoticeOf(uint64_t lost_count) {
  return FormatLine(
      TheLogger(), LogLevel::kWarning,
      fmt::format(
          "{} lines of the log are lost: stderr did not take them in time, or no memory was left",
          lost_count),
      {});
}

bool IsLogged(LogLevel level) { return level >= TheLogger().level && level != LogLevel::kOff; }

template <typename MakeLine>
void AddMadeBy(const MakeLine& make_line) noexcept {
  LineWriter& writer = TheLogger().writer;
  try {
    writer.Add(make_line());
  } catch (const std::exception&) {
    writer.AddLost();
  }
}

// Text that cannot be mistaken for anything else in a line of names and values.
bool IsPlain(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c <= '~' && c != '"' && c != '\\';
  });
}

void AppendValue(const LogField& field, bool in_json, std::string& line) {
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    if (!in_json && IsPlain(*text)) {
      line += *text;
    } else {
      AppendJsonString(*text, line);
    }
  } else if (const auto* count = std::get_if<int64_t>(&field.value)) {
    line += fmt::format("{}", *count);
  } else {
    const double number = std::get<double>(field.value);
    line += std::isfinite(number) ? fmt::format("{:.3f}", number) : "null";
  }
}

}  // namespace

void SetLogLevel(LogLevel level) { TheLogger().level = level; }

void SetLogFormat(LogFormat format) { TheLogger().format = format; }

std::string_view NameOf(LogLevel level) { return kLevelNames[static_cast<size_t>(level)]; }

Result<LogLevel> ParseLogLevel(std::string_view name) {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == name) return static_cast<LogLevel>(i);
  }
  return Fail(ErrorCode::kInvalidArgument,
              "log level '{}' is not one of debug, info, warning, error, off", name);
}

void LogLine(LogLevel level, std::string_view message, std::span<const LogField> fields) noexcept {
  const Logger& log = TheLogger();
  if (!IsLogged(level)) return;
  AddMadeBy([&] { return FormatLine(log, level, message, fields); });
}

void LogFormatted(LogLevel level, fmt::string_view format, fmt::format_args arguments) noexcept {
  const Logger& log = TheLogger();
  if (!IsLogged(level)) return;
  AddMadeBy([&] { return FormatLine(log, level, fmt::vformat(format, arguments), {}); });
}

void PrintError(std::string_view line) noexcept {
  AddMadeBy([&] { return fmt::format("{}\n", line); });
}

LogThread::LogThread() { TheLogger().writer.Start(); }

LogThread::~LogThread() { TheLogger().writer.Stop(std::chrono::seconds(2)); }

bool FlushLog(std::chrono::milliseconds patience) { return TheLogger().writer.Flush(patience); }

uint64_t LogLinesDropped() { return TheLogger().writer.lost_count(); }

std::string FormatLogText(std::string_view message, std::span<const LogField> fields) {
  std::string line(message);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.name;
    line += '=';
    AppendValue(field, false, line);
  }
  return line;
}

std::string FormatLogJson(std::string_view message, std::span<const LogField> fields) {
  std::string line = "\"message\":";
  AppendJsonString(message, line);
  for (const LogField& field : fields) {
    line += ",\"";
    line += field.name;
    line += "\":";
    AppendValue(field, true, line);
  }
  return line;
}

}  // namespace weft
