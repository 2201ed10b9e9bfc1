#!/usr/bin/env bash
# Compiles each header under DIR/tenon alone, and included twice, but those that the library's build compiles alone: X.hpp
# is the first that the unit of X.ipp includes (cmake/TenonLibrary.cmake). A header that takes its parameters as macros (it
# holds `#error "define ...`) is left to the headers that include it.
#
#   run.sh DIR COMPILER FLAGS...
#
# HEADERS in the environment: just these. Header-only, each takes as long as the whole library, and a few reach all.
set -euo pipefail

cd "$1"
shift

# shellcheck disable=SC2016  # the inner shell expands these
check='
header=$1
shift
if ! said=$(printf "#include <%s>\n#include <%s>\n" "$header" "$header" |
            "$@" -fsyntax-only -x c++ - 2>&1); then
    printf "%s does not compile alone:\n%s\n\n" "$header" "$said"
    exit 1
fi
'
if [ -n "${HEADERS:-}" ]; then
    read -ra headers <<<"$HEADERS"
else
    mapfile -t headers < <(find tenon -name '*.hpp' -exec grep -LE '^#error "define ' {} + | sort |
        while read -r header; do [ -f "${header%.hpp}.ipp" ] || echo "$header"; done)
fi
[ ${#headers[@]} -gt 0 ] || { echo "there are no headers under $PWD/tenon"; exit 1; }
printf '%s\0' "${headers[@]}" | xargs -0 -P 2 -I '{}' bash -c "$check" check '{}' "$@" || exit 1
echo "${#headers[@]} headers compile alone"
