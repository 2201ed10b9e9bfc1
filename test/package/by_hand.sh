#!/usr/bin/env bash
# Builds and runs programs with nothing but a compiler and the files of a build folder that stand for its libraries.
#
#   by_hand.sh SOURCE_FOLDER TENON_BUILD_FOLDER BUILD_FOLDER COMPILER [FLAGS...]
set -euo pipefail

source=$1 tenon=$2 build=$3
shift 3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

mkdir -p "$build"
build_and_run() { # COMMAND...
    "$@" -o "$build/program"
    "$build/program"
}
build_and_run "$@" -std=c++20 -I"$source/include" "$here/program.cpp" "$tenon/libtenon.a"
build_and_run "$@" -std=c++20 -I"$source/include" "$here/images.cpp" "$tenon/libtenon.a"
if [ -e "$tenon/net/libtenon_net.a" ]; then
    build_and_run "$@" -std=c++20 -I"$source/include" -I"$source/net/include" "$here/cluster.cpp" "$tenon/net/libtenon_net.a"
fi
