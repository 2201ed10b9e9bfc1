#!/usr/bin/env bash
# Synchronous workers of which one is killed, one stands still for a while, and a parameter server is killed and started again: the others go on, all end
# by themselves, and no gradient is applied twice or half (SEMANTICS 28, 41, 46).
#
#   synchronous.sh TENON TRAINS
set -uo pipefail
tenon=$(realpath "$1")
program=$(realpath "$2")
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
at_once=1
wait_for() { # PATTERN
    for _ in $(seq 1200); do
        grep -qE "$1" out 2>/dev/null && return
        sleep 0.05
    done
    fail "nobody said $1"
}
export TENON_FILES=$work/files
printf '#!/bin/sh\necho $$ >ps.$TENON_TASK\nexec "%s" serve --heartbeat 0.5 --lease 2\n' "$tenon" >serve
printf '#!/bin/sh\necho $$ >worker.$TENON_TASK\nexec "%s" "$@"\n' "$program" >work
chmod +x serve work
begin() { # STEPS
    rm -rf files ps.* worker.* out err
    mkdir files
    timeout 150 "$tenon" launch --ps 2 --worker 3 --ps-restarts 1 --ps-command ./serve -- ./work backup 3 "$1" >out 2>err &
    launch=$!
}

for killed in 0 1; do # the chief, and another one
    begin 3000
    wait_for "worker $killed \| has run 400"
    kill -9 "$(cat worker.$killed)" || fail "there is no worker $killed to kill"
    wait $launch
    status=$?
    [ $status -eq 137 ] || fail "a cluster whose worker $killed was killed ended with status $status, not 137"
    [ "$(grep -cE '^worker [0-2] \| after step 300[0-9]: alike, trained, in [0-9]+ sessions$' out)" -eq 2 ] ||
        fail "without worker $killed the others have not come to the end"
done

begin 4000
wait_for 'worker 0 \| has run 400'
kill -STOP "$(cat worker.0)" || fail "there is no worker to stop"
wait_for 'worker [12] \| has run 2000'
kill -CONT "$(cat worker.0)"
wait $launch
[ "$(grep -cE '^worker [0-2] \| after step 400[0-9]: alike, trained' out)" -eq 3 ] || fail "with one that stood still they have not come to the end"

begin 4000
wait_for 'worker [0-2] \| session: saved model-[0-9]{3}'
kill -9 "$(cat ps.1)" || fail "there is no parameter server to kill"
wait $launch
grep -q 'restored model-' out || fail "nothing was restored"
[ "$(grep -cE '^worker [0-2] \| after step 400[0-9]: alike, trained' out)" -eq 3 ] || fail "through the loss of variables they have not come to the end"
echo "passed"
