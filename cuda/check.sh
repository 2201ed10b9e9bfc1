#!/usr/bin/env bash
# Builds and runs everything that needs a GPU, on a machine that has CUDA 13, CMake 3.25 and g++ 12 or newer; all else comes from
# third_party/, which cuda/fetch_headers.sh has filled elsewhere. Prints one table, and ends with 1 where something failed.
#
#   cuda/check.sh [PART...]      build, tests, graphs, sanitizer, endurance, tour, training, benchmarks, peers (all, where none is named)
#   cuda/check.sh --record ...   puts the table into docs/gpu.md, too, under the machine's name
#
# TENON_JOBS: compilers at a time. TENON_CHECK_SECONDS: how long random graphs run (60). TENON_CHECK_STEPS: steps of the endurance
# run (1000000). TENON_CHECK_LIMIT: seconds after which a program is ended as failed (1200; under the sanitizer 3600).
# TENON_CHECK_FILES: of the tests only those whose files match this expression. TENON_CHECK_TOOLS: of the sanitizer (memcheck racecheck
# initcheck).
# shellcheck disable=SC2317 # parts are called by their names
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
root=$PWD
# Where the toolkit's installer leaves them, which puts them on nobody's PATH.
command -v nvcc >/dev/null || PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin
build=$root/build/cuda
logs=$build/logs
jobs=${TENON_JOBS:-$(nproc)}
record=no
parts=()
for argument in "$@"; do
    case $argument in
    --record) record=yes ;;
    build | tests | graphs | sanitizer | endurance | tour | training | benchmarks | peers) parts+=("$argument") ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
done
[ ${#parts[@]} -gt 0 ] || parts=(build tests graphs sanitizer endurance tour training benchmarks peers)
mkdir -p "$logs"

table="| part | what | result | seconds |
|---|---|---|---|
"
measured=
status=0

# row PART WHAT RESULT SECONDS
row() {
    table+="| $1 | $2 | $3 | $4 |"$'\n'
    printf '%-11s %-44s %-22s %s s\n' "$1" "$2" "$3" "$4"
}

# check PART WHAT LOG COMMAND...   a row: what the command's end says; 77, as for CTest, is "skipped"
check() {
    local part=$1 what=$2 log=$logs/$3.log began=$SECONDS result
    shift 3
    local limit=()
    [ "$(type -t "$1")" = function ] || limit=(timeout --kill-after=10 "${TENON_CHECK_LIMIT:-1200}")
    "${limit[@]}" "$@" >"$log" 2>&1 </dev/null
    case $? in
    0) result=passed ;;
    77) result="skipped: $(tail -1 "$log")" ;;
    124 | 137)
        result="**FAILED**: not done in ${TENON_CHECK_LIMIT:-1200} s (\`${log#"$root"/}\`)"
        status=1
        tail -40 "$log"
        ;;
    *)
        result="**FAILED** (\`${log#"$root"/}\`)"
        status=1
        echo "---- $what: the end of $log"
        tail -40 "$log"
        ;;
    esac
    row "$part" "$what" "$result" $((SECONDS - began))
    [ "${result:0:6}" = passed ]
}

# skip PART WHAT WHY
skip() { row "$1" "$2" "skipped: $3" 0; }

configure() {
    cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=$root/third_party" \
        -DTENON_WITH_CUDA=ON -DTENON_WITH_NET=OFF -DTENON_WITH_ZLIB=OFF -DTENON_WITH_PNG=OFF -DTENON_WITH_JPEG=OFF \
        -DTENON_WITH_RE2=OFF -DTENON_BUILD_EXAMPLES=ON -DTENON_BUILD_BENCHMARKS=ON -DTENON_COMPILER_TESTS=OFF \
        -DTENON_INSTALL=OFF '-DTENON_TEST_FOLDERS=cuda;random_graphs'
}
compile() {
    cmake --build "$build" --parallel "$jobs" --target tenon_gpu_tests tenon_examples tenon_benchmarks
}

part_build() {
    if [ ! -d third_party/include/Eigen ]; then
        echo "third_party/ is empty: run cuda/fetch_headers.sh where there are packages, and copy third_party/ here"
        row build configure "**FAILED**: no third_party/" 0
        status=1
        return 1
    fi
    check build configure configure configure && check build "compile and link" compile compile
}

# Each file of test/cuda is a run of its own, so that a GPU that is lost in one is there for the next. Those that ask the emulated GPU for
# something are not in the program.
part_tests() {
    local file name
    while IFS= read -r file; do
        name=${file#test/cuda/}
        check tests "${name%.cpp}" "tests.${name//\//.}" "$build/test/cuda/test_cuda_gpu" "--source-file=*/$file"
    done < <(find test/cuda -name '*.cpp' -not -path '*/emulat*' -not -path '*/gpu/*' -not -path '*/libraries/*' \
        -exec grep -LE '#include "(emulator|emulated)/' {} + | grep -E "${TENON_CHECK_FILES:-.}" | sort)
    if [ -x "$build/test/cuda/cuda_plans" ]; then
        check tests "plans of cuDNN for other GPUs" tests.plans "$build/test/cuda/cuda_plans"
    else
        skip tests "plans of cuDNN for other GPUs" "no cuDNN when this was built"
    fi
}

part_graphs() {
    check graphs "random graphs over GPU and CPU" graphs "$build/test/random_graphs_gpu" \
        --seconds "${TENON_CHECK_SECONDS:-60}" --seed "$(date +%s)"
}

# Of Tenon's own kernels: products and convolutions by NVIDIA's are left out, which order what they share in ways that racecheck does
# not know of.
part_sanitizer() {
    local TENON_CHECK_LIMIT=${TENON_CHECK_LIMIT:-3600}
    if ! command -v compute-sanitizer >/dev/null; then
        skip sanitizer "compute-sanitizer" "it is not installed"
        return
    fi
    local tool
    for tool in ${TENON_CHECK_TOOLS:-memcheck racecheck initcheck}; do
        check sanitizer "$tool" "sanitizer.$tool" env TENON_CUDA_PRODUCTS=own TENON_CUDA_CONVOLUTIONS=own \
            compute-sanitizer --tool "$tool" --error-exitcode 1 \
            "$build/test/cuda/test_cuda_gpu" "--source-file=*/cuda/op_table.cpp,*/cuda/session.cpp,*/cuda/strided_copy.cpp"
    done
}

part_endurance() {
    check endurance "${TENON_CHECK_STEPS:-1000000} steps at constant memory" endurance \
        "$build/test/cuda/cuda_endurance" "${TENON_CHECK_STEPS:-1000000}"
}

part_tour() {
    local program
    for program in 02_placement 03_placement_function 04_soft_placement 05_many_devices 06_two_branches 07_gpu_memory \
        08_control_dependencies 24_mirrored; do
        check tour "$program" "tour.$program" "$build/examples/tour/$program"
    done
}

part_training() {
    local data=$build/fashion-mnist file
    if [ ! -d third_party/data/fashion-mnist ]; then
        skip training Fashion-MNIST "no third_party/data/fashion-mnist"
        return
    fi
    mkdir -p "$data"
    for file in third_party/data/fashion-mnist/*.gz; do
        [ -f "$data/$(basename "$file" .gz)" ] || gunzip -c "$file" >"$data/$(basename "$file" .gz)"
    done
    check training "Fashion-MNIST, dense" training.dense "$build/examples/fashion_mnist" --data "$data"
    check training "Fashion-MNIST, convolutional" training.conv "$build/examples/fashion_mnist" --data "$data" --model conv
    grep -hiE 'accuracy|samples' "$logs"/training.*.log | tail -4
}

part_benchmarks() {
    local program
    for program in matmul bandwidth steps training; do
        check benchmarks "$program" "benchmarks.$program" "$build/benchmarks/cuda/$program" || continue
        measured+=$'\n'"$program:"$'\n\n```text\n'"$(grep -v '^[0-9T].*\(Running\|Run on\|CPU\)' "$logs/benchmarks.$program.log")"$'\n```\n'
        cat "$logs/benchmarks.$program.log"
    done
}

part_peers() {
    if ! python3 -c 'import torch; assert torch.cuda.is_available()' >/dev/null 2>&1; then
        skip peers PyTorch "python3 has no torch that sees a GPU"
        return
    fi
    check peers PyTorch peers python3 benchmarks/peers/torch_gpu_rows.py "$build/benchmarks/cuda/peer_rows" || return
    local rows # without what torch.compile has to tell
    rows=$(grep -E '^(PyTorch|row|mlp|conv|fused)' "$logs/peers.log")
    measured+=$'\nPyTorch on the same card:\n\n```text\n'"$rows"$'\n```\n'
    echo "$rows"
}

for part in "${parts[@]}"; do
    "part_$part" || { [ "$part" != build ] || break; }
done

card=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | head -1)
card=${card:-no GPU}
echo
echo "== $card"
echo "$table"
if [ $record = yes ]; then
    text="### $card, CUDA $(nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p'), $(date +%Y-%m-%d)

$table$measured"
    TEXT=$text awk '
        /^<!-- checked: begin -->/ { print; print ""; print ENVIRON["TEXT"]; skipping = 1 }
        /^<!-- checked: end -->/ { skipping = 0 }
        !skipping || /^<!-- checked: begin -->/ { if (!/^<!-- checked: begin -->/) print }' docs/gpu.md >"$build/gpu.md" &&
        cp "$build/gpu.md" docs/gpu.md
    echo "written to docs/gpu.md"
fi
exit $status
