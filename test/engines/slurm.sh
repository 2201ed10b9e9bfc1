#!/usr/bin/env bash
# The program of examples/engines under a real Slurm of two nodes: one job on both, two at once on one node, an array, and one that is told
# that its time is over, and goes on when it is started again.
#
#   slurm.sh TRAIN TENON
. "$(dirname "$0")/machines.sh"
alone "$@"
. "$test_folder/checks.sh"
. "$test_folder/slurm_bed.sh"
need_slurm
begin "$1" "$2"
machines a b
loopback_name b
slurm_begin a b
cp "$examples"/*.sbatch "$bed"
submit() { on a sbatch --parsable "$@"; }

# Both nodes, encrypted, and two runs at once on one of them.
both=$(submit --nodes=2 --ntasks=4 --job-name=both slurm.sbatch train --slope 3)
first=$(submit --nodelist=a --job-name=first slurm.sbatch train --slope -2 --pause 1)
second=$(submit --nodelist=a --job-name=second slurm.sbatch train --slope 0.5 --pause 1)
for job in $both $first $second; do
    state=$(slurm_ended "$job")
    [ "$state" = COMPLETED ] || fail "job $job is $state, not COMPLETED" "$bed/both.out"
done
trained both.out 3 3.00
said both.out 'other machines, encrypted'
[ "$(grep -oE 'this process is .* at (a|b):' both.out | grep -o '.:$' | sort -u | wc -l)" -eq 2 ] || fail "not both nodes were used" "$bed/both.out"
! ls -d "$bed"/.keys-* >/dev/null 2>&1 || fail "keys are left"
trained first.out 2 -2.00
trained second.out 2 0.50

array=$(submit slurm_array.sbatch train)
for n in 0 1 2 3; do
    state=$(slurm_ended "${array}_$n")
    [ "$state" = COMPLETED ] || fail "job ${array}_$n is $state, not COMPLETED" "$bed/slopes-$n.out"
done
trained slopes-0.out 2 3.00
trained slopes-1.out 2 -2.00
trained slopes-2.out 2 0.50
trained slopes-3.out 2 7.00

# Its time is over: it saves, is queued again, and goes on.
job=$(submit --nodes=2 --ntasks=3 --job-name=long slurm.sbatch train --pause 5 --steps 100000)
slurm_said "$job" long.out 'worker 1: .*begins at step' 1
on a scancel --signal=USR1 "$job"
slurm_said "$job" long.out 'worker 1: .*begins at step' 2
said long.out 'queued again'
grep -E 'begins at step [1-9]' long.out >/dev/null || fail "it does not go on where it was" "$bed/long.out"
on a scancel "$job"
state=$(slurm_ended "$job")
[ "$state" = CANCELLED ] || fail "job $job is $state, not CANCELLED" "$bed/long.out"
ended
finish Slurm
