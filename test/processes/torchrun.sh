#!/usr/bin/env bash
# Processes with the variables of torchrun, on real sockets: they meet at MASTER_ADDR.
#
#   torchrun.sh PLACE    (test/processes/programs/place.cpp)
set -uo pipefail
place=$(realpath "$1")
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
export WORLD_SIZE=3 LOCAL_WORLD_SIZE=3 MASTER_ADDR=localhost MASTER_PORT=$((20000 + $$ % 10000)) TORCHELASTIC_RUN_ID=$$
pids=()
for rank in 2 1 0; do
    RANK=$rank LOCAL_RANK=$rank TENON_PS_TASKS=1 "$place" --limit 30000 >out.$rank 2>err.$rank &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
[ "$(cat out.* | cut -d' ' -f1 | tr '\n' ' ')" = "/job:ps/task:0 /job:worker/task:0 /job:worker/task:1 " ] || failed=1
[ "$(cat out.* | cut -d' ' -f2- | sort -u | wc -l)" -eq 1 ] || failed=1
[ $failed -eq 0 ] && echo "torchrun's variables: all as it should be" || cat out.* err.*
exit $failed
