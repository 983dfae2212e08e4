#!/usr/bin/env bash
# usage: make_portable.sh PREFIX ARCHIVE
# Makes a .tar.gz for systems whose libraries are too old for the binary installed below PREFIX: it brings its own, the C library
# and its loader included (docs/decisions/0017-portable-archive.md). Runs on Debian and Ubuntu, whose packages say what was taken.
set -euo pipefail
prefix=$1 archive=$2
name=$(basename "$archive" .tar.gz)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/$name
mkdir -p "$tree"/{bin,lib,share/doc/weft/licences}
cp -R "$prefix"/share/{man,weft} "$tree/share/"
cp -R "$prefix"/share/doc/weft/{README.md,docs} "$tree/share/doc/weft/"
cp "$(dirname "${BASH_SOURCE[0]}")/../LICENSE" "$tree/"
cp "$prefix/bin/weft" "$tree/lib/weft.bin"

# owner FILE: its package; dpkg may know the file by its place before /lib became a link.
owner() { { dpkg -S "$1" 2>/dev/null || dpkg -S "${1#/usr}" 2>/dev/null || dpkg -S "/usr$1"; } | sed -n '1s/:.*//p'; }

# "libfmt.so.9 => /lib/x86_64-linux-gnu/libfmt.so.9 (0x...)", and the loader alone: "/lib64/ld-linux-x86-64.so.2 (0x...)"
packages=()
while read -r library; do
  real=$(readlink -f "$library")
  case $library in
    # By this name top and pgrep show it, because it is the loader that is started.
    */ld-linux-*) install -m 755 "$real" "$tree/lib/weft" ;;
    *) install -m 644 "$real" "$tree/lib/$(basename "$library")" ;;
  esac
  packages+=("$(owner "$real")")
done < <(ldd "$prefix/bin/weft" | sed -n 's/.*[ \t]\(\/[^ ]*\) (0x.*/\1/p')
[[ -e $tree/lib/weft ]] || { echo "make_portable.sh: ldd names no loader for $prefix/bin/weft" >&2; exit 1; }

{
  echo "Libraries in lib/, by the package they are from (its version, its source and that one's version). Their licences are in"
  echo "licences/; their sources are Debian's or Ubuntu's, at https://snapshot.debian.org and https://launchpad.net."
  # shellcheck disable=SC2016 # dpkg-query expands it
  dpkg-query -W -f='${Package} ${Version} ${source:Package} ${source:Version}\n' "${packages[@]}" | sort -u
} >"$tree/share/doc/weft/libraries.txt"
for package in "${packages[@]}"; do
  cp "/usr/share/doc/$package/copyright" "$tree/share/doc/weft/licences/$package"
done
cp -RL /usr/share/common-licenses "$tree/share/doc/weft/licences/" # which those refer to

cat >"$tree/bin/weft" <<'SCRIPT'
#!/bin/sh
# Starts Weft with the libraries that came with it.
root=$(dirname "$(dirname "$(readlink -f "$0")")")
# Where systems keep the certificates of authorities: the libraries look where Debian does.
for file in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem; do
  if [ -z "${SSL_CERT_FILE:-}" ] && [ -r "$file" ]; then export SSL_CERT_FILE="$file"; fi
done
exec "$root/lib/weft" --library-path "$root/lib" "$root/lib/weft.bin" "$@"
SCRIPT
chmod 755 "$tree/bin/weft"

mkdir -p "$(dirname "$archive")"
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$(date +%s)}" -cf - "$name" |
  gzip -9n >"$archive.new"
mv "$archive.new" "$archive"
