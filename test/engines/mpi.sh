#!/usr/bin/env bash
# The program of examples/engines under Open MPI and MPICH: on one machine, two runs of it at once, on two machines, asked to stop.
#
#   mpi.sh TRAIN TENON {open_mpi|mpich}
. "$(dirname "$0")/machines.sh"
alone "$@"
. "$test_folder/checks.sh"
begin "$1" "$2"
engine=$3
if [ "$engine" = open_mpi ]; then
    MPIRUN=$(command -v mpirun.openmpi) || { echo "skipped: there is no mpirun.openmpi (Debian: openmpi-bin)" && exit 77; }
    export MPIRUN OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    hosts=--host names=a,b,10.77.0.1
else
    MPIEXEC=$(command -v mpiexec.hydra) || { echo "skipped: there is no mpiexec.hydra (Debian: mpich)" && exit 77; }
    export MPIEXEC
    hosts=-hosts names=a,b
fi
start=$examples/$engine.sh
machines a b
loopback_name a
loopback_name b

# One machine, and two runs of it at once, whose models are their own.
run first on a "$start" -n 3 train --slope 3 &
first=$!
TENON_PS_TASKS=0 run second on a "$start" -n 2 train --slope -2 &
second=$!
run third on a "$start" -n 3 train --slope 0.5
[ $status -eq 0 ] || fail "the status is $status" "$bed/third"
wait $first || fail "the first run failed" "$bed/first"
wait $second || fail "the second run failed" "$bed/second"
trained first 2 3.00
trained second 2 -2.00
trained third 2 0.50

# Two machines, whose own names mean loopback: keys, and nothing else.
on a tenon certificates --hosts "$names" --out "$bed/keys" >/dev/null || fail "no keys"
TENON_KEYS=$bed/keys run two on a "$start" $hosts a:2,b:2 -n 4 train
[ $status -eq 0 ] || fail "on two machines the status is $status"
trained two 3 3.00
run plain on a "$start" $hosts a:1,b:1 -n 2 train
[ $status -ne 0 ] || fail "without keys two machines talk to each other" "$bed/plain"
said plain 'connections between them are not encrypted'

# Asked to stop it saves; started again it goes on.
on a "$start" -n 3 train --checkpoint train --pause 5 --steps 100000 >"$bed/stopped" 2>&1 &
pid=$!
begun stopped $pid 'worker 1: .*begins at step'
kill -TERM $pid
wait $pid
said stopped 'at step'
run again on a "$start" -n 3 train --checkpoint train
trained again 2 3.00
grep -qE 'begins at step [1-9]' "$bed/again" || fail "it does not go on where it was" "$bed/again"
ended
finish "$engine"
