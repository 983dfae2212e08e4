#!/usr/bin/env bash
# usage: describe_commands.sh WEFT DIRECTORY
# Writes what `weft` says of itself below DIRECTORY, as it is installed below /usr: a manual page of --help for each command
# (help2man's), and completions, if the binary prints them.
set -euo pipefail
weft=$(readlink -f "$1")
share=$2/share
rm -rf "${share:?}"/{man,bash-completion,zsh,fish}
mkdir -p "$share/man/man1"
version=$("$weft" --version)
date=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%F)

scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
# Stands before the binary, and has CLI11's help as help2man expects it: two spaces before a description also where an option fills
# its column of 30, and between "-h," and "--help".
cat >"$scratch/weft" <<SCRIPT
#!/bin/sh
"$weft" "\$@" | sed -E '/ in \[[^]]*\][^ ]*\$/!s/^(  -.{25}[^ ]) ([^ ])/\1  \2/; s/^( +-[a-z]),--/\1, --/; s/^usage:/Usage:/'
SCRIPT
chmod +x "$scratch/weft"
PATH=$scratch:$PATH

# page NAME SUMMARY COMMAND: help2man calls a page by the first word of the command.
page() {
  help2man --no-info --section=1 --manual='Weft' --source="$version" --version-string="$version" --name="$2" \
    --include="$scratch/see_also" "$3" |
    sed -E -e "s/^\.TH .* \"[^\"]* [0-9]{4}\"/.TH ${1^^} \"1\" \"$date\"/" -e '/^\.SH NAME$/{n;s/^[^\]* \\-/'"$1"' \\-/}' \
      -e '/^\.IP$/{N;s/^\.IP\nweft COMMAND/.PP\nweft COMMAND/}' |
    gzip -9n >"$share/man/man1/$1.1.gz"
}

# Lines of `weft --help` are "  COMMAND   summary".
commands=$("$weft" --help | sed -n 's/^  \([a-z]*\)  *\([^ ].*\)/\1 \2/p' | grep -v '^weft ')
printf '[SEE ALSO]\n' >"$scratch/see_also"
sed 's/\([a-z]*\) .*/.BR weft\\-\1 (1),/; $s/,$//' <<<"$commands" >>"$scratch/see_also"
page weft 'inference server for language models on CPUs' weft
printf '[SEE ALSO]\n.BR weft (1)\n' >"$scratch/see_also"
while read -r command summary; do page "weft-$command" "$summary" "weft $command"; done <<<"$commands"

# complete SHELL FILE
complete() {
  mkdir -p "$(dirname "$share/$2")"
  "$weft" completions "$1" >"$share/$2"
}
if grep -q '^completions ' <<<"$commands"; then
  complete bash bash-completion/completions/weft
  complete zsh zsh/vendor-completions/_weft
  complete fish fish/vendor_completions.d/weft.fish
fi
