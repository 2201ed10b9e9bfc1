#!/usr/bin/env bash
# Includes headers under the DIRs as C++17: the first error must say that Tenon needs C++20, and only one may follow, which ends
# the compiler. Those are included that include no other but core/config.hpp (all others come to one of them before they say
# anything), those with coroutines, whose standard header refuses C++17 too, and those of net and cuda.
#
#   before_cxx20.sh COMPILER DIR...
set -euo pipefail

compiler=$1
shift
status=0
count=0
for dir in "$@"; do
    while read -r header; do
        said=$("$compiler" -std=c++17 "${@/#/-I}" -fsyntax-only -x c++ - <<<"#include <$header>" 2>&1) || true
        errors=$(grep -E '(^|[^"])error: ' <<<"$said") || true
        if ! [[ ${errors%%$'\n'*} =~ 'error: '('#error ')?'"Tenon needs C++20: compile with -std=c++20"'$ ]] ||
            [ "$(wc -l <<<"$errors")" -ne 2 ]; then
            printf '%s, as C++17:\n%s\n\n' "$header" "$(head -n 20 <<<"$said")"
            status=1
        fi
        count=$((count + 1))
    done < <(cd "$dir" && {
        find tenon/net tenon/cuda -name '*.hpp' 2>/dev/null || true
        find tenon -name '*.hpp' -exec grep -LP '#include <tenon/(?!core/config\.hpp).*\.hpp>|^#error "define ' {} +
        grep -rl --include='*.hpp' '#include <coroutine>' tenon
    } | sort -u)
done
[ "$count" -gt 25 ] || { echo "hardly any headers were found in $*"; exit 1; }
[ $status -ne 0 ] || echo "$count headers say that they need C++20"
exit $status
