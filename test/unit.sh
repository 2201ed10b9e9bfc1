#!/usr/bin/env bash
# Writes a translation unit of several test files, each in a namespace of its own, behind what they include.
#
#   unit.sh OUT FILE...
#
# It names them from where it is itself: those of several copies of the project are the same, and compiled once.
set -euo pipefail

out=$1
cd "$(dirname "$out")"
shift
mapfile -t files < <(realpath --relative-to=. "$@")
{
    for file in "${files[@]}"; do
        sed -nE 's/^(#include [<"][^>"]*[>"]).*/\1/p; /^#(if|el|endif)/p' "$file" | while read -r line; do
            beside=${file%/*}/${line:10:-1}
            if [[ $line == '#include "'* && -f $beside ]]; then line="#include \"$beside\""; fi
            echo "$line"
        done
    done
    for i in "${!files[@]}"; do
        printf 'namespace unit_file_%d {\n#include "%s"\n}\n' "$((i + 1))" "${files[$i]}"
    done
} >"$out"
