#!/usr/bin/env bash
# The program of examples/engines as actors of Ray: a Ray of two nodes, and two runs of it at once.
#
#   ray.sh TRAIN TENON
. "$(dirname "$0")/machines.sh"
alone "$@"
. "$test_folder/checks.sh"
need_python ray "pip install ray"
begin "$1" "$2"
ray=$(dirname "$python")/ray
export RAY_USAGE_STATS_ENABLED=0 RAY_AUTH_MODE=disabled PYTHONUNBUFFERED=1
machines a b
loopback_name b
run head on a "$ray" start --head --node-ip-address 10.77.0.1 --port 6379 --num-cpus 3 --include-dashboard false --disable-usage-stats
[ $status -eq 0 ] || fail "ray start --head" "$bed/head"
run other on b "$ray" start --address 10.77.0.1:6379 --node-ip-address 10.77.0.2 --num-cpus 3 --disable-usage-stats
[ $status -eq 0 ] || fail "ray start" "$bed/other"

limit=90 TENON_JOIN_TIMEOUT=60
run first on a "$python" "$examples/ray_actors.py" --ps 1 --workers 2 -- "$bed/bin/train" &
pid=$!
run second on a "$python" "$examples/ray_actors.py" --ps 1 --workers 2 -- "$bed/bin/train" --slope -2
[ $status -eq 0 ] || fail "the status is $status" "$bed/second"
wait $pid || fail "the first run failed" "$bed/first"
trained first 2 3.00
trained second 2 -2.00
run failing on a "$python" "$examples/ray_actors.py" --ps 0 --workers 1 -- "$bed/bin/train" --no-such-option
[ $status -eq 1 ] || fail "a program that fails has the status $status" "$bed/failing"
said failing 'there is no such option'
ended
finish Ray
