#!/usr/bin/env bash
# Trains with three workers and two parameter servers for so many seconds, in each of these kinds, while every few seconds a task is killed or stands still
# for a while. Each must end by itself where it should, and synchronous variables alike; each fault must have been told; parameter servers must not
# grow. Not one of the tests, which are short: CI runs it for seconds, a person for an hour.
#
#   soak.sh TENON TRAINS [SECONDS [PAUSE [KIND...]]]
set -uo pipefail
tenon=$(realpath "$1")
program=$(realpath "$2")
seconds=${3:-60}
pause=${4:-10}
kinds=("${@:5}")
[ ${#kinds[@]} -gt 0 ] || kinds=(asynchronous synchronous backup elastic)
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
export TENON_FILES=$work/files
RANDOM=${SEED:-1}
printf '#!/bin/sh\necho $$ >ps.$TENON_TASK\nexec "%s" serve --heartbeat 0.5 --lease 2\n' "$tenon" >serve
printf '#!/bin/sh\necho $$ >worker.$TENON_TASK\nexec "%s" "$@"\n' "$program" >work
chmod +x serve work
fail() { # WHAT
    echo "FAILED: $1"
    tail -n 60 out | sed 's/^/    out: /'
    tail -n 60 err | sed 's/^/    err: /'
    kill $launch 2>/dev/null
    exit 1
}
memory_of() { awk '/VmRSS/ {print $2}' "/proc/$1/status" 2>/dev/null || echo 0; }

for kind in "${kinds[@]}"; do
    rm -rf files ps.* worker.* out err over
    mkdir files
    "$tenon" launch --ps 2 --worker 3 --ps-restarts 100000 --worker-restarts 100000 --ps-command ./serve -- ./work "$kind" 3 1000000000 "$work/over" >out 2>err &
    launch=$!
    for _ in $(seq 1200); do
        grep -q 'has run 200' out && break
        sleep 0.05
    done
    declare -A first=() # memory of each parameter server's process, once it has run for some seconds
    end=$((SECONDS + seconds)) faults=0 growth=0
    while [ $SECONDS -lt $end ]; do
        sleep "$pause"
        job=worker task=$((RANDOM / 64 % 5))
        [ $task -lt 3 ] || { job=ps; task=$((task - 3)); }
        for ps in 0 1; do
            pid=$(cat ps.$ps) now=$(memory_of "$(cat ps.$ps)")
            [ -n "${first[$pid]:-}" ] || first[$pid]=$now
            grown=$((now - ${first[$pid]}))
            [ $grown -gt $growth ] && growth=$grown
        done
        pid=$(cat $job.$task)
        if [ $((RANDOM / 64 % 2)) -eq 0 ]; then
            kill -9 "$pid" 2>/dev/null && faults=$((faults + 1))
        else
            kill -STOP "$pid" 2>/dev/null && faults=$((faults + 1))
            (sleep $((1 + RANDOM % 5)) && kill -CONT "$pid") 2>/dev/null &
        fi
        kill -0 $launch 2>/dev/null || fail "$kind: the cluster has ended early"
    done
    touch over
    for _ in $(seq 1800); do
        kill -0 $launch 2>/dev/null || break
        sleep 0.1
    done
    kill -0 $launch 2>/dev/null && fail "$kind: it has not ended by itself"
    wait $launch
    [ "$(grep -c 'after step .*, trained,' out)" -ge 1 ] || fail "$kind: it has not come to the loss that it should"
    grep -q 'not trained' out && fail "$kind: a worker has not come to the loss that it should"
    [ "$kind" = asynchronous ] || ! grep -q 'they differ' out || fail "$kind: variables that had the same gradients differ"
    [ $growth -lt 20000 ] || fail "$kind: a parameter server has grown by $growth KiB"
    echo "$kind: $faults faults in $seconds s, $(grep -c 'lost, and opened again' out) sessions lost and opened again, $(grep -c 'restored' out) restores," \
        "$(grep -o 'after step [0-9]*' out | tail -n 1), parameter servers grew by at most $growth KiB"
done
echo "passed"
