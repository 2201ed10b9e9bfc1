#!/usr/bin/env bash
# A user's program (join.cpp) as launchers start it: it joins, trains one model, ends, and is told of who fails.
#
#   join.sh JOIN TENON
#
# Launchers that are not installed are played by their variables; what real ones do is test/engines.
set -uo pipefail
join=$(realpath "$1") tenon=$(realpath "$2")
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $1"
    [ $failed -eq 1 ] || tail -n 40 out.* err.* 2>/dev/null | sed 's/^/    /'
    failed=1
}
fresh() {
    rm -f -- *.ready out.* err.*
    pids=()
}
# torchrun RUN RANK SIZE ARGUMENT...   one process as torchrun starts it, into pids[RANK]
torchrun() {
    local run=$1 rank=$2 size=$3
    shift 3
    RANK=$rank WORLD_SIZE=$size LOCAL_RANK=$rank LOCAL_WORLD_SIZE=$size MASTER_ADDR=localhost MASTER_PORT=29500 \
        TORCHELASTIC_RUN_ID=$run "$join" "$@" >"out.$run.$rank" 2>"err.$run.$rank" &
    pids[rank]=$!
}
# ends STATUS RANK...   these end with this status
ends() {
    local wanted=$1 rank status
    shift
    for rank in "$@"; do
        wait "${pids[rank]}"
        status=$?
        [ $status -eq "$wanted" ] || fail "rank $rank ended with status $status, not $wanted"
    done
}
run=$$

# Alone.
fresh
"$join" 7 >out.0 2>err.0 || fail "alone it failed"
grep -qE '^/job:worker/task:0 0/1 counted 7 of 7 in ' out.0 || fail "alone it did not count"

# Three workers and a parameter server count together, and all end.
fresh
export TENON_PS_TASKS=1
for rank in 3 1 0 2; do torchrun a$run $rank 4 20; done
ends 0 0 1 2 3
[ "$(cat out.* | cut -d' ' -f1,2 | sort | tr '\n' ' ')" = "/job:worker/task:0 0/3 /job:worker/task:1 1/3 /job:worker/task:2 2/3 " ] ||
    fail "not all took part"
[ "$(cat out.* | sed 's/.* in //' | sort -u | wc -l)" -eq 1 ] || fail "they are not of one run"
[ "$(cat out.* | sed 's/.* counted \([0-9]*\) .*/\1/' | sort -n | tail -1)" -eq 60 ] || fail "they did not count together"
grep -q "is reached at 127.0.0.1:[0-9]* from this machine alone, by who has the run's token" err.a$run.0 || fail "nobody says who reaches it"

# Two runs at once, of the same launcher, user and host: neither hears of the other. Without parameter servers.
fresh
unset TENON_PS_TASKS
for rank in 0 1; do
    torchrun b$run $rank 2 30
    torchrun c$run $rank 2 40
done
wait
for one in b:60 c:80; do
    [ "$(cat out.${one%:*}* | sed 's/.* counted \([0-9]*\) .*/\1/' | sort -n | tail -1)" = "${one#*:}" ] || fail "run ${one%:*} counted wrong"
done

# The status of the first that failed, by exit() in the middle of everything, is the parameter server's.
fresh
export TENON_PS_TASKS=1 TENON_GRACE=1
for rank in 0 1 2; do torchrun d$run $rank 3 20 1 7; done
ends 7 2 0
ends 0 1
grep -q '/job:worker/task:1 has ended with status 7' err.d$run.0 || fail "nobody says who failed"

# Who is killed is missed.
fresh
for rank in 0 1 2; do torchrun e$run $rank 3 0; done
until_true test -f 1.ready
kill -KILL "${pids[2]}"
until_true grep -q '/job:worker/task:1 is lost' err.e$run.0
kill -TERM "${pids[1]}"
ends 143 1
ends 137 0

unset TENON_GRACE

# All are asked to stop: the chief saves, and the next start goes on.
fresh
export CHECKPOINT=model
for rank in 0 1 2; do torchrun f$run $rank 3 0; done
for rank in 0 1; do until_true test -f $rank.ready; done
kill -TERM "${pids[@]}"
ends 143 0 1 2
[ -f model.checkpoints.json ] || fail "nothing was saved"
before=$(cat out.* | sed 's/.* counted \([0-9]*\) .*/\1/' | sort -n | tail -1)
fresh
for rank in 0 1 2; do torchrun g$run $rank 3 5; done
ends 0 0 1 2
grep -q 'session: restored model' err.* || fail "nothing was restored"
after=$(cat out.* | sed 's/.* counted \([0-9]*\) .*/\1/' | sort -n | tail -1)
[ "${after:-0}" -gt "${before:-0}" ] || fail "it did not go on from $before, but ended at $after"
unset CHECKPOINT

# Also where the step that is under way would wait for ever.
fresh
export CHECKPOINT=waits
for rank in 0 1; do torchrun w$run $rank 2 -1; done
until_true test -f 0.ready
kill -TERM "${pids[1]}"
ends 143 1
ends 143 0
grep -q 'session: saved waits-' err.w$run.1 || fail "who waited for ever did not save"
unset CHECKPOINT

# Who never comes is named, in the time that is given; nobody is left.
fresh
export TENON_JOIN_TIMEOUT=2
torchrun h$run 0 3 5
torchrun h$run 1 3 5
ends 3 0 1
grep -q 'these did not come to rank 0 at 127.0.0.1:[0-9]* within 2000 ms: 2' err.h$run.1 || fail "who did not come is not named"
unset TENON_JOIN_TIMEOUT

# A chief that never comes, where addresses are known, is named by who waits for it.
fresh
base=$((20000 + RANDOM % 9000))
as() { # JOB TASK, into pids[TASK]
    TF_CONFIG="{\"cluster\": {\"ps\": [\"127.0.0.1:$base\"], \"worker\": [\"127.0.0.1:$((base + 1))\", \"127.0.0.1:$((base + 2))\"]}, \"task\": {\"type\": \"$1\", \"index\": $2}}" \
        TENON_JOIN_TIMEOUT=3 TENON_GRACE=1 "$join" 5 >"out.$1$2" 2>"err.$1$2" &
    pids[$2]=$!
}
as ps 0
as worker 1
ends 3 1
wait "${pids[0]}" && fail "the parameter server has not failed"
grep -q 'the chief, /job:worker/task:0, has not come within 3 s to give values to .*TENON_JOIN_TIMEOUT' err.worker1 || fail "the chief is not named"

# Rank 0 is killed, and comes again to where the others know it.
fresh
unset TENON_PS_TASKS
export TENON_TASKS=ps=1,worker=2 TENON_RENDEZVOUS=127.0.0.1:$((base + 3)) TENON_TOKEN=word$run CHECKPOINT=again
ranked() { # RANK NAME
    TENON_RANK=$1 "$join" 0 >"out.$1.$2" 2>"err.$1.$2" &
    pids[$1]=$!
}
for rank in 0 1 2; do ranked $rank first; done
for rank in 0 1; do until_true test -f $rank.ready; done
kill -KILL "${pids[0]}"
wait "${pids[0]}"
ranked 0 second
until_true grep -q 'session: restored again' err.1.first
grep -q 'this process is /job:ps/task:0 at' err.0.second || fail "rank 0 is not who it was"
kill -TERM "${pids[1]}" "${pids[2]}"
ends 143 0 1 2
unset TENON_TASKS TENON_RENDEZVOUS TENON_TOKEN CHECKPOINT
export TENON_PS_TASKS=1

# Others are spoken of, and not who this process is.
TENON_RENDEZVOUS=127.0.0.1:$base "$join" 2>err.0 && fail "a rendezvous without a rank is passed over"
grep -q 'TENON_RENDEZVOUS="127.0.0.1:[0-9]*": nothing says which rank this process has' err.0 || fail "TENON_RENDEZVOUS is not named"
TENON_TASKS=3 "$join" 2>err.0 && fail "three tasks without a rank are passed over"
grep -q 'TENON_TASKS="3": nothing says which of them this process is' err.0 || fail "TENON_TASKS is not named"

# A second run of the same name, while the first is under way, does not begin.
fresh
for rank in 0 1; do torchrun n$run $rank 2 0; done
until_true test -f 0.ready
RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=29500 TORCHELASTIC_RUN_ID=n$run "$join" 5 2>err.0 &&
    fail "two runs of one name mix"
grep -q "another run of the name \"torchrun n$run\" is under way: its rank 0 serves at 127.0.0.1:" err.0 || fail "the other run is not named"
kill -TERM "${pids[@]}"
ends 143 0 1

# Variables that are wrong.
fresh
TENON_JOIN_TIMEOUT=soon "$join" 2>err.0 && fail "TENON_JOIN_TIMEOUT=soon is taken"
grep -q 'TENON_JOIN_TIMEOUT="soon": a number of seconds is a decimal number' err.0 || fail "TENON_JOIN_TIMEOUT is not named"
TENON_INSECURE=maybe "$join" 2>err.0 && fail "TENON_INSECURE=maybe is taken"
grep -q 'TENON_INSECURE="maybe": it is neither 1 nor 0' err.0 || fail "TENON_INSECURE is not named"
TENON_KEY=key.pem "$join" 2>err.0 && fail "a key without a certificate is taken"
grep -q 'TENON_KEY="key.pem": there is no certificate' err.0 || fail "TENON_KEY is not named"
RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=29500 "$join" 2>err.0 &&
    fail "several hosts are joined in plain"
grep -q 'this run is of several hosts, and connections between them are not encrypted; set TENON_CERTIFICATE' err.0 || fail "nobody says what is missing"

# Workers of a cluster that is given come and go, while its parameter server stays until it is asked to stop.
fresh
mapfile -t ports < <(shuf -i 25000-29999 -n 4)
cluster="{\"ps\": [\"127.0.0.1:${ports[0]}\"], \"worker\": [\"127.0.0.1:${ports[1]}\", \"127.0.0.1:${ports[2]}\", \"127.0.0.1:${ports[3]}\"]}"
task() { # JOB TASK ARGUMENT...   into pids[0] for the parameter server, else pids[TASK + 1]
    local job=$1 task=$2
    shift 2
    TENON_CLUSTER=$cluster TENON_JOB=$job TENON_TASK=$task TENON_TOKEN=secret "$join" "$@" >"out.$job.$task" 2>"err.$job.$task" &
    pids[task + (${#job} - 2 > 0)]=$!
}
TENON_STAY=1 task ps 0
task worker 0 20
ends 0 1
task worker 2 30
task worker 1 10
ends 0 2 3
TENON_TOKEN=secret "$tenon" stop "127.0.0.1:${ports[0]}" || fail "the parameter server does not stop when it is asked to"
ends 0 0
[ "$(cat out.worker.* | sed 's/.* counted \([0-9]*\) .*/\1/' | sort -n | tail -1)" = 60 ] || fail "who came later did not go on with what there was"

# In a cluster that is given, with the command's parameter server, which stays.
fresh
unset TENON_PS_TASKS
export TENON_TOKEN=secret
"$tenon" launch --ps 2 --worker 2 -- "$join" 25 >out.0 2>err.0 || fail "tenon launch failed"
[ "$(grep -o 'counted [0-9]*' out.0 | cut -d' ' -f2 | sort -n | tail -1)" = 50 ] || fail "tenon launch: they did not count together"

[ $failed -eq 0 ] && echo "join: all as it should be"
exit $failed
