#include "loadtest/report/report_files.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include <CLI/CLI.hpp>

namespace weft {
namespace {

Result<void> WriteFile(const std::string& path, const std::string& contents) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return Fail(ErrorCode::kInternal, "{}: cannot be written: {}", path, std::strerror(errno));
  }
  const bool written = std::fwrite(contents.data(), 1, contents.size(), file) == contents.size();
  if (std::fclose(file) != 0 || !written) {
    return Fail(ErrorCode::kInternal, "{}: cannot be written: {}", path, std::strerror(errno));
  }
  return {};
}

}  // namespace

void AddReportOptions(CLI::App& app, ReportFiles& files, const std::string& csv_help) {
  const std::string group = "Reports";
  app.add_flag("--json", files.json, "One line of JSON on stdout instead of the table")
      ->group(group);
  if (!csv_help.empty())
    app.add_option("--csv", files.csv_path, csv_help)->type_name("FILE")->group(group);
  app.add_option("--html", files.html_path, "File for a report with plots, one that needs no other")
      ->type_name("FILE")
      ->group(group);
}

Result<void> WriteReports(const ReportFiles& files, const ReportForms& forms) {
  const bool colour = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  std::fputs((files.json ? forms.json() : forms.table(colour)).c_str(), stdout);
  std::fflush(stdout);
  if (!files.csv_path.empty()) WEFT_RETURN_IF_ERROR(WriteFile(files.csv_path, forms.csv()));
  if (!files.html_path.empty()) WEFT_RETURN_IF_ERROR(WriteFile(files.html_path, forms.html()));
  return {};
}

}  // namespace weft
