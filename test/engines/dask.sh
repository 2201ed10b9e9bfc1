#!/usr/bin/env bash
# The program of examples/engines in workers of Dask, on two machines, and two runs of it at once.
#
#   dask.sh TRAIN TENON
. "$(dirname "$0")/machines.sh"
alone "$@"
. "$test_folder/checks.sh"
need_python distributed "Debian: python3-distributed"
begin "$1" "$2"
machines a b
loopback_name b
on a "$python" -m distributed.cli.dask_scheduler --host 10.77.0.1 --port 8786 --no-dashboard >"$bed/scheduler" 2>&1 &
begun scheduler $! 'Scheduler at' || finish Dask
for machine in a b; do
    on $machine "$python" -m distributed.cli.dask_worker tcp://10.77.0.1:8786 --host "10.77.0.$([ $machine = a ] && echo 1 || echo 2)" --nthreads 4 --no-dashboard \
        >"$bed/worker_$machine" 2>&1 &
    begun worker_$machine $! 'Registered to' || finish Dask
done

start=$examples/dask_workers.py
run first on a "$python" "$start" tcp://10.77.0.1:8786 --ps 1 --workers 3 -- train &
pid=$!
run second on a "$python" "$start" tcp://10.77.0.1:8786 --ps 1 --workers 2 -- train --slope -2
[ $status -eq 0 ] || fail "the status is $status" "$bed/second"
wait $pid || fail "the first run failed" "$bed/first"
cat worker_a worker_b >both
trained both 3 3.00
trained both 2 -2.00
said worker_a 'other machines, encrypted'
said worker_b 'other machines, encrypted'
run failing on a "$python" "$start" tcp://10.77.0.1:8786 --ps 0 --workers 1 -- train --no-such-option
[ $status -eq 1 ] || fail "a program that fails has the status $status" "$bed/failing"
ended
finish Dask
