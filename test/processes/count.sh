#!/usr/bin/env bash
# A cluster of real processes on loopback that counts, while some of them die.
#
#   count.sh TENON COUNT
set -uo pipefail
tenon=$(realpath "$1")
count=$(realpath "$2")
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

# Each worker's updates are applied once, by two parameter servers that `tenon serve` runs.
timeout 100 "$tenon" launch --ps 2 --worker 2 -- "$count" 200 >out 2>err || fail "a cluster that counts ended with status $?"
grep -qE '^worker 0 \| counted 200 [0-9]+$' out || fail "worker 0 has not counted to 200"
grep -qE '^worker 1 \| counted [0-9]+ 200$' out || fail "worker 1 has not counted to 200"

# A worker that is killed leaves the other counting (SEMANTICS 28); nothing that was acknowledged is lost, and of what was in
# flight at most one step is added.
timeout 100 "$tenon" launch --ps 2 --worker 2 -- "$count" 3000 1 50 >out 2>err
status=$?
[ $status -eq 137 ] || fail "a cluster whose worker was killed ended with status $status, not 137"
grep -qE '^worker 0 \| counted 3000 5[01]$' out || fail "worker 0 has not counted to 3000 beside one that was killed at 50"

# A parameter server that never starts is named, within the time that the session gives it.
printf '#!/bin/sh\nif [ "$TENON_TASK" = 1 ]; then exec sleep 60; fi\nexec "%s" serve\n' "$tenon" >serve
chmod +x serve
timeout 100 "$tenon" launch --ps 2 --worker 1 --ps-command ./serve -- "$count" 10 -1 0 4 >out 2>err
status=$?
[ $status -eq 1 ] || fail "a cluster without a parameter server ended with status $status, not 1"
grep -q '^worker 0 | unavailable: session: within 4 s [12] of the .* tasks of the cluster did not answer:' err ||
    fail "the session does not say that a task is missing"
grep -q '^worker 0 |   /job:ps/task:1 ' err || fail "the missing task is not named"
[ $failed -eq 0 ] && echo "passed"
exit $failed
