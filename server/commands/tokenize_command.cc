#include "server/commands/tokenize_command.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "model/checkpoint.h"
#include "model/tokenizer/tokenizer.h"
#include "proto/json_dump.h"
#include "server/commands/command_line.h"
#include "server/models/model_path.h"

namespace weft {
namespace {

struct TokenizeOptions {
  std::string model_path;
  std::string text;
  std::string text_file;
  bool show_text = false;
  EncodeOptions encode;
};

void AddTokenizeFlags(CLI::App& app, TokenizeOptions& options) {
  app.add_option(
      "--model", options.model_path,
      "GGUF file or Hugging Face directory, of which a tokenizer is enough (the bundled model)");
  auto* text = app.add_option_group("text", "What to tokenize; exactly one of");
  text->add_option("TEXT", options.text, "Text");
  text->add_option("--file", options.text_file, "File with the text; -: standard input");
  text->require_option(1);
  app.add_flag("--show-text", options.show_text, "A line a token: its id and, quoted, its bytes");
  app.add_flag_callback(
      "--no-special", [&options] { options.encode.add_special_tokens = false; },
      "Without BOS and EOS, which are added by default");
  app.add_flag_callback(
      "--plain", [&options] { options.encode.parse_special_tokens = false; },
      "Read <|...|> as ordinary text; by default it is a control token");
}

Result<void> Tokenize(TokenizeOptions options) {
  if (!options.text_file.empty()) {
    WEFT_ASSIGN_OR_RETURN(options.text, ReadText(options.text_file));
  }
  WEFT_ASSIGN_OR_RETURN(options.model_path, FindModel(options.model_path, 0));
  WEFT_ASSIGN_OR_RETURN(const std::shared_ptr<const Tokenizer> tokenizer,
                        LoadTokenizer(options.model_path));
  WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> ids,
                        tokenizer->Encode(options.text, options.encode));
  if (!options.show_text) {
    fmt::print("{}\n", fmt::join(ids, " "));
    return {};
  }
  for (const TokenId id : ids) {
    const std::string_view shown =
        tokenizer->IsControl(id) ? tokenizer->TokenText(id) : tokenizer->TokenBytes(id);
    // A token may be half a character: JSON's quoting shows what is text and replaces what is not.
    const nlohmann::json quoted = shown;
    fmt::print("{:>8} {}\n", id, DumpJson(quoted));
  }
  return {};
}

}  // namespace

int TokenizeCommand(int argc, const char* const* argv) {
  TokenizeOptions options;
  CLI::App app("Prints the token ids of a text.", "weft tokenize");
  AddTokenizeFlags(app, options);
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  const Result<void> tokenized = Tokenize(std::move(options));
  return tokenized ? 0 : FailCommand(app, tokenized.error());
}

}  // namespace weft
