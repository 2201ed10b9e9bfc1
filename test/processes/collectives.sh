#!/usr/bin/env bash
# Processes that compute together, by MPI or by links.
#
#   collectives.sh mpi PROGRAM            under the mpirun of the MPI that it was built with
#   collectives.sh links PROGRAM TENON    tasks that tenon launch starts
#
# Ends with status 77 where there is no such mpirun.
set -uo pipefail
method=$1
program=$(realpath "$2")
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

if [ "$method" = mpi ]; then
    # Which of those that are installed is that of the program's MPI: with another one it says so.
    for mpirun in mpirun mpirun.openmpi mpirun.mpich ""; do
        [ -n "$mpirun" ] || { echo "skipped: there is no mpirun of the program's MPI (Debian: openmpi-bin, mpich)"; exit 77; }
        options=()
        "$mpirun" --version 2>&1 | grep -q 'Open MPI' && options=(--oversubscribe)
        [ "$(timeout 60 "$mpirun" "${options[@]}" -n 2 "$program" mpi explain 2>/dev/null | grep -c ' by MPI (')" -eq 2 ] && break
    done
    # Whether there are processes that this one has started, and all have ended.
    are_over() {
        local child some=1
        for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
            grep -q '^State:.*zombie' /proc/"$child"/status 2>/dev/null || return 1
            some=0
        done
        return $some
    }
    # As `timeout 120 mpirun`; but Open MPI's may stay for ever when processes have ended with an error, in PMIx_server_finalize, where
    # TERM does not move it: it is killed when all of them have been over for ten seconds.
    start() {
        local n=$1 pid over=0 i
        shift
        "$mpirun" "${options[@]}" -n "$n" "$program" mpi "$@" &
        pid=$!
        for ((i = 0; i < 1200 && over < 100; ++i)); do
            kill -0 $pid 2>/dev/null || break
            if are_over $pid; then ((++over)); else over=0; fi
            sleep 0.1
        done
        [ $over -lt 100 ] || kill -KILL $pid
        [ $i -lt 1200 ] || { kill -TERM $pid && sleep 5 && kill -KILL $pid; } 2>/dev/null
        wait $pid
    }
else
    tenon=$(realpath "$3")
    start() {
        local n=$1
        shift
        timeout 120 "$tenon" launch --worker "$n" -- "$program" links "$@" | sed 's/^worker [0-9]* *| //'
        return "${PIPESTATUS[0]}"
    }
fi

run() { start "$@" >out 2>err; }
# All have said the same, and there are so many.
same() {
    [ "$(grep -c ' the same ' out)" -eq "$1" ] && [ "$(grep -oE 'the same [0-9]+' out | sort -u | wc -l)" -eq 1 ] ||
        fail "not all $1 processes said the same"
}

for n in 1 2 3; do
    run $n sums || fail "sums of $n processes"
    same $n
done
for n in 2 3; do
    run $n train || fail "training by $n processes"
    same $n
    grep -oE 'the same [0-9]+' out | sort -u >first
    run $n train || fail "training by $n processes again"
    grep -oE 'the same [0-9]+' out | sort -u | cmp -s - first || fail "another run of $n processes has other bits"
done

run 2 explain || fail "explain"
[ "$(grep -cE '^[01] by (MPI|Tenon.s links)' out)" -eq 2 ] || fail "nobody said which way"

if [ "$method" = links ]; then
    timeout 120 "$tenon" launch --worker 2 -- "$program" joins explain >out 2>err || fail "processes that join by themselves"
    [ "$(grep -c "by TENON_CLUSTER this process is one of 2" out)" -eq 2 ] || fail "not both have joined"
fi

run 3 differ && fail "processes that mean different things are not told"
grep -qE 'do not agree on collective number 1: .*float\[4000[01]\].*float\[4000[01]\]' out || fail "not both were named"

run 2 limit && fail "a step past its limit has not failed"
grep -qE "^0 failed: .*limit of 1 s.* rank 1 .*has not come to it|^0 failed: .*limit of 1 s.*/job:worker/task:1 .*has not come to it" out || fail "who did not come is not named"
# An mpirun ends the others as soon as one has failed.
[ "$method" = mpi ] || grep -qE "^1 failed: .*/job:worker/task:0.*has stopped a step" out || fail "who came late was not told"

run 3 lost && fail "the loss of a process went unnoticed"
if [ "$method" = links ]; then
    [ "$(grep -cE '^[02] failed: .*/job:worker/task:1' out)" -eq 2 ] || fail "the lost one is not named"
fi

# Who calls exit() has left, or is not reached any more, and nobody waits for him.
run 3 exit && fail "the exit of a process went unnoticed"
grep -qE '^[02] failed: .*(rank 1 .*has left it|/job:worker/task:1 )' out || fail "who has left is not named"
for _ in 1 2 3; do run 2 exits || fail "processes that exit with their group fail"; done
if [ "$method" = links ]; then
    for _ in 1 2 3 4 5; do run 1 dials || fail "processes that exit while their threads go on fail"; done
fi

[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
