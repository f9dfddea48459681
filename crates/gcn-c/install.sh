#!/usr/bin/env bash
# Builds the C library and installs it, with header and pkg-config file: crates/gcn-c/install.sh [PREFIX], by default /usr/local.
set -euo pipefail
prefix=${1:-/usr/local}
cd "$(dirname "${BASH_SOURCE[0]}")"
cargo build --release --package gcn-c
built=$(cargo metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')/release
version=$(cargo metadata --format-version 1 --no-deps | sed -n 's/.*"name":"gcn-c","version":"\([^"]*\)".*/\1/p')
install -d "$prefix/lib/pkgconfig" "$prefix/include"
install -m 644 "$built/libgcn_c.a" "$prefix/lib"
install -m 755 "$built/libgcn_c.so" "$prefix/lib"
install -m 644 include/gcn.h "$prefix/include"
sed -e "s|@PREFIX@|$prefix|; s|@VERSION@|$version|" gcn.pc.in >"$prefix/lib/pkgconfig/gcn.pc"
