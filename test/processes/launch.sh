#!/usr/bin/env bash
# tenon launch with small programs as tasks.
#
#   launch.sh TENON
set -uo pipefail
tenon=$(realpath "$1")
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
# run STATUS ARGUMENT...   runs tenon launch, its output into the files out and err, and compares its status
run() {
    local wanted=$1 status
    shift
    timeout 60 "$tenon" launch "$@" >out 2>err
    status=$?
    [ $status -eq "$wanted" ] || fail "tenon launch $* ended with status $status, not $wanted"
}

cat >serve <<'END'
#!/bin/sh
trap 'echo stopping; exit 0' TERM
echo "serving $TENON_JOB $TENON_TASK gpus=[$CUDA_VISIBLE_DEVICES]"
echo $$ >ps.$TENON_TASK
while :; do sleep 0.05; done
END
chmod +x serve

# Each task finds itself; parameter servers are stopped when the workers have ended.
run 0 --ps 1 --worker 2 --gpus 0,1,2 --port-base 4000 --ps-command ./serve -- sh -c \
    'until [ -f ps.0 ]; do sleep 0.05; done; echo "$TENON_CLUSTER $TENON_JOB $TENON_TASK [$CUDA_VISIBLE_DEVICES] $*"; echo problem >&2' sh --flag 'two words'
cluster='{"ps": ["127.0.0.1:4000"], "worker": ["127.0.0.1:4001", "127.0.0.1:4002"]}'
has out "ps 0     | serving ps 0 gpus=[]"
has out "worker 0 | $cluster worker 0 [0,1] --flag two words"
has out "worker 1 | $cluster worker 1 [2] --flag two words"
has out "ps 0     | stopping"
has err "worker 0 | problem"
has err "worker 1 | problem"
[ "$(grep -c "^worker" err)" -eq 2 ] || fail "more is said than was written"

# Lines of several tasks are not mixed, whole or in pieces, and the last one may have no end.
run 0 --worker 8 -- sh -c 'i=0; while [ $i -lt 200 ]; do printf "%s" "$TENON_TASK begins "; echo "and $TENON_TASK ends $i"; i=$((i+1)); done; printf "no end"'
[ "$(grep -cxE 'worker ([0-7]) \| \1 begins and \1 ends [0-9]+' out)" -eq 1600 ] || fail "lines are mixed"
[ "$(grep -cxE 'worker [0-7] \| no end' out)" -eq 8 ] || fail "the last lines are missing"

# A line longer than any pipe.
run 0 --worker 2 -- sh -c 'head -c 300000 /dev/zero | tr "\0" "$TENON_TASK"; echo'
[ "$(awk '{ print length($0) }' out | sort -u)" = 300011 ] || fail "long lines are cut or mixed"

# The first that fails is named, and its status is the command's; the others go on.
run 7 --ps 1 --worker 3 --ps-command ./serve -- sh -c \
    'case $TENON_TASK in 1) touch first; exit 7;; 2) until [ -f first ]; do sleep 0.05; done; sleep 0.2; exit 3;; esac; until [ -f first ]; do sleep 0.05; done; sleep 0.5; echo went on'
has err "tenon launch: worker 1 ended with status 7"
has err "tenon launch: worker 2 ended with status 3"
has out "worker 0 | went on"
run 137 --worker 1 -- sh -c 'kill -KILL $$'
has err "tenon launch: worker 0 was killed by signal 9 (Killed)"

# What cannot be started, and what makes no sense.
run 1 --worker 2 -- ./no-such-program
has err 'tenon: "./no-such-program" cannot be started: No such file or directory'
run 1 --worker 2
grep -q 'what workers run is missing' err || fail "a missing program is not told of"
run 2 --worker x -- true
run 2 --no-such-option -- true
run 1 --worker 2 --port-base 65535 -- true
grep -q 'the highest is 65535' err || fail "ports that are none are not told of"
"$tenon" launch --help | grep -q -- '--ps-restarts' || fail "no help"
"$tenon" --version | grep -qx 'tenon [0-9.]*' || fail "no version"

# A parameter server that ended is started again, as often as asked for.
rm -f ps.*
cat >falls <<'END'
#!/bin/sh
echo x >>falls.count
[ "$(wc -l <falls.count)" -lt 3 ] && exit 5
touch stands
exec ./serve
END
chmod +x falls
run 0 --ps 1 --worker 1 --ps-restarts 2 --ps-command ./falls -- sh -c 'until [ -f stands ]; do sleep 0.05; done'
has err "tenon launch: ps 0 ended with status 5 and is started again"
[ "$(wc -l <falls.count)" -eq 3 ] || fail "started $(wc -l <falls.count) times, not 3"

# So is a worker that failed; one that ended well is not, nor one that ended because it was asked to.
rm -f tries.*
run 0 --worker 2 --worker-restarts 2 -- sh -c 'echo x >>tries.$TENON_TASK; [ "$(wc -l <tries.$TENON_TASK)" -gt $((2 * TENON_TASK)) ]'
has err "tenon launch: worker 1 ended with status 1 and is started again"
[ "$(cat tries.0 tries.1 | wc -l)" -eq 4 ] || fail "started $(cat tries.0 tries.1 | wc -l) times, not 1 and 3"
run 3 --worker 1 --worker-restarts 1 -- sh -c 'echo x >>tries.3; exit 3'
has err "tenon launch: worker 0 ended with status 3"
[ "$(wc -l <tries.3)" -eq 2 ] || fail "started $(wc -l <tries.3) times, not 2"

# A run has a name and a token, which are written down for this user: tenon status needs not be told. Who has another folder is refused.
mkdir -m 700 user
export TENON=$tenon XDG_RUNTIME_DIR=$work/user
run 0 --ps 1 --worker 1 -- sh -c 'address=$(echo "$TENON_CLUSTER" | grep -o "127.0.0.1:[0-9]*" | head -1)
    echo "$TENON_RUN $TENON_TOKEN" | sed "s/[0-9a-f]/./g"
    ls -l "$XDG_RUNTIME_DIR/tenon/$TENON_RUN.json" | cut -c1-10
    unset TENON_TOKEN
    until "$TENON" status "$address" --alone; do sleep 0.05; done
    "$TENON" status "tenon://localhost:${address#*:}" --alone >/dev/null && echo by its other name
    XDG_RUNTIME_DIR=/ "$TENON" status "$address" --alone; true'
has out "worker 0 | ................ ................................................................"
has out "worker 0 | -rw-------"
has out "worker 0 | by its other name"
grep -q '^worker 0 | .* it asks for a token, and was offered none' err || fail "a token is not asked for"
[ -z "$(ls user/tenon)" ] || fail "what was written down of the run is still there"
TENON_TOKEN=mine run 0 --worker 1 -- sh -c 'echo "$TENON_TOKEN"'
has out "worker 0 | mine"
chmod 755 user/tenon
run 0 --worker 1 -- true
grep -q "user/tenon' is no folder of this user alone" err || fail "a folder that others can enter is not told of"
unset XDG_RUNTIME_DIR

# What a worker leaves behind is gone with it.
run 0 --worker 1 -- sh -c 'sleep 1000 & echo $! >left'
until_true gone "$(cat left)"

# Ctrl-C is passed on to the workers, which may end well; then parameter servers are stopped. No process is left.
cat >work <<'END'
#!/bin/sh
trap 'echo saved; exit 0' INT TERM
sleep 1000 & echo $! >sleep.$TENON_TASK
echo $$ >pid.$TENON_TASK
wait
END
chmod +x work
interrupted() { # SIGNAL STATUS ARGUMENT...
    local signal=$1 wanted=$2 status
    shift 2
    rm -f pid.* ps.* sleep.*
    # set -m: in a group of its own, with SIGINT not ignored, as from a terminal
    set -m
    "$tenon" launch "$@" >out 2>err &
    local launcher=$!
    set +m
    until_true test -s pid.0
    until_true test -s pid.1
    until_true test -s ps.0
    kill "-$signal" $launcher
    if [ -n "${again:-}" ]; then
        until_true grep -q 'is passed on' err
        kill "-$signal" $launcher
    fi
    wait $launcher
    status=$?
    [ $status -eq "$wanted" ] || fail "after $signal: status $status, not $wanted"
    for file in pid.0 pid.1 ps.0 sleep.0 sleep.1; do until_true gone "$(cat $file)"; done
}
interrupted INT 130 --ps 1 --worker 2 --ps-command ./serve -- ./work
has out "worker 0 | saved"
has out "worker 1 | saved"
has out "ps 0     | stopping"
has err "tenon launch: Interrupt is passed on; once more kills"
interrupted TERM 143 --ps 1 --worker 2 --ps-command ./serve -- ./work
has out "worker 1 | saved"

# Who does not end is killed: by a second Ctrl-C, or after the grace.
cat >deaf <<'END'
#!/bin/sh
trap '' INT TERM
sleep 1000 & echo $! >sleep.$TENON_TASK
echo $$ >pid.$TENON_TASK
while :; do wait; done
END
chmod +x deaf
again=yes interrupted INT 130 --ps 1 --worker 2 --ps-command ./serve -- ./deaf
has err "tenon launch: worker 0 was killed by the second signal"
interrupted TERM 143 --ps 1 --worker 2 --grace 0.3 --ps-command ./serve -- ./deaf
has err "tenon launch: worker 1 did not end in time and was killed"

# Killed itself, it takes the tasks with it.
rm -f pid.* ps.* sleep.*
set -m
"$tenon" launch --ps 1 --worker 2 --ps-command ./serve -- ./work >out 2>err &
launcher=$!
set +m
until_true test -s pid.0
until_true test -s pid.1
until_true test -s ps.0
kill -KILL $launcher
wait $launcher 2>/dev/null
for file in pid.0 pid.1 ps.0 sleep.0 sleep.1; do until_true gone "$(cat $file)"; done

[ $failed -eq 0 ] && echo "tenon launch: all as it should be"
exit $failed
