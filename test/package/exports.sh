#!/usr/bin/env bash
# Shared libraries have a soname with the version's first two numbers, and show names of namespace tenon alone.
#
#   exports.sh PREFIX VERSION
set -euo pipefail

prefix=$1
version=$2
export LC_ALL=C

count=0
for name in tenon_core tenon_image tenon_server tenon_launch tenon_cuda; do
    library=$(find "$prefix" -name "lib$name.so.$version" -print -quit)
    [ -n "$library" ] || continue
    soname=$(readelf -d "$library" | sed -nE 's/.*\(SONAME\).*\[(.*)\]/\1/p')
    [ "$soname" = "lib$name.so.${version%.*}" ] || { echo "$library: the soname is '$soname'"; exit 1; }
    [ -L "${library%."$version"}" ] || { echo "$library: there is no lib$name.so"; exit 1; }

    # Of the Itanium ABI: _Z, letters for what belongs to a name (its vtable, ...), N, qualifiers, tenon, the rest.
    symbols=$(nm -D --defined-only --format=posix "$library" | sed 's/ .*//')
    others=$(grep -vE '^(tenon_[a-z_]+|_Z([A-Z]|h[n0-9]*_|v[n0-9_]*_)*N[KRO]*5tenon.*)$' <<<"$symbols") || true
    [ "$name" != tenon_cuda ] || others+=$(grep -E 'N[KRO]*5tenon4cuda' <<<"$symbols") || true
    if [ -n "$others" ]; then
        echo "$library shows what is not of namespace tenon, or is of none but its own parts:"
        head -n 20 <<<"$others" | c++filt
        exit 1
    fi
    echo "lib$name.so: $(wc -l <<<"$symbols") symbols, all of namespace tenon"
    count=$((count + 1))
done
[ $count -gt 0 ] || { echo "there is no shared library under $prefix"; exit 1; }
