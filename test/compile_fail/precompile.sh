#!/usr/bin/env bash
# Compiles headers of Tenon to precompiled ones below DIR, where g++ finds them when DIR is its first include folder.
#
#   precompile.sh DIR HEADER... -- COMPILER FLAGS...
set -euo pipefail

dir=$1
shift
headers=()
while [ "$1" != -- ]; do
    headers+=("$1")
    shift
done
shift

for header in "${headers[@]}"; do
    mkdir -p "$dir/${header%/*}"
    # By way of another file: messages have as many lines then as without.
    printf '#include <%s>\n' "$header" >"$dir/include.hpp"
    "$@" -x c++-header "$dir/include.hpp" -o "$dir/$header.gch"
done
