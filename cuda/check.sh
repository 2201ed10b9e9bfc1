#!/usr/bin/env bash
# Builds and runs everything that needs a GPU, on a machine that has CUDA 13, CMake 3.25 and g++ 12 or newer; all else comes from
# third_party/, which cuda/fetch_headers.sh has filled elsewhere. What tells most in a second comes first, and each row is written to
# build/cuda/logs/rows as it is known: a command goes on where the last one stopped, however that ended, and tries what was skipped or not done
# again after all that was not tried yet. A row of a program counts for that program alone: of another one, a newer pack's say, the check runs
# anew. Ends with 1 where something failed, now or before.
#
#   cuda/check.sh [CHECK...]     those whose names begin so: build, tests/ops, benchmarks/training (all, where none is named)
#   cuda/check.sh --list         their names, in order
#   cuda/check.sh --again ...    also what has a row already
#   cuda/check.sh --record ...   puts the table into docs/gpu.md, too, under the machine's name
#   cuda/check.sh --pack FILE    builds all for TENON_CHECK_ARCHITECTURES (90-real), on a machine that needs no GPU, and packs the programs, stripped
#
# TENON_JOBS: compilers at a time. TENON_CHECK_PROGRAMS: such a FILE, or a build folder that was filled elsewhere: nothing is
# built. TENON_CHECK_BUDGET: seconds after which the command ends, whatever is left. TENON_CHECK_LIMIT: seconds after which a program is
# ended (1200; under the sanitizer 3600). TENON_CHECK_REPETITIONS: of each benchmark (9). TENON_CHECK_SECONDS: how long random graphs run
# (60). TENON_CHECK_STEPS: steps of the endurance run (1000000).
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
root=$PWD
export TENON_PROJECT_DIR=$root # for programs that were built elsewhere
# Where the toolkit's installer leaves them, which puts them on nobody's PATH.
command -v nvcc >/dev/null || PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin
build=${TENON_CHECK_PROGRAMS:-$root/build/cuda}
logs=$root/build/cuda/logs
rows=$logs/rows
list=no again=no record=no one='' pack=''
wanted=()
while [ $# -gt 0 ]; do
    argument=$1
    shift
    case $argument in
    --pack)
        pack=${1:?--pack FILE}
        shift
        ;;
    --list) list=yes ;;
    --again) again=yes ;;
    --record) record=yes ;;
    --one=*) one=${argument#*=} ;; # this script's own: a check as a process
    -*) sed -n '2,18s/^# \{0,1\}//p' "$0"; exit 2 ;;
    *) wanted+=("$argument") ;;
    esac
done
mkdir -p "$logs"
touch "$rows"
if [ -f "$build" ]; then # unpacked once: that takes a good part of a minute
    packed=$build
    build=$root/build/cuda/programs
    stamp=$(stat -c '%s %Y' "$packed")
    if [ "$(cat "$build.unpacked" 2>/dev/null)" != "$stamp" ]; then
        rm -rf "$build"
        tar -xf "$packed" -C "$root/build/cuda" && echo "$stamp" >"$build.unpacked" || exit
    fi
fi
[ -n "$pack$list" ] || [ -z "${TENON_CHECK_PROGRAMS:-}" ] || [ -d "$build" ] || { echo "TENON_CHECK_PROGRAMS is neither a file nor a folder: $build"; exit 2; }
# Libraries that only the pack, or Python's wheels, have.
[ ! -d "$build/lib" ] || export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
wheels=$(python3 -c 'import glob, nvidia
print(":".join(d for p in nvidia.__path__ for d in sorted(glob.glob(p + "/*/lib"))))' 2>/dev/null)
[ -z "$wheels" ] || export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$wheels
status=0

# Each file of test/cuda is a run of its own, so that a GPU that is lost in one is there for the next. Those that ask the emulated GPU for
# something are not in the program.
test_files() {
    find test/cuda -name '*.cpp' -not -path '*/emulat*' -not -path '*/gpu/*' -not -path '*/libraries/*' \
        -exec grep -LE '#include "(emulator|emulated)/' {} + | sed 's,^test/cuda/\(.*\)\.cpp$,tests/\1,' | sort
}
tour=(02_placement 03_placement_function 04_soft_placement 05_many_devices 06_two_branches 07_gpu_memory 08_control_dependencies 24_mirrored)
names() {
    local built=yes
    [ -n "${TENON_CHECK_PROGRAMS:-}" ] && built=no
    echo facts
    [ $built = no ] || printf '%s\n' build/configure build/tests
    printf '%s\n' tests/recorded tests/session tests/first_step
    [ $built = no ] || echo build/training
    printf '%s\n' benchmarks/training compiled/op_table
    [ $built = no ] || echo build/benchmarks
    printf '%s\n' benchmarks/transformer benchmarks/bandwidth benchmarks/matmul
    test_files | grep '^tests/ops/'
    echo sanitizer/memcheck/session
    test_files | grep -vE '^tests/(ops/.*|session|recorded|first_step|op_table)$'
    printf '%s\n' tests/op_table benchmarks/{steps,kernel_time}
    [ $built = no ] || printf '%s\n' build/rest resources
    printf '%s\n' sanitizer/memcheck/{recorded,strided_copy,ops/flow/flow,ops/rows/attention} graphs peers tests/plans
    printf 'tour/%s\n' "${tour[@]}"
    printf '%s\n' training/dense training/conv sanitizer/memcheck/op_table \
        sanitizer/{racecheck,initcheck}/{session,recorded,strided_copy,op_table} endurance
}
is_wanted() {
    [ ${#wanted[@]} -gt 0 ] || return 0
    local w
    for w in "${wanted[@]}"; do [ "${1#"$w"}" = "$1" ] || return 0; done
    return 1
}

# The file that a check is of, in the build folder; none where it is of the machine or of the sources.
program_of() {
    case $1 in
    resources) echo cuda/libtenon_cuda.a ;;
    tests/plans) echo test/cuda/cuda_plans ;;
    tests/* | compiled/* | sanitizer/*) echo test/cuda/test_cuda_gpu ;;
    benchmarks/*) echo "benchmarks/cuda/${1#*/}" ;;
    peers) echo benchmarks/cuda/peer_rows ;;
    graphs) echo test/random_graphs_gpu ;;
    tour/*) echo "examples/$1" ;;
    training/*) echo examples/fashion_mnist ;;
    endurance) echo test/cuda/cuda_endurance ;;
    esac
}
# In `stamp`: which program that is, as its bytes are now; empty where there is none.
declare -A stamps=()
find_stamp() {
    local file
    file=$build/$(program_of "$1")
    stamp=
    [ -f "$file" ] || return 0
    [ -n "${stamps[$file]:-}" ] || stamps[$file]=$(sha256sum <"$file")
    stamp=${stamps[$file]:0:16}
}
# Whether a row is of the program that is there, or there is none to compare with.
is_of_stamp() { [ -z "$stamp" ] || [[ $1 == *$'\t'"$stamp" ]]; }

# row NAME RESULT SECONDS
row() {
    printf '%s\t%s\t%s\t%s\n' "$@" "$stamp" >>"$rows"
    printf '%-44s %-40s %s s\n' "$@"
}

# Where the loader finds a library.
place_of() {
    local folder
    IFS=: read -ra folders <<<"${LD_LIBRARY_PATH:-}"
    for folder in "${folders[@]}"; do
        [ ! -e "$folder/$1" ] || { echo "$folder/$1"; return; }
    done
    ldconfig -p 2>/dev/null | awk -v name="$1" '$1 == name { print $NF; found = 1; exit } END { if (!found) print "not found: what it does is left out, or done by our own kernels" }'
}
facts() {
    nvcc --version 2>&1 | tail -2
    cmake --version | head -1
    g++ --version | head -1
    command -v ninja || echo "no ninja: built with make"
    command -v compute-sanitizer || echo "no compute-sanitizer: its checks are left out"
    uname -rm
    nproc
    local library
    for library in libcuda.so.1 libcublasLt.so.13 libcudnn.so.9 libnvrtc.so.13 libcufft.so.12 libcusolver.so.12 libnccl.so.2; do
        printf '%-20s %s\n' $library "$(place_of $library)"
    done
    command -v nvidia-smi || { echo "no nvidia-smi: no driver"; return 77; }
    nvidia-smi
}
configure() {
    if [ ! -d third_party/include/Eigen ]; then
        echo "third_party/ is empty: run cuda/fetch_headers.sh where there are packages, and copy third_party/ here"
        return 1
    fi
    local generator=()
    ! command -v ninja >/dev/null || generator=(-G Ninja)
    local library without=() # what the machine that runs the programs may not have
    for library in NET ZLIB ZSTD PNG JPEG RE2 ONEDNN LIBXSMM ARROW MPI; do without+=("-DTENON_WITH_$library=OFF"); done
    cmake -S "$root" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=$root/third_party" \
        -DTENON_WITH_CUDA=ON "${without[@]}" \
        -DTENON_BUILD_EXAMPLES=ON -DTENON_BUILD_BENCHMARKS=ON -DTENON_COMPILER_TESTS=OFF \
        -DTENON_INSTALL=OFF '-DTENON_TEST_FOLDERS=cuda;random_graphs' \
        ${TENON_CHECK_ARCHITECTURES:+"-DTENON_CUDA_ARCHITECTURES=$TENON_CHECK_ARCHITECTURES"}
}
# The programs that checks run, stripped, as a folder "programs" in an archive: what they have in common counts once.
pack_programs() {
    local to=$build/programs file
    rm -rf "$to"
    for file in "$build"/test/cuda/{test_cuda_gpu,cuda_plans,no_driver.so,cuda_endurance} "$build/test/random_graphs_gpu" \
        "$build"/benchmarks/cuda/{training,transformer,bandwidth,matmul,steps,kernel_time,peer_rows} "$build/examples/fashion_mnist" "${tour[@]/#/$build/examples/tour/}"; do
        if ! [ -f "$file" ] || ! [ -x "$file" ]; then continue; fi
        mkdir -p "$to/$(dirname "${file#"$build"/}")"
        strip -s -o "$to/${file#"$build"/}" "$file" || return
    done
    # And what they are linked with that is neither everywhere nor NVIDIA's.
    mkdir -p "$to/lib"
    find "$to" -type f -exec ldd {} + | awk '$2 == "=>" && $3 ~ /^\// && $1 !~ /^lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|cublasLt|cudnn)\.so/ { print $3, $1 }' |
        sort -u | while read -r file name; do cp -L "$file" "$to/lib/$name" || return; done || return
    tar -C "$build" -cf - programs | xz --lzma2=preset=1,dict=64MiB >"$1" || return # a program is within that distance of the one before
    du -h "$1"
}
compile() { cmake --build "$build" --parallel "${TENON_JOBS:-$(nproc)}" --target "$@"; }
of_training() {
    local data=$root/build/cuda/fashion-mnist file
    if [ ! -d third_party/data/fashion-mnist ]; then
        echo "no third_party/data/fashion-mnist"
        return 77
    fi
    mkdir -p "$data"
    for file in third_party/data/fashion-mnist/*.gz; do
        [ -f "$data/$(basename "$file" .gz)" ] || gunzip -c "$file" >"$data/$(basename "$file" .gz)"
    done
    with_gpu examples/fashion_mnist --data "$data" "$@"
}
# A program, or 76: it is not there, and may be the next time.
program() {
    [ -x "$build/$1" ] || { echo "$1 is not among the programs"; return 76; }
    "$build/$1" "${@:2}"
}
# Programs that do without a card would pass on a machine that has none, or has lost it.
with_gpu() { program test/cuda/test_cuda_gpu --test-case=none && program "$@"; }
# Whether the program has tests of a file: one that has none would pass.
has_tests() {
    local said
    said=$(program test/cuda/test_cuda_gpu --count "--source-file=*/test/cuda/$1.cpp") || { local code=$?; echo "$said"; return $code; }
    grep -qE 'current filters: [1-9]' <<<"$said" && return
    echo "the program has no tests of test/cuda/$1.cpp"
    return 77
}
gpu_tests() { has_tests "$1" && program test/cuda/test_cuda_gpu "--source-file=*/test/cuda/$1.cpp"; }
# Of Tenon's own kernels: products, convolutions and attention by NVIDIA's are left out, which order what they share in ways that racecheck does not
# know of.
sanitizer() {
    has_tests "${1#*/}" || return
    command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not installed"; return 77; }
    TENON_CUDA_PRODUCTS=own TENON_CUDA_CONVOLUTIONS=own TENON_CUDA_ATTENTION=own TENON_CUDA_TRANSFORMS=own TENON_CUDA_MATRICES=own compute-sanitizer --tool "${1%%/*}" --error-exitcode 1 \
        "$build/test/cuda/test_cuda_gpu" "--source-file=*/test/cuda/${1#*/}.cpp"
}
peers() {
    if ! python3 -c 'import torch; assert torch.cuda.is_available()' >/dev/null 2>&1; then
        echo "python3 has no torch that sees a GPU"
        return 77
    fi
    [ -x "$build/benchmarks/cuda/peer_rows" ] || { echo "benchmarks/cuda/peer_rows is not among the programs"; return 76; }
    python3 benchmarks/peers/torch_gpu_rows.py "$build/benchmarks/cuda/peer_rows"
}

# The check of that name; 77, as for CTest, is "skipped", for the reason in the last line.
run() {
    local what=${1#*/} file
    file=$(program_of "$1")
    case $1 in
    build/configure) configure ;;
    build/tests) compile test_cuda_gpu ;;
    build/training) compile benchmark_cuda_training ;;
    build/benchmarks) compile benchmark_cuda_{transformer,bandwidth,matmul,steps,kernel_time,peer_rows} ;;
    build/rest) compile tenon_gpu_tests example_fashion_mnist "${tour[@]/#/example_tour_}" ;;
    resources) test/cuda/resources.sh "$root" "$(command -v nvcc)" "$build/$file" ;;
    tests/plans)
        [ -x "$build/$file" ] || { echo "no cuDNN when this was built"; return 77; }
        program "$file"
        ;;
    tests/*) gpu_tests "$what" ;;
    compiled/*) TENON_CUDA_TAPES=compiled gpu_tests "$what" ;;
    benchmarks/*) program "$file" "--benchmark_repetitions=${TENON_CHECK_REPETITIONS:-9}" ;;
    graphs) with_gpu "$file" --seconds "${TENON_CHECK_SECONDS:-60}" --seed "$(date +%s)" ;;
    tour/*) with_gpu "$file" ;;
    training/dense) of_training ;;
    training/conv) of_training --model conv ;;
    endurance) program "$file" "${TENON_CHECK_STEPS:-1000000}" ;;
    sanitizer/*) sanitizer "$what" ;;
    peers) peers ;;
    facts) facts ;;
    esac
}

if [ -n "$one" ]; then
    run "$one"
    exit
fi
if [ -n "$pack" ]; then
    export TENON_CHECK_ARCHITECTURES=${TENON_CHECK_ARCHITECTURES:-90-real}
    for part in configure tests training benchmarks rest; do run "build/$part" || exit; done
    pack_programs "$pack"
    exit
fi

# What a check printed goes to its log, whose end is shown where it failed. False where nothing after it can be run.
check() {
    local name=$1 log=$logs/${1//\//.}.log began=$SECONDS limit=${TENON_CHECK_LIMIT:-1200} left result code
    case $1 in
    build/*) limit=86400 ;;
    sanitizer/*) limit=${TENON_CHECK_LIMIT:-3600} ;;
    esac
    left=$((${TENON_CHECK_BUDGET:-864000} - SECONDS))
    [ $left -ge 5 ] || return 1
    [ "$limit" -le $left ] || limit=$left
    # Of a check in whose middle the machine is taken away: others come first the next time.
    row "$name" '**not done**: the command ended meanwhile' 0 >/dev/null
    # In a process group of its own, which is ended as a whole.
    timeout --kill-after=5 "$limit" "$root/cuda/check.sh" "--one=$name" >"$log" 2>&1 </dev/null
    code=$?
    case $code in
    0) result=passed ;;
    76) result="**not done**: $(tail -1 "$log")" ;;
    77) result="skipped: $(sed -n '$s/^skipped: //;$p' "$log")" ;;
    124 | 137) result="**not done** in $limit s" ;;
    *) result="**FAILED** (\`${log#"$root"/}\`)" ;;
    esac
    row "$name" "$result" $((SECONDS - began))
    case $name:$code in benchmarks/*:0 | peers:0) cat "$log" ;; esac
    [ $code -eq 0 ] || [ $code -eq 77 ] || { status=1; tail -40 "$log"; }
    case $name in build/*) stamps=() && [ $code -eq 0 ] ;; esac
}

# What rows say of each check, the last time, in the order in which they are run.
last_row() { awk -F'\t' -v name="$1" '$1 == name { last = $0 } END { if (last != "") print last }' "$rows"; }

for w in "${wanted[@]}"; do
    [[ $'\n'$(names) == *$'\n'"$w"* ]] || { echo "no check's name begins with $w; cuda/check.sh --list shows all"; exit 2; }
done
if [ $list = yes ]; then
    while IFS= read -r name; do ! is_wanted "$name" || echo "$name"; done < <(names)
    exit 0
fi
declare -A tried=()
for turn in new left; do
    while IFS= read -r name; do
        is_wanted "$name" || continue
        [ -z "${tried[$name]:-}" ] || continue
        known=
        # Rows may have come from another machine, where something was built that is not there.
        case $name in build/*) [ -f "$build/CMakeCache.txt" ] ;; esac && [ $again = no ] && known=$(last_row "$name")
        find_stamp "$name"
        is_of_stamp "$known" || known=
        case $turn:$known in
        *: | new:build/*'**'* | left:*$'\t'skipped:* | left:*'**not done**'*) # what was missing may be there
            tried[$name]=yes
            check "$name" || { status=1; break 2; }
            ;;
        new:*'**FAILED**'*) status=1 ;;
        esac
    done < <(names)
done

card=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | head -1)
table="| check | result | seconds |
|---|---|---|
"
measured=
while IFS= read -r name; do
    found=$(last_row "$name")
    IFS=$'\t' read -r _ result seconds _ <<<"$found"
    [ -n "${result:-}" ] || continue
    find_stamp "$name"
    is_of_stamp "$found" || result+=", of another program"
    table+="| $name | $result | $seconds |"$'\n'
    case $name:$result in
    benchmarks/*:passed) figures=(-vE '^([0-9]{4}-|Running |Run on |CPU Caches|  L[1-3]|Load Average|\*\*\*)') ;;
    peers:passed) figures=(-E '^(PyTorch|row|mlp|conv|fused)') ;; # without what torch.compile has to tell
    *) continue ;;
    esac
    measured+=$'\n'"${name#*/}:"$'\n\n```text\n'"$(grep "${figures[@]}" "$logs/${name//\//.}.log")"$'\n```\n'
done < <(names)
echo
echo "== ${card:-no GPU}"
echo "$table"
if [ $record = yes ] && [ -z "$card" ]; then
    echo "docs/gpu.md is left as it is: no card was found here"
    status=1
elif [ $record = yes ]; then
    toolkit=$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    text="### $card${toolkit:+, CUDA $toolkit}, $(date +%Y-%m-%d)

$table$measured"
    TEXT=$text awk '
        /^<!-- checked: begin -->/ { print; print ""; print ENVIRON["TEXT"]; skipping = 1 }
        /^<!-- checked: end -->/ { skipping = 0 }
        !skipping || /^<!-- checked: begin -->/ { if (!/^<!-- checked: begin -->/) print }' docs/gpu.md >"$logs/gpu.md" &&
        cp "$logs/gpu.md" docs/gpu.md
    echo "written to docs/gpu.md"
fi
exit $status
