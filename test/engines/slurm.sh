#!/usr/bin/env bash
# The program of examples/engines under a real Slurm of two nodes: one job on both, two at once on one node, an array, one of which a worker
# is killed, and one that is told that its time is over, and goes on when it is started again.
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
trained first.out 2 -2.00
trained second.out 2 0.50

# A worker that is killed: the others go on, the job ends, and with its status.
cat >"$bed/killed.sh" <<'END'
#!/usr/bin/env bash
if [ "$SLURM_PROCID" -ne 2 ]; then exec train --pause 5; fi
train --pause 5 >"killed-$$" 2>&1 &
until grep -q 'begins at step' "killed-$$"; do kill -0 $! || exit 1; sleep 0.05; done
kill -9 $! $$
END
chmod +x "$bed/killed.sh"
run killed on b srun --nodelist=b --ntasks=3 --export=ALL,TENON_PS_TASKS=1,TENON_GRACE=1 "$bed/killed.sh" &
killed=$!

array=$(submit slurm_array.sbatch train)
for n in 0 1 2 3; do
    state=$(slurm_ended "${array}_$n")
    [ "$state" = COMPLETED ] || fail "job ${array}_$n is $state, not COMPLETED" "$bed/slopes-$n.out"
done
trained slopes-0.out 2 3.00
trained slopes-1.out 2 -2.00
trained slopes-2.out 2 0.50
trained slopes-3.out 2 7.00
wait $killed
[ $? -eq 137 ] || fail "a run that lost a worker ends with another status than 137" "$bed/killed"
trained killed 1 3.00
said killed '/job:worker/task:1 is lost'

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
! ls -d "$bed"/.keys-* >/dev/null 2>&1 || fail "keys are left"
ended
finish Slurm
