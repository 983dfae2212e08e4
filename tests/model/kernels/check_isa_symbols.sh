#!/usr/bin/env bash
# usage: check_isa_symbols.sh NM OBJECT...
# Objects compiled for one instruction set must define nothing that the linker could share with the rest of the
# binary: no weak or unique symbol at all, and no global one outside namespace weft.
set -euo pipefail
nm=$1
shift
status=0
for object in "$@"; do
  # Defined symbols: weak (W, V), unique (u), or global (upper case, not U) outside weft::.
  found=$("$nm" --demangle --defined-only "$object" |
    awk '$2 ~ /^[WwVvu]$/ || ($2 ~ /^[A-TX-Z]$/ && $3 !~ /^weft::/)')
  if [[ -n $found ]]; then
    echo "$object: symbols that may leak into code for other processors:"
    echo "$found"
    status=1
  fi
  if [[ -z $("$nm" --demangle --defined-only "$object" | grep -E "kFunctions|MatmulInt8|MatmulBF16Pair|ScopedTileEmulator" || true) ]]; then
    echo "$object: expected to define kFunctions, MatmulInt8, MatmulBF16Pair or ScopedTileEmulator"
    status=1
  fi
done
exit $status
