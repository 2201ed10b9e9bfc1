#!/usr/bin/env bash
# std::to_string makes 0.000000 of a number that is small: nothing in the library calls it for floating ones, which
# detail::text_of_number (core/text/number_text.hpp) tells by their digits.
#
#   small_numbers.sh NM ARCHIVE...
set -euo pipefail
nm=$1
shift
export LC_ALL=C
symbols=$("$nm" -A -C "$@" 2>/dev/null)
[ "$(wc -l <<<"$symbols")" -gt 1000 ] || { echo "hardly any symbols were found in $*"; exit 1; }
# What libstdc++ makes it of, for floating types alone; libc++ has a function for each.
if found=$(grep -E '__to_xstring|std::.*to_string\((float|double|long double)\)' <<<"$symbols"); then
    echo "std::to_string of a floating number is called in"
    sed -E 's/^[^:]*:([^:]*):.*/    \1/' <<<"$found" | sort -u
    exit 1
fi
echo "no object calls it"
