#!/usr/bin/env bash
# The program of examples/engines by the command tenon: on a laptop, on a lab's four machines, and with what is not installed in it.
#
#   launch.sh TRAIN TENON
. "$(dirname "$0")/machines.sh"
alone "$@"
. "$test_folder/checks.sh"
begin "$1" "$2"
machines laptop
run alone on laptop train
[ $status -eq 0 ] || fail "alone its status is $status" "$bed/alone"
trained alone 1 3.00
run laptop on laptop tenon launch --ps 1 --worker 2 -- train &
pid=$!
run second on laptop tenon launch --ps 1 --worker 2 -- train --slope -2
[ $status -eq 0 ] || fail "the status is $status" "$bed/second"
wait $pid || fail "the first run failed" "$bed/laptop"
trained laptop 2 3.00
trained second 2 -2.00

machines a b c d
for machine in a b c d; do loopback_name $machine; done
run lab on a tenon launch --hosts a,b,c,d --ps 1 --worker 4 --workdir "$bed" -- train --checkpoint lab
[ $status -eq 0 ] || fail "on four machines the status is $status" "$bed/lab"
trained lab 4 3.00
said lab 'other machines, encrypted'
ended
finish "tenon launch"
