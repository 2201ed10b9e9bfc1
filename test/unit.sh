#!/usr/bin/env bash
# Writes a translation unit of several test files, each in a namespace of its own, behind what they include.
#
#   unit.sh OUT FOLDER FILE...    FILEs are relative to FOLDER
#
# It names them from where it is itself: those of several copies of the project are the same, and compiled once.
set -euo pipefail

out=$1
folder=$(realpath --relative-to="$(dirname "$1")" "$2")
cd "$2"
shift 2
{
    for file in "$@"; do
        sed -nE 's/^(#include [<"][^>"]*[>"]).*/\1/p; /^#(if|el|endif)/p' "$file" | while read -r line; do
            beside=${file%/*}/${line:10:-1}
            if [[ $line == '#include "'* && -f $beside ]]; then line="#include \"$folder/$beside\""; fi
            echo "$line"
        done
    done
    for i in $(seq $#); do
        printf 'namespace unit_file_%d {\n#include "%s"\n}\n' "$i" "$folder/${!i}"
    done
} >"$out"
