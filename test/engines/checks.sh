# shellcheck shell=bash disable=SC2154 # $bed and $test_folder are of machines.sh
# To be sourced after machines.sh and alone: what tests of engines ask.
#
#   begin TRAIN TENON         the programs, which are put into the PATH of all machines. From then on $failed counts
#   run NAME COMMAND...       runs it; what it says is in the file NAME; its status in $status
#   begun NAME PID REGEX      waits until a line of NAME is so, as long as the process lives
#   trained NAME N A [STEPS]  N tasks said in NAME that they had found "y = A x -1.00", after so many steps or more (500)
#   said NAME TEXT            it did
#   ended                     no process of the program is left
#   finish TEXT               ends the test

examples=$bed/examples # where all machines see it
failed=0

begin() {
    export TENON_JOIN_TIMEOUT=40
    cp -r "$(dirname "$(dirname "$test_folder")")/examples/engines" "$examples" && (cd "$OLDPWD" && cp "$1" "$bed/bin/train" && cp "$2" "$bed/bin/tenon") || exit 1
}

fail() {
    echo "FAILED: $1"
    [ ! -f "$2" ] || sed 's/^/    /' "$2"
    failed=$((failed + 1))
}

run() {
    local name=$1
    shift
    status=0
    timeout "${limit:-60}" "$@" >"$bed/$name" 2>&1 || status=$?
    return $status
}

begun() {
    until grep -qsE -- "$3" "$bed/$1"; do
        kill -0 "$2" 2>/dev/null || { fail "it ended before: $3" "$bed/$1" && return 1; }
        sleep 0.05
    done
}

trained() {
    local name=$1 tasks=$2 slope=$3 steps=${4:-500} found
    found=$(grep -hoE 'y = .* at step [0-9]+' "$bed/$name" | awk -v line="y = $slope x -1.00 at step" -v steps="$steps" \
        'index($0, line) == 1 && $NF >= steps' | wc -l)
    [ "$found" -eq "$tasks" ] || fail "$name: $found tasks, not $tasks, found y = $slope x -1.00 after $steps steps" "$bed/$name"
}

said() {
    grep -qF -- "$2" "$bed/$1" || fail "$1: nobody said: $2" "$bed/$1"
}

ended() {
    local left
    ! left=$(pgrep -a -x train) || fail "these are left: $left" ""
}

finish() {
    [ "$failed" -eq 0 ] && echo "$1: all as it should be"
    exit "$failed"
}

# A Python that has this module, in $python; else the test is skipped. TENON_TEST_PYTHON is asked first.
need_python() {
    for python in "${TENON_TEST_PYTHON:-python3}" python3 /usr/bin/python3; do
        ! python=$(command -v "$python") || ! "$python" -c "import $1" 2>/dev/null || return 0
    done
    echo "skipped: there is no python3 with $1 ($2)"
    exit 77
}
