#!/usr/bin/env bash
# Takes the programs out of a page: each block of C++ that has a main function, and what it prints, the block of text that follows.
# Writes FOLDER/PAGE_N.cpp and FOLDER/PAGE_N.txt where they are not so already, and prints "PAGE_N LIBRARY..." for each, the libraries
# that stand behind "```cpp".
#
#   programs.sh PAGE FOLDER
set -euo pipefail
page=$1 folder=$2
name=$(basename "$page" .md)
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

awk -v page="$page" -v stem="$new/${name//-/_}" -v name="${name//-/_}" '
    function fail(why) { print page ":" NR ": " why > "/dev/stderr"; bad = 1; exit 1 }
    /^```/ && !inside {
        inside = 1; block = ""; first = $1
        libraries = $0; sub(/^```[a-z]* */, "", libraries)
        next
    }
    /^```/ {
        inside = 0
        if (first == "```cpp" && block ~ /\nint main\(/) {
            if (waits) fail("program " n " is followed by no block of text that says what it prints")
            waits = 1; n++
            printf "%s", block > (stem "_" n ".cpp")
            print name "_" n " " libraries
        } else if (first == "```text" && waits) {
            waits = 0
            printf "%s", block > (stem "_" n ".txt")
        }
        next
    }
    inside { block = block $0 "\n" }
    END {
        if (bad) exit 1
        if (waits) fail("program " n " is followed by no block of text that says what it prints")
        if (inside) fail("a block does not end")
    }' "$page"

mkdir -p "$folder"
for file in "$new"/*; do
    [ -e "$file" ] || continue
    cmp -s "$file" "$folder/$(basename "$file")" || cp "$file" "$folder/"
done
