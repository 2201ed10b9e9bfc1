#!/usr/bin/env bash
# Compile times (PERFORMANCE P14): a program with an MLP, with the compiled library and header-only (-march=native, which
# makes it one instruction set), beside a file that includes Eigen/Core alone. g++ -O2, CPU seconds of user and system, which
# other programs disturb least; medians of N runs in turns. Then the lines of the first error until a shape mistake in
# the middle of a 50-layer model is named (P15), those that say where the compiler is not counted.
#     benchmarks/compile_time.sh [N]
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-7}
compiler=${CXX:-g++}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo '#include <Eigen/Core>' >"$folder/eigen.cpp"
cp test/cost/model.cpp "$folder/model.cpp"
cp "$folder/model.cpp" "$folder/header_only.cpp"
flags=(-std=c++20 -O2 -c -o /dev/null -Iinclude -isystem /usr/include/eigen3)
once() {
    local TIMEFORMAT='%U %S'
    { time CCACHE_DISABLE=1 "$compiler" "${flags[@]}" "$@"; } 2>&1 | awk '{ printf "%d\n", ($1 + $2) * 1000 }'
}
for ((i = 0; i <= runs; ++i)); do
    a=$(once "$folder/eigen.cpp")
    b=$(once "$folder/model.cpp")
    c=$(once -march=native -DTENON_HEADER_ONLY=1 -DTENON_WITH_ONEDNN=1 -DTENON_WITH_ZLIB=1 "$folder/header_only.cpp")
    ((i == 0)) || echo "$a $b $c" >>"$folder/times" # the first warms the file cache
done
median() { cut -d' ' -f"$1" "$folder/times" | sort -n | sed -n "$((runs / 2 + 1))p"; }
a=$(median 1) b=$(median 2) c=$(median 3)
awk -v a="$a" -v b="$b" -v c="$c" 'BEGIN {
    printf "Eigen/Core %d ms; MLP with tenon::tenon %d ms, ratio %.2f (target 1.5); header-only %d ms (target 60000)\n",
           a, b, b / a, c }'

said=$(CCACHE_DISABLE=1 LC_ALL=C "$compiler" -std=c++20 -fsyntax-only -Iinclude -DTENON_EXPECT_ERROR \
    test/compile_fail/deep_model_product.cpp 2>&1 || true)
awk '/^In file included from|^ +from / { next } { ++lines } /126.*129.*127/ { print "named in line", lines, "(target 1)"; exit }' <<<"$said"
