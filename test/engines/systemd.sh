#!/usr/bin/env bash
# The unit of examples/engines: systemd finds nothing wrong with it, and tasks that are started, and asked to stop, as it says train. systemd
# itself is not started here.
#
#   systemd.sh TRAIN TENON
. "$(dirname "$0")/machines.sh"
alone "$@"
. "$test_folder/checks.sh"
command -v systemd-analyze >/dev/null || { echo "skipped: there is no systemd-analyze (Debian: systemd)" && exit 77; }
begin "$1" "$2"
unit=train-worker@.service

# What it runs must be there to be looked at: another path stands for it.
sed "s,^ExecStart=/usr/local/bin/train,ExecStart=$bed/bin/train," "$examples/$unit" >"$bed/train-worker@0.service"
run verify systemd-analyze verify "$bed/train-worker@0.service"
[ ! -s "$bed/verify" ] || fail "systemd-analyze verify" "$bed/verify"
run security systemd-analyze security --offline=true --threshold=20 "$bed/train-worker@0.service"
[ $status -eq 0 ] || fail "it is less hardened than it was" "$bed/security"

# What systemd makes of it: specifiers, Environment, EnvironmentFile, LoadCredential.
machines a b
loopback_name a
loopback_name b
etc=$bed/etc
mkdir -p "$etc" "$bed/state/tenon-train"
on a tenon certificates --hosts a,b --out "$etc" --force >/dev/null || fail "no keys"
echo "TENON_TOKEN=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" >"$etc/token"
echo '{"ps": ["a:2222"], "worker": ["a:2223", "b:2223"]}' >"$etc/cluster.json"
value() { sed -n "s/^$1=//p" "$examples/$unit" | sed "s,%j,$job,g; s,%i,$task,g; s,%S,$bed/state,g; s,%d,$etc,g; s,/etc/tenon,$etc,g"; }
start() { # MACHINE JOB TASK
    local job=$2 task=$3
    # shellcheck disable=SC2046,SC2094 # words, as systemd splits them
    cd "$(value WorkingDirectory)" && exec on "$1" env -i PATH="$PATH" $(value Environment) $(cat "$(value EnvironmentFile)") \
        "$bed/bin/train" $(value ExecStart | cut -d' ' -f2-) "${@:4}"
}
start a ps 0 >"$bed/ps" 2>&1 &
ps=$!
start a worker 0 --pause 5 --steps 100000 >"$bed/worker_0" 2>&1 &
worker_0=$!
start b worker 1 --pause 5 --steps 100000 >"$bed/worker_1" 2>&1 &
worker_1=$!
begun worker_1 $worker_1 'begins at step'
begun worker_0 $worker_0 'begins at step'
signal=$(sed -n 's/^KillSignal=SIG//p' "$examples/$unit")
expected=$(sed -n 's/^SuccessExitStatus=//p' "$examples/$unit")
kill -s "$signal" $ps $worker_0 $worker_1
for pid in $worker_0 $worker_1 $ps; do
    wait $pid
    status=$?
    [ $status -eq "$expected" ] || fail "a task that was asked to stop ends with status $status" "$bed/ps"
done
ls "$bed/state/tenon-train"/train-*.json >/dev/null 2>&1 || fail "there is no checkpoint" "$bed/ps"
start a ps 0 >"$bed/ps" 2>&1 &
start b worker 1 >"$bed/worker_1" 2>&1 &
start a worker 0 >"$bed/worker_0" 2>&1 &
wait $! || fail "it does not start again" "$bed/worker_0"
trained worker_0 1 3.00
grep -qE 'begins at step [1-9]' "$bed/worker_0" || fail "it does not go on where it was" "$bed/worker_0"
finish "the unit of systemd"
