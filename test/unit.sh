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
        sed -nE 's/^#include ([<"][^>"]*[>"]).*/\1/p' "$file" | while read -r header; do
            beside=${file%/*}/${header:1:-1}
            if [[ $header == \"* && -f $beside ]]; then header="\"$folder/$beside\""; fi
            echo "#include $header"
        done
    done | awk '!seen[$0]++'
    for i in $(seq $#); do
        printf 'namespace unit_file_%d {\n#include "%s"\n}\n' "$i" "$folder/${!i}"
    done
} >"$out"
