# What the tests of this folder begin with, read by them once they know the programs that they are given: a folder of their own, which goes
# with them, nothing of a launcher in which they themselves run, and words for what fails.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
for name in $(compgen -e | grep -E '^(TENON_|SLURM|PMI|OMPI_|TF_CONFIG$|RANK$|WORLD_SIZE$|LOCAL_|MASTER_|JOBSET_|JOB_|CUDA_VISIBLE_DEVICES$)'); do unset "$name"; done
failed=0

show() { # WHAT
    echo "FAILED: $1"
    sed 's/^/    out: /' out 2>/dev/null
    sed 's/^/    err: /' err 2>/dev/null
}
fail() { # WHAT   where at_once is set, it ends the test
    show "$1"
    failed=1
    [ -z "${at_once:-}" ] || exit 1
}
# says STATUS WORDS ARGUMENT...   runs $tenon, compares its status and looks for the words in what it says
says() {
    local wanted=$1 words=$2 status
    shift 2
    timeout 60 "$tenon" "$@" >out 2>&1
    status=$?
    [ $status -eq "$wanted" ] && grep -qF -- "$words" out || fail "tenon $*: status $status, wanted $wanted and the words: $words"
}
skip() { # WHY
    echo "skipped: $1"
    exit 77
}
has() { grep -qxF -- "$2" "$1" || fail "$1 has no line: $2"; }
until_true() { # COMMAND...   waits for it to succeed: for a file that another process writes, or its end
    for _ in $(seq 600); do
        "$@" 2>/dev/null && return
        sleep 0.05
    done
    fail "waited in vain for: $*"
    exit 1
}
gone() { ! kill -0 "$1" 2>/dev/null || [ "$(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null)" = Z ]; }
