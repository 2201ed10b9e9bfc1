#!/usr/bin/env bash
# A parameter server that is killed in mid-training and started again on its port: training resumes from the checkpoint.
#
#   recover.sh TENON RECOVER
set -uo pipefail
tenon=$(realpath "$1")
recover=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { # WHAT
    echo "FAILED: $1"
    sed 's/^/    out: /' out
    sed 's/^/    err: /' err
    exit 1
}
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
echo "passed"
