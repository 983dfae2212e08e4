#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "loadtest/command.h"

int main(int argc, char** argv) try {
  CLI::App app("Drives an OpenAI-compatible server and reports throughput and latencies.",
               "weft-loadtest");
  weft::LoadtestOptions options;
  weft::AddLoadtestOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  return weft::RunLoadtest(options);
} catch (const std::exception& exception) {
  std::fprintf(stderr, "weft-loadtest: %s\n", exception.what());
  return 1;
}
