#!/usr/bin/env bash
# usage: any_x86_test.sh WEFT_BINARY
# The binary runs on a processor of 2008: no AVX, no FMA, nothing newer than SSE 4.2.
set -euo pipefail
binary=$1
readonly kSkip=77

[[ $(uname -m) == x86_64 ]] || {
  echo "skipped: this is $(uname -m), not x86_64"
  exit "$kSkip"
}
command -v qemu-x86_64 >/dev/null || {
  echo "skipped: qemu-x86_64 is not installed"
  exit "$kSkip"
}
# Thread counts are fixed: emulated threads are slow, and nothing here depends on how many there are.
emulated() { OPENBLAS_NUM_THREADS=1 qemu-x86_64 -cpu Nehalem "$binary" "$@"; }

emulated --version
