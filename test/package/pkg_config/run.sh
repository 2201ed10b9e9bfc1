#!/usr/bin/env bash
# Builds and runs a program with nothing but a compiler and pkg-config.
#
#   run.sh PREFIX BUILD_FOLDER COMPILER [FLAGS...]
set -euo pipefail

prefix=$1
build=$2
shift 2
compiler=("$@")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

command -v pkg-config >/dev/null || { echo "skipped: pkg-config is not installed"; exit 77; }

folder=$(dirname "$(find "$prefix" -name tenon.pc)")
export PKG_CONFIG_PATH="$folder${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"

mkdir -p "$build"
build_and_run() { # PACKAGE PROGRAM
    local flags libraries
    pkg-config --print-errors --exists "$1"
    read -ra flags < <(pkg-config --cflags "$1")
    read -ra libraries < <(pkg-config --static --libs "$1")
    "${compiler[@]}" -std=c++20 "${flags[@]}" "$here/../$2.cpp" "${libraries[@]}" \
        -Wl,-rpath,"$(pkg-config --variable=libdir tenon)" -o "$build/$2"
    "$build/$2"
}
build_and_run tenon program
build_and_run tenon images
build_and_run tenon-core without_images
if [ -e "$folder/tenon-net.pc" ]; then
    build_and_run tenon-server cluster
    build_and_run tenon-net cluster
fi
