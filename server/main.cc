// `weft`: one binary, a subcommand for each thing it does.
#include <array>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <unistd.h>

#include <fmt/core.h>

#include "base/log.h"
#include "loadtest/command.h"
#include "server/commands/batch_command.h"
#include "server/commands/bench_command.h"
#include "server/commands/chat/chat_command.h"
#include "server/commands/command_line.h"
#include "server/commands/completions_command.h"
#include "server/commands/doctor/doctor_command.h"
#include "server/commands/embed_command.h"
#include "server/commands/generate_command.h"
#include "server/commands/health_command.h"
#include "server/commands/hub/models_command.h"
#include "server/commands/hub/pull_command.h"
#include "server/commands/hub/rm_command.h"
#include "server/commands/inspect_command.h"
#include "server/commands/rerank_command.h"
#include "server/commands/serve_command.h"
#include "server/commands/tokenize_command.h"
#include "server/version.h"

namespace {

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(int argc, const char* const* argv);  // argv[0] is the command's name
};

constexpr std::array kCommands = {
    Command{"serve", "serves a model over HTTP", weft::ServeCommand},
    Command{"chat", "a conversation on the terminal", weft::ChatCommand},
    Command{"generate", "continues a prompt on stdout", weft::GenerateCommand},
    Command{"embed", "makes embeddings of texts, a corpus of them", weft::EmbedCommand},
    Command{"rerank", "ranks documents for a query", weft::RerankCommand},
    Command{"batch", "answers a file of requests without a server", weft::BatchCommand},
    Command{"bench", "times a model alone, without a server", weft::BenchCommand},
    Command{"tokenize", "prints the token ids of a text", weft::TokenizeCommand},
    Command{"inspect", "prints what a model file holds", weft::InspectCommand},
    Command{"pull", "fetches a model from the Hugging Face Hub", weft::PullCommand},
    Command{"models", "lists the models that were fetched", weft::ModelsCommand},
    Command{"rm", "removes a model that was fetched", weft::RmCommand},
    Command{"doctor", "says what this machine offers, and measures it", weft::DoctorCommand},
    Command{"health", "succeeds if a server is ready", weft::HealthCommand},
    Command{"completions", "prints what makes a shell complete all this", weft::CompletionsCommand},
    Command{"loadtest", "drives any OpenAI-compatible server and measures it",
            weft::LoadtestCommand},
};

void PrintUsage(std::FILE* file) {
  fmt::print(file, "usage: weft COMMAND [ARGUMENT...]\n\n");
  for (const Command& command : kCommands) {
    fmt::print(file, "  {:<12} {}\n", command.name, command.summary);
  }
  fmt::print(file, "\n  weft COMMAND --help lists the options of a command\n");
}

// Leaves a failure at once: where a start finds no memory or no threads, libraries that are left in
// order may wait forever for what never came to be.
int Leave(int status) {
  if (status == 0) return status;
  weft::FlushLog(std::chrono::seconds(1));
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    PrintUsage(stderr);
    return 2;
  }
  const std::string_view name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") {
    PrintUsage(stdout);
    return 0;
  }
  if (name == "--version") {
    fmt::print("weft {}\n", weft::Version());
    return 0;
  }
  for (const Command& command : kCommands) {
    if (command.name != name) continue;
    return Leave(weft::RunCommand(name, [&] { return command.run(argc - 1, argv + 1); }));
  }
  fmt::print(stderr, "weft: there is no command '{}'; weft --help lists them\n", name);
  return 2;
}
