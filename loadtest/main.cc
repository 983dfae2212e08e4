#include <cstdio>
#include <exception>

#include "loadtest/command.h"

int main(int argc, char** argv) try {
  return weft::LoadtestCommand(argc, argv);
} catch (const std::exception& exception) {
  std::fprintf(stderr, "weft-loadtest: %s\n", exception.what());
  return 1;
}
