#!/usr/bin/env bash
# Open MPI really starts processes: they find their cluster by a rendezvous that rank 0 serves.
#
#   open_mpi.sh PLACE    (test/processes/programs/place.cpp)
#
# Ends with status 77 where there is no mpirun.
set -uo pipefail
place=$(realpath "$1")
if ! mpirun=$(command -v mpirun) || ! "$mpirun" --version 2>&1 | grep -q 'Open MPI'; then
    echo "skipped: there is no mpirun of Open MPI (Debian: openmpi-bin)"
    exit 77
fi
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

run() { timeout 60 "$mpirun" --oversubscribe "$@" >out 2>err; }
# places NAME...   all these were given, each once, and the same cluster
places() {
    [ "$(cut -d' ' -f1 out | sort | tr '\n' ' ')" = "$(printf '%s ' "$@")" ] || fail "the tasks are not: $*"
    [ "$(cut -d' ' -f2- out | sort -u | wc -l)" -eq 1 ] || fail "the clusters are not all the same"
}
said() { grep -qF -- "$1" err || fail "nobody said: $1"; }

TENON_PS_TASKS=1 run -n 4 -x TENON_PS_TASKS "$place" || fail "mpirun -n 4 failed"
places /job:ps/task:0 /job:worker/task:0 /job:worker/task:1 /job:worker/task:2
said 'cluster: the tasks are those of Open MPI (OMPI_COMM_WORLD_RANK="3"): rank 3 of 4, by OMPI_COMM_WORLD_SIZE'
said 'cluster: they find each other by a rendezvous: all run on this host'
said 'cluster: all 4 ranks have met within'
[ "$(grep -oE '127\.0\.0\.1:[0-9]+' out | sort -u | wc -l)" -eq 4 ] || fail "there are not four addresses"

# Programs that ask for their jobs by name, with a rendezvous at an address that is given.
port=$((20000 + $$ % 10000))
run -n 1 -x TENON_JOB=ps -x TENON_RENDEZVOUS=127.0.0.1:$port "$place" : -n 2 -x TENON_JOB=worker -x TENON_RENDEZVOUS=127.0.0.1:$port "$place" ||
    fail "mpirun of several programs failed"
places /job:ps/task:0 /job:worker/task:0 /job:worker/task:1

# One that does not come is named.
run -n 2 "$place" --limit 700 : -n 1 sleep 5 && fail "a rank that did not come is not missed"
said 'these did not come to rank 0 at 127.0.0.1:'
said 'within 700 ms: 2'

[ $failed -eq 0 ] && echo "$("$mpirun" --version | head -1): all as it should be"
exit $failed
