#!/usr/bin/env bash
# The recipe of examples/engines for an image, as far as it can be looked at without making one: what it copies is there, it installs what
# building needs, and what the program was linked with. The image itself is made by hand.
#
#   container.sh TRAIN TENON
set -uo pipefail
# shellcheck disable=SC2013,SC2016,SC2020 # words are wanted; sed's, dpkg's and tr's own characters
root=$(cd "$(dirname "$0")/../.." && pwd)
recipe=$root/examples/engines/Containerfile
failed=0
fail() { echo "FAILED: $1" && failed=1; }

for path in $(sed -n 's/^COPY \([^-].*\) [^ ]*$/\1/p' "$recipe"); do
    [ -e "$root/$path" ] || fail "it copies $path, which is not there"
done

# shellcheck source=../../cmake/packages.sh
. "$root/cmake/packages.sh"
# shellcheck disable=SC2154 # packages.sh sets it
for package in "${build_packages[@]}"; do
    case $package in ccache | doctest-dev | libbenchmark-dev | libopenmpi-dev | openmpi-bin | mpich | libgtest-dev) continue ;; esac # for tests
    tr ' ' '\n' <"$recipe" | grep -qxF -- "$package" || fail "it does not install $package, which cmake/packages.sh names"
done

if ! grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
    [ $failed -eq 0 ] || exit 1
    echo "skipped: this is not Debian 12, of which the image is made"
    exit 77
fi
# What is installed in the second stage, with what it depends on.
known=$(sed -n '/^FROM/h; /^FROM/!H; ${x; p}' "$recipe" | grep -oE '\b(lib|zlib)[a-z0-9.+-]+' | sort -u)
while
    more=$({ echo "$known" && echo "$known" | xargs dpkg-query -W -f '${Depends},${Pre-Depends}\n' 2>/dev/null | tr ',|' '\n\n' | sed 's/^ *//; s/[ (:].*//'; } |
        grep . | sort -u)
    [ "$more" != "$known" ]
do known=$more; done
for package in $(ldd "$1" "$2" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | sort -u | xargs realpath | sed 'p; s,^,/usr,' | xargs dpkg-query -S 2>/dev/null |
    cut -d: -f1 | sort -u); do
    grep -qx "$package" <<<"$known"$'\n'libc6$'\n'libstdc++6$'\n'libgcc-s1 || fail "it does not install $package, of which the program has libraries"
done
[ $failed -eq 0 ] && echo "the recipe of the image: all as it should be"
exit $failed
