#!/usr/bin/env bash
# usage: any_x86_test.sh WEFT_BINARY FIXTURES
# The binary runs on a processor of 2008 (no AVX, no FMA, nothing newer than SSE 4.2), and its bf16 arithmetic
# gives there what it gives here.
set -euo pipefail
binary=$1
fixtures=$2
readonly kSkip=77

[[ $(uname -m) == x86_64 ]] || {
  echo "skipped: this is $(uname -m), not x86_64"
  exit "$kSkip"
}
command -v qemu-x86_64 >/dev/null || {
  echo "skipped: qemu-x86_64 is not installed"
  exit "$kSkip"
}

unset OPENBLAS_CORETYPE # forces kernels for another processor where a machine sets it
emulated() { OPENBLAS_NUM_THREADS=1 qemu-x86_64 -cpu Nehalem "$binary" "$@"; }

emulated --version

for model in llama2 mixtral; do
  arguments=(generate --model "$fixtures/$model/model.gguf" --prompt 'one two three' -n 24 --temperature 0)
  here=$("$binary" "${arguments[@]}" | od -An -tx1)
  there=$(emulated "${arguments[@]}" | od -An -tx1)
  if [[ -z $here || $here != "$there" ]]; then
    printf '%s: the text differs\nhere:  %s\nthere: %s\n' "$model" "$here" "$there"
    exit 1
  fi
  echo "$model: the same bytes here and on a Nehalem"
done

emulated "${arguments[@]}" --compute f32 >/dev/null
echo "f32: runs"
