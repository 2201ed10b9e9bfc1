#!/usr/bin/env bash
# Builds and runs a program with nothing but a compiler and pkg-config.
#
#   run.sh PREFIX BUILD_FOLDER COMPILER [FLAGS...]
set -euo pipefail

prefix=$1
build=$2
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

command -v pkg-config >/dev/null || { echo "skipped: pkg-config is not installed"; exit 77; }

folder=$(dirname "$(find "$prefix" -name tenon.pc)")
export PKG_CONFIG_PATH="$folder${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
pkg-config --print-errors --exists tenon
read -ra flags < <(pkg-config --cflags tenon)
read -ra libraries < <(pkg-config --static --libs tenon)

mkdir -p "$build"
"$@" -std=c++20 "${flags[@]}" "$here/../program.cpp" "${libraries[@]}" \
    -Wl,-rpath,"$(pkg-config --variable=libdir tenon)" -o "$build/program"
"$build/program"
