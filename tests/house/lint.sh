#!/usr/bin/env bash
# usage: tests/house/lint.sh BUILD_DIRECTORY
# Checks that need no run: format, include directions and hygiene, shellcheck, and clang-tidy on
# the C++ files that changed. `./weft lint` installs the tools, configures BUILD_DIRECTORY and calls this.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
build=${1:?usage: tests/house/lint.sh BUILD_DIRECTORY}
tidy_seconds=${WEFT_TIDY_SECONDS:-1200} # no new file is begun after this long
failed=()

step() { # NAME COMMAND...
  echo "lint: $1"
  "${@:2}" || failed+=("$1")
}

sources() { git ls-files --cached --others --exclude-standard -- "$@"; }

check_format() { sources '*.h' '*.cc' | xargs -r clang-format --dry-run --Werror; }

check_scripts() { sources weft .ci/run '*.sh' | xargs -r shellcheck; }

# What differs from WEFT_LINT_BASE; by default, from where the branch left main, and on main itself
# from the commit before.
changed_files() {
  local base
  base=${WEFT_LINT_BASE:-$(git merge-base HEAD origin/main 2>/dev/null || true)}
  if [[ -z $base || $base == $(git rev-parse HEAD) ]]; then
    base=$(git rev-parse -q --verify HEAD~1 || git hash-object -t tree /dev/null)
  fi
  git diff --name-only --diff-filter=d "$base" -- '*.h' '*.cc'
  git ls-files --others --exclude-standard -- '*.h' '*.cc'
}

# The translation units among them; a header stands for the .cc of the same name.
changed_units() {
  changed_files | sed 's/\.h$/.cc/' | sort -u | while read -r file; do
    grep -qF "\"file\": \"$PWD/$file\"" "$build/compile_commands.json" && echo "$file"
  done
}

tidy_one() {
  if (($(date +%s) > TIDY_DEADLINE)); then
    echo "lint: not checked for lack of time: $1"
    return 0
  fi
  clang-tidy --quiet -p "$TIDY_BUILD" --extra-arg=-Wno-unknown-warning-option "$1" \
    2> >(grep -vE '(warnings?|errors?) (generated|treated as)' >&2)
}

check_tidy() {
  local units
  mapfile -t units < <(changed_units)
  echo "lint: ${#units[@]} changed files for clang-tidy"
  ((${#units[@]})) || return 0
  export -f tidy_one
  export TIDY_BUILD=$build TIDY_DEADLINE=$(($(date +%s) + tidy_seconds))
  # shellcheck disable=SC2016 # the inner shell expands it
  printf '%s\0' "${units[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'tidy_one "$1"' tidy
}

step format check_format
step 'include directions' python3 tests/house/include_directions_test.py
step hygiene python3 tests/house/hygiene_test.py
step shellcheck check_scripts
step clang-tidy check_tidy

if ((${#failed[@]})); then
  echo "lint: failed: ${failed[*]}"
  exit 1
fi
echo "lint: clean"
