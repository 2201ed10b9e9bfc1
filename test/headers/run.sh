#!/usr/bin/env bash
# Compiles the headers under DIR/tenon, each included twice: those of a folder together, each before those that include more, so that
# what a header forgets to include is hardly ever there already. With TENON_COMPILE_ALONE=1 in the environment each is compiled alone.
# A header that takes its parameters as macros (it holds `#error "define ...`) is left to the headers that include it.
#
#   run.sh DIR COMPILER FLAGS...
#
# HEADERS in the environment: just these, together. Header-only, a header takes as long as all of the library that it reaches.
set -euo pipefail

cd "$1"
shift

# shellcheck disable=SC2016  # the inner shell expands these
check='
headers=$1
shift
if ! said=$(for header in $headers; do printf "#include <%s>\n#include <%s>\n" "$header" "$header"; done |
            "$@" -fsyntax-only -x c++ - 2>&1); then
    printf "does not compile with no more before it: %s\n%s\n\n" "$headers" "$said"
    exit 1
fi
'
if [ -n "${HEADERS:-}" ]; then
    read -ra headers <<<"$HEADERS"
    [ -n "${TENON_COMPILE_ALONE:-}" ] || headers=("$HEADERS")
else
    mapfile -t headers < <(find tenon -name '*.hpp' -exec grep -LE '^#error "define ' {} + | sort)
fi
count=${#headers[@]}
[ "$count" -gt 0 ] || { echo "there are no headers under $PWD/tenon"; exit 1; }
if [ -z "${HEADERS:-}${TENON_COMPILE_ALONE:-}" ]; then
    # A line for each folder, its headers by how many others each reaches.
    mapfile -t headers < <(grep -oHE '^#include <tenon/[^>]*>' "${headers[@]}" | sed 's/:#include </ /; s/>$//' |
        awk -v headers="${headers[*]}" '
            function reach(file, from,  n, next_files, i) {
                if (seen[file] == from) return
                seen[file] = from
                ++reached[from]
                n = split(includes[file], next_files, " ")
                for (i = 1; i <= n; ++i) reach(next_files[i], from)
            }
            { includes[$1] = includes[$1] " " $2 }
            END {
                n = split(headers, file, " ")
                for (i = 1; i <= n; ++i) reach(file[i], file[i])
                for (i = 1; i <= n; ++i) print reached[file[i]], file[i]
            }' | sort -n | awk '
            { folder = $2; sub("/[^/]*$", "", folder); of[folder] = of[folder] " " $2 }
            END { for (folder in of) print of[folder] }' | sort)
fi
printf '%s\0' "${headers[@]}" | xargs -0 -P 2 -I '{}' bash -c "$check" check '{}' "$@" || exit 1
echo "$count headers compile"
