#!/usr/bin/env bash
# check_script.sh ROOT   cuda/check.sh in a tree of its own, with programs that only say how they end: on a machine without a toolkit, half of the
# programs missing, ended in the middle, and continued.
set -euo pipefail

root=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{cuda,docs,test/cuda/ops/linear,test/cuda/emulated,bin,programs/test/cuda,programs/benchmarks/cuda,programs/examples/tour}
cp "$root/cuda/check.sh" "$tree/cuda/"
for file in session recorded first_step op_table streams ops/linear/matmul ops/linear/fourier; do
    echo '#include <doctest/doctest.h>' >"$tree/test/cuda/$file.cpp"
done
echo '#include "emulator/control.hpp"' >"$tree/test/cuda/capture.cpp" # no test of a real card
printf 'before\n<!-- checked: begin -->\nold\n<!-- checked: end -->\nafter\n' >"$tree/docs/gpu.md"

# No nvcc, no compute-sanitizer, no Python: what else the script needs.
for tool in bash awk cat date dirname basename find grep sed sort tail head timeout mkdir touch cp rm stat tar uname nproc xz strip ldd du sha256sum; do
    ln -s "$(command -v $tool)" "$tree/bin/$tool"
done
program() { # NAME, and what it does
    mkdir -p "$(dirname "$tree/$1")"
    printf '#!/usr/bin/env bash\n%s\n' "$2" >"$tree/$1"
    chmod +x "$tree/$1"
}
program bin/nvidia-smi '[ $# -eq 0 ] || echo "A card, 580.1, 80 MiB"'
program programs/test/cuda/test_cuda_gpu "
[ \"\$1\" = --count ] && { case \$2 in */streams.cpp) echo 'current filters: 0' ;; *) echo 'current filters: 3' ;; esac; exit 0; }
echo \"\$1\" >>'$tree/runs'
case \$1 in
--test-case=none) [ -f '$tree/bin/nvidia-smi' ] || { echo 'no GPU: no driver'; exit 77; } ;;
*/fourier.cpp) echo 'one test failed'; exit 1 ;;
*/matmul.cpp) [ -f '$tree/goes_on' ] || { kill -9 \$(cat '$tree/pid'); exit 1; } ;;
*/first_step.cpp) [ -f '$tree/goes_on' ] || read -r _ <'$tree/never' ;; # until it is ended
esac"
mkfifo "$tree/never"
mkdir "$tree/programs/lib"
program programs/benchmarks/cuda/bandwidth '[[ :$LD_LIBRARY_PATH: == *:"$TENON_PROJECT_DIR"/programs/lib:* ]] || exit; echo "2020-01-01 of the library"; echo "G2: 1.00"'
program programs/test/random_graphs_gpu 'echo "the CPU alone would do"'
program programs/examples/tour/24_mirrored 'echo "needs two cards"; exit 77'

failed=0
check() { # a command, which may end in any way
    (cd / && exec env -i CUDA_PATH="$tree" PATH="$tree/bin" HOME="$tree" TENON_CHECK_PROGRAMS="$tree/programs" "${with[@]}" bash "$tree/cuda/check.sh" "$@") >"$tree/said" 2>&1 &
    echo $! >"$tree/pid"
    code=0
    wait $! 2>/dev/null || code=$?
}
ends_with() { [ $code = "$1" ] || { echo "it ended with $code, not $1: $2"; failed=1; }; }
expect() { # a row, and its result as a pattern
    local row
    row=$(awk -F'\t' -v name="$1" '$1 == name { last = $2 } END { print last }' "$tree/build/cuda/logs/rows")
    # shellcheck disable=SC2053
    [[ $row == $2 ]] || { echo "$1: '$row' in the place of '$2'"; failed=1; }
}
runs_of() { grep -c "/$1.cpp" "$tree/runs" || true; }

with=(TENON_CHECK_LIMIT=5)
check tests/recorded tests/sesion
ends_with 2 "a name is none"
grep -q "no check's name begins with tests/sesion" "$tree/said" || { echo "it does not say which name"; failed=1; }
check --list
order=$(tr '\n' ' ' <"$tree/said")
[[ $order == "facts tests/recorded tests/session tests/first_step benchmarks/training compiled/op_table benchmarks/transformer benchmarks/bandwidth benchmarks/matmul tests/ops/linear/fourier tests/ops/linear/matmul sanitizer/memcheck/session tests/streams "*" endurance " ]] ||
    { echo "the order is $order"; failed=1; }

check # ended by force when it is at products
expect facts passed
expect tests/recorded passed
expect tests/first_step '\*\*not done\*\* in 5 s'
expect benchmarks/training '\*\*not done\*\*: benchmarks/cuda/training is not among the programs'
expect benchmarks/bandwidth passed
expect tests/ops/linear/fourier '\*\*FAILED\*\**'
expect tests/ops/linear/matmul '\*\*not done\*\*: the command ended meanwhile'
expect tests/streams ''

touch "$tree/goes_on"
program programs/benchmarks/cuda/training 'echo "G3: 1.00"' # it has come
with=(TENON_CHECK_BUDGET=1000)
check --record # goes on there; what was not done is tried again
expect tests/first_step passed
expect benchmarks/training passed
expect tests/ops/linear/matmul passed
expect tests/ops/linear/fourier '\*\*FAILED\*\**'
expect tests/streams 'skipped: the program has no tests of test/cuda/streams.cpp'
expect tour/24_mirrored 'skipped: needs two cards'
expect tour/06_two_branches '\*\*not done\*\*: examples/tour/06_two_branches is not among the programs'
expect sanitizer/memcheck/session 'skipped: compute-sanitizer is not installed'
expect peers 'skipped: python3 has no torch*'
expect tests/plans 'skipped: no cuDNN*'
[[ $(grep -nE '/(first_step|op_table).cpp' "$tree/runs" | tr '\n' ' ') == *op_table*first_step* ]] ||
    { echo "what was not tried yet does not come before what was not done"; failed=1; }
for file in recorded session ops/linear/fourier; do
    [ "$(runs_of $file)" = 1 ] || { echo "$file ran $(runs_of $file) times"; failed=1; }
done
grep -q '^### A card, 580.1, 80 MiB, 20' "$tree/docs/gpu.md" && grep -q '^G2: 1.00$' "$tree/docs/gpu.md" && grep -q '^after$' "$tree/docs/gpu.md" &&
    ! grep -qE '^(old|2020)' "$tree/docs/gpu.md" || { echo "docs/gpu.md is:"; cat "$tree/docs/gpu.md"; failed=1; }

for word in PRODUCTS CONVOLUTIONS ATTENTION TRANSFORMS MATRICES; do own+="[ \"\$TENON_CUDA_$word\" = own ] && "; done
program bin/compute-sanitizer "${own:-}true" # what was skipped may be there now; none of NVIDIA's kernels is looked at
check tests sanitizer/memcheck/session
expect sanitizer/memcheck/session passed
ends_with 1 "a test that is not run again has failed before"
check tests/recorded
ends_with 0 "all that was asked for has passed"
# Of another program all checks run anew, and those of the others stay.
program programs/benchmarks/cuda/bandwidth 'echo "G2: 2.00"'
echo '# built anew' >>"$tree/programs/test/cuda/test_cuda_gpu"
check --record benchmarks tests/session
[ "$(grep -c '^benchmarks/training.passed' "$tree/build/cuda/logs/rows")" = 1 ] || { echo "a program that is the same ran again"; failed=1; }
[ "$(runs_of session)" = 2 ] || { echo "tests of which one is another program's ran $(runs_of session) times, not twice"; failed=1; }
grep -q '^G2: 2.00$' "$tree/docs/gpu.md" || { echo "the figures are another program's"; failed=1; }
grep -q '^| tests/recorded | passed, of another program |' "$tree/docs/gpu.md" || { echo "the table does not tell programs apart"; failed=1; }
mv "$tree/bin/nvidia-smi" "$tree/no-card"
cp "$tree/docs/gpu.md" "$tree/recorded.md"
check --record tests/recorded
ends_with 1 "there is nothing to be recorded"
diff "$tree/docs/gpu.md" "$tree/recorded.md" || failed=1
expect graphs passed
check --again graphs
expect graphs 'skipped: no GPU: no driver'
mv "$tree/no-card" "$tree/bin/nvidia-smi"

with=(TENON_CHECK_PROGRAMS=) # a build that fails is tried again
program bin/cmake "case \$1 in
-S) shift 3; mkdir -p \$1; touch \$1/CMakeCache.txt ;;
*) [ -f '$tree/compiles' ] ;;
esac"
mkdir -p "$tree/third_party/include/Eigen"
for compiles in no yes; do
    [ $compiles = no ] || touch "$tree/compiles"
    check build
done
expect build/configure passed
expect build/tests passed
ends_with 0 "all is built"
[ "$(grep -c '^build/configure.passed' "$tree/build/cuda/logs/rows")" = 1 ] || { echo "configured again"; failed=1; }

# What is built here is packed, with the libraries that are not everywhere, and runs elsewhere.
built=$tree/build/cuda
mkdir -p "$built"/{test/cuda,benchmarks/cuda,examples/tour/folder}
cp -L "$(type -P true)" "$built/test/cuda/test_cuda_gpu"
cp -L "$(type -P bash)" "$built/benchmarks/cuda/matmul"
needed=$(ldd "$(type -P bash)" | sed -n 's/^[[:space:]]*\(libtinfo[^ ]*\) => .*/programs\/lib\/\1/p')
check --pack "$tree/packed.tar.xz"
ends_with 0 "all is packed"
packed=$(tar -tf "$tree/packed.tar.xz")
for file in programs/test/cuda/test_cuda_gpu $needed; do
    grep -qx "$file" <<<"$packed" || { echo "$file is not packed"; failed=1; }
done
with=(TENON_CHECK_PROGRAMS="$tree/packed.tar.xz")
check --again tests/session benchmarks/training
expect tests/session 'skipped: the program has no tests of test/cuda/session.cpp'
expect benchmarks/training '\*\*not done\*\*: benchmarks/cuda/training is not among the programs'
with=(TENON_CHECK_BUDGET=1)
rm "$tree/build/cuda/logs/rows"
check # there is no time for anything
ends_with 1 "nothing was done"
[ ! -s "$tree/build/cuda/logs/rows" ] || { echo "rows without time"; failed=1; }
# What is fetched for a machine without packages has the headers of what is included.
cp "$root/cuda/fetch_headers.sh" "$tree/cuda/"
mkdir -p "$tree/cmake"
echo 'need() { :; }' >"$tree/cmake/packages.sh"
if "$tree/cuda/fetch_headers.sh" >"$tree/said" 2>&1; then
    while read -r file; do
        [ -e "$tree/third_party/include/$file" ] || { echo "cuda/fetch_headers.sh does not bring $file"; failed=1; }
    done < <(grep -rhoE '#include <(Eigen|unsupported|nlohmann|doctest|benchmark)/[^>]+' "$root"/{include,cuda,test/cuda,benchmarks/cuda} | sed 's/.*<//' | sort -u)
fi
[ $failed = 0 ] || { cat "$tree/said"; exit 1; }
