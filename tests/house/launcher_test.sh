#!/usr/bin/env bash
# The launcher's behaviour on machines that lack packages, with stand-ins for dpkg-query, apt-get and sudo:
# nothing is installed and nothing is built.
set -euo pipefail
unset WEFT_NO_INSTALL
launcher=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/weft
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "launcher_test: $*"
  cat "$scratch"/{stdout,stderr}
  exit 1
}

# run EXPECTED_STATUS ARGUMENT...: with the stand-ins first on the path
run() {
  local expected=$1 status=0
  shift
  PATH=$scratch/bin:$PATH "$launcher" "$@" >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
  [[ $status == "$expected" ]] || fail "weft $* exited with $status, not $expected"
}

stand_in() { # NAME SCRIPT
  printf '#!/usr/bin/env bash\n%s\n' "$2" >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}

mkdir "$scratch/bin"
# shellcheck disable=SC2016 # the stand-in expands it
stand_in dpkg-query 'for p in "${@:3}"; do [[ $p == cmake || $p == libgtest-dev ]] || echo "installed $p"; done'
stand_in apt-get "echo \"apt-get \$*\" >>$scratch/apt-calls; exit 100"
# shellcheck disable=SC2016
stand_in sudo '"$@"'

run 0 help
grep -q 'serve' "$scratch/stdout" || fail "help does not name serve"
# What it names first are the binary's commands: below, each is passed on and so ends where a package is missing.
commands=$(awk 'NR > 2 && /^$/ { exit } /^  [a-z]/ { print $1 }' "$scratch/stdout")
grep -q '^completions$' <<<"$commands" || fail "help's commands are not where this test reads them"
run 2 no-such-command
grep -q "unknown command 'no-such-command'" "$scratch/stderr" || fail "an unknown command is not named"
[[ ! -s $scratch/stdout ]] || fail "complaints belong on stderr"

# Listed, not installed; a user who serves needs no test packages.
WEFT_NO_INSTALL=1 run 1 serve
grep -q '^  cmake$' "$scratch/stderr" || fail "cmake is missing but not listed"
! grep -q 'libgtest-dev\|ninja-build' "$scratch/stderr" || fail "lists packages that are not wanted or not missing"
for command in $commands; do WEFT_NO_INSTALL=1 run 1 "$command"; done
WEFT_NO_INSTALL=1 run 1 bench compare-peers
WEFT_NO_INSTALL=1 run 1 test
grep -q '^  libgtest-dev$' "$scratch/stderr" || fail "libgtest-dev is missing but not listed for test"
[[ ! -e $scratch/apt-calls ]] || fail "WEFT_NO_INSTALL=1 called apt-get"

# Installed otherwise, saying so; a failure of apt-get ends it.
run 1 serve
grep -q 'installing with apt-get: cmake$' "$scratch/stderr" || fail "does not say what it installs"
grep -q '^apt-get update' "$scratch/apt-calls" || fail "did not update the package lists"
grep -q '^apt-get install .* cmake$' "$scratch/apt-calls" || fail "did not install exactly cmake"
echo "launcher_test: passed"
