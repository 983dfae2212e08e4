#include "base/log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/json_text.h"

namespace weft {
namespace {

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%e%z %^%l%$ %v";
// Around what FormatLogJson writes.
constexpr const char* kJsonPattern = R"({"timestamp":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l",%v})";

// In the order of LogLevel.
constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warning", "error",
                                                         "off"};

struct Logger {
  spdlog::logger logger{"weft", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()};
  std::atomic<LogFormat> format{LogFormat::kText};

  Logger() {
    logger.set_pattern(kTextPattern);
    logger.flush_on(spdlog::level::info);
  }
};

Logger& TheLogger() {
  static Logger logger;
  return logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
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

void SetLogLevel(LogLevel level) { TheLogger().logger.set_level(ToSpdlog(level)); }

void SetLogFormat(LogFormat format) {
  TheLogger().format = format;
  if (format == LogFormat::kJson) {
    TheLogger().logger.set_pattern(kJsonPattern, spdlog::pattern_time_type::utc);
  } else {
    TheLogger().logger.set_pattern(kTextPattern);
  }
}

std::string_view NameOf(LogLevel level) { return kLevelNames[static_cast<size_t>(level)]; }

Result<LogLevel> ParseLogLevel(std::string_view name) {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == name) return static_cast<LogLevel>(i);
  }
  return Fail(ErrorCode::kInvalidArgument,
              "log level '{}' is not one of debug, info, warning, error, off", name);
}

void LogLine(LogLevel level, std::string_view message, std::span<const LogField> fields) {
  Logger& log = TheLogger();
  const spdlog::level::level_enum severity = ToSpdlog(level);
  if (!log.logger.should_log(severity)) return;
  const std::string line = log.format == LogFormat::kJson ? FormatLogJson(message, fields)
                                                          : FormatLogText(message, fields);
  log.logger.log(severity, spdlog::string_view_t(line.data(), line.size()));
}

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
