#!/usr/bin/env bash
# A parameter server that is killed in mid-training and started again on its port: training resumes from the checkpoint. A chief
# that is killed: another worker is the chief, and saves.
#
#   recover.sh TENON RECOVER
set -uo pipefail
tenon=$(realpath "$1")
recover=$(realpath "$2")
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
at_once=1
mkdir files
export TENON_FILES=$work/files
printf '#!/bin/sh\necho $$ >ps.$TENON_TASK\nexec "%s" serve --heartbeat 0.5 --lease 2\n' "$tenon" >serve
chmod +x serve
timeout 100 "$tenon" launch --ps 2 --worker 1 --ps-restarts 1 --ps-command ./serve -- "$recover" 6000 >out 2>err &
launch=$!
for _ in $(seq 600); do # until there are checkpoints
    grep -q 'saved .*model-60' out 2>/dev/null && break
    sleep 0.05
done
kill -9 "$(cat ps.0)" || fail "there is no parameter server to kill"
wait $launch
status=$?
grep -q 'restored .*model-' out || fail "nothing was restored (status $status)"
grep -qE '^worker 0 \| trained 6000 steps, w = 3\.000, in [2-9] sessions$' out || fail "it has not trained to its end (status $status)"

rm -rf files/* ps.* out err
timeout 100 "$tenon" launch --ps 1 --worker 2 --ps-command ./serve -- sh -c 'echo $$ >worker.$TENON_TASK; exec "$0" 15000' "$recover" >out 2>err &
launch=$!
for _ in $(seq 600); do
    grep -q 'worker 0 .*saved model-[0-9][0-9]' out 2>/dev/null && break
    sleep 0.05
done
kill -9 "$(cat worker.0)" || fail "there is no chief to kill"
wait $launch
status=$?
[ $status -eq 137 ] || fail "a cluster whose chief was killed ended with status $status, not 137"
grep -q 'worker 1 | session: this process is the chief, term 2' out || fail "worker 1 is not the chief"
grep -q 'worker 1 | session: saved model-' out || fail "worker 1 has not saved"
grep -qE '^worker 1 \| trained 1500[0-9] steps, w = 3\.000, in 1 sessions$' out || fail "worker 1 has not trained to its end"
echo "passed"
