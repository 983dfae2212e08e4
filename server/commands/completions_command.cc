#include "server/commands/completions_command.h"

#include <map>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "server/commands/command_line.h"

namespace weft {
namespace {

// All of them ask --help, so that they know what the binary knows. A command's name that is typed
// is handed over as what it is, or not at all.
constexpr std::string_view kBash = R"sh(# Completion for weft, by what its --help says.
_weft() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local weft=${COMP_WORDS[0]} command=${COMP_WORDS[1]} help values
  if ((COMP_CWORD == 1)); then
    help=$("$weft" --help 2>/dev/null | sed -nE 's/^  ([a-z]+)  +.*/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$help" -- "$word")
    return
  fi
  [[ $command =~ ^[a-z]+$ ]] || return
  help=$("$weft" "$command" --help 2>/dev/null)
  if [[ $before =~ ^--[a-z0-9-]+$ ]]; then
    values=$(sed -nE "s/^ *(-[A-Za-z],)?$before [A-Z]*:\{([^}]*)\}.*/\2/p" <<<"$help")
    if [[ -n $values ]]; then
      mapfile -t COMPREPLY < <(compgen -W "${values//,/ }" -- "$word")
      return
    fi
  fi
  if [[ $word == -* ]]; then
    values=$(sed -nE 's/^ +(-[A-Za-z],)?(--[a-z0-9-]+).*/\2/p' <<<"$help")
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
  else
    compopt -o default
  fi
}
complete -F _weft weft
)sh";

constexpr std::string_view kZsh = R"sh(#compdef weft
# Completion for weft, by what its --help says.
_weft() {
  local help
  local -a found
  if (( CURRENT == 2 )); then
    found=(${(f)"$($words[1] --help 2>/dev/null | sed -nE 's/^  ([a-z]+)  +(.*)/\1:\2/p')"})
    _describe command found
    return
  fi
  [[ $words[2] =~ ^[a-z]+$ ]] || return
  help=$($words[1] $words[2] --help 2>/dev/null)
  if [[ $words[CURRENT-1] =~ ^--[a-z0-9-]+$ ]]; then
    found=(${(s:,:)"$(sed -nE "s/^ *(-[A-Za-z],)?$words[CURRENT-1] [A-Z]*:\{([^}]*)\}.*/\2/p" <<<$help)"})
    if (( $#found )); then
      compadd -- $found
      return
    fi
  fi
  if [[ $words[CURRENT] == -* ]]; then
    found=(${(f)"$(sed -nE 's/^ +(-[A-Za-z],)?(--[a-z0-9-]+).*/\2/p' <<<$help)"})
    compadd -- $found
  else
    _files
  fi
}
if [[ $funcstack[1] == _weft ]]; then _weft "$@"; else compdef _weft weft; fi
)sh";

constexpr std::string_view kFish = R"sh(# Completion for weft, by what its --help says.
function __weft_words
    set -l words (commandline -opc)
    string match -qr -- '^[a-z]+$' "$words[2]"; or return
    set -l help (weft $words[2] --help 2>/dev/null)
    set -l before $words[-1]
    if string match -qr -- '^--[a-z0-9-]+$' $before
        set -l values (string replace -rf -- "^ *(?:-[A-Za-z],)?$before [A-Z]*:\{([^}]*)\}.*" '$1' $help)
        if test -n "$values"
            string split , $values
            return
        end
    end
    if string match -q -- '-*' (commandline -ct)
        string replace -rf -- '^ +(?:-[A-Za-z],)?(--[a-z0-9-]+).*' '$1' $help
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c weft -f
complete -c weft -n 'test (count (commandline -opc)) -eq 1' -a "(weft --help 2>/dev/null | string replace -rf '^  ([a-z]+)  +(.*)' '\$1\t\$2')"
complete -c weft -n 'test (count (commandline -opc)) -ge 2' -a '(__weft_words)'
)sh";

}  // namespace

int CompletionsCommand(int argc, const char* const* argv) {
  const std::map<std::string, std::string_view> scripts = {
      {"bash", kBash}, {"fish", kFish}, {"zsh", kZsh}};
  std::string shell;
  CLI::App app(
      "Prints what makes a shell complete weft's commands and options. bash, in ~/.bashrc: "
      "source <(weft completions bash); zsh, in ~/.zshrc: source <(weft completions zsh); fish: "
      "weft completions fish > ~/.config/fish/completions/weft.fish",
      "weft completions");
  app.add_option("SHELL", shell, "Which shell")
      ->required()
      ->check(CLI::IsMember({"bash", "fish", "zsh"}));
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  fmt::print("{}", scripts.at(shell));
  return 0;
}

}  // namespace weft
