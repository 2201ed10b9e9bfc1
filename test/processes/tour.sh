#!/usr/bin/env bash
# The programs of examples/tour that need servers: they print what the comments above them say, and two of them are played by real
# processes.
#
#   tour.sh SOURCES TENON PROGRAM...
set -uo pipefail
sources=$(realpath "$1")
tenon=$(realpath "$2")
shift 2
declare -A program
for path in "$@"; do program[$(basename "$path")]=$(realpath "$path"); done
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
servers=()
trap 'kill -9 "${servers[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT

# The lines that the comment above a program says it prints.
said_by() { sed -n -e '/^\/\//!q' -e 's/^\/\/     //p' "$sources/$1.cpp" | grep -v "^$1 "; }
# Whether `out` has the lines of `said`, where "..." stands for any lines, or for the rest of one.
is_as_said() {
    awk 'NR == FNR { said[++wanted] = $0; next }
         { out[++lines] = $0 }
         function fits(line, s) {
             if (s ~ /\.\.\.$/) return index(line, substr(s, 1, length(s) - 3)) == 1
             return line == s
         }
         END {
             at = 1
             for (i = 1; i <= wanted; ++i) {
                 if (said[i] == "...") { any = 1; continue }
                 while (any && at <= lines && !fits(out[at], said[i])) ++at
                 if (at > lines || !fits(out[at], said[i])) { print "not the next line: " said[i]; exit 1 }
                 ++at
                 any = 0
             }
             if (!wanted || (!any && at <= lines)) { print "more lines than were said"; exit 1 }
         }' said out >>err
}
for name in 01_hello 09_tasks 11_shared_counter 12_fifo_queue 20_grid 21_ensemble 25_recovery; do
    timeout 60 "${program[$name]}" >out 2>err || fail "$name ended with status $?"
    said_by "$name" >said
    is_as_said || fail "$name does not print what is said above it"
done

# Two servers of one cluster, on ports that turn out to be free.
start_servers() {
    local at=$((20000 + RANDOM % 20000)) cluster task
    cluster="{\"server\": [\"127.0.0.1:$at\", \"127.0.0.1:$((at + 1))\"]}"
    targets=("tenon://127.0.0.1:$at" "tenon://127.0.0.1:$((at + 1))")
    servers=()
    mkdir -p files
    for task in 0 1; do
        "$tenon" serve --cluster "$cluster" --job server --task $task --files files >"server.$task" 2>&1 &
        servers+=($!)
    done
    for task in 0 1; do
        "$tenon" status --timeout 20 "${targets[$task]}" >status 2>&1 || { kill "${servers[@]}"; return 1; }
    done
}
for _ in 1 2 3 4 5; do start_servers && break; done
client() { timeout 60 "${program[11_shared_counter]}" "$@" >out 2>err; }

# SEMANTICS 25: the second program, on the other server, goes on with what the first left.
client "${targets[0]}" init || fail "the first client ended with status $?"
[ "$(cat out)" = "counter: 1" ] || fail "the first client has not counted to 1"
client "${targets[1]}" || fail "the second client ended with status $?"
[ "$(cat out)" = "counter: 2" ] || fail "the second client has not counted to 2"

# A client that trains is killed: nothing that it was told is lost, and another one saves what there is.
"${program[11_shared_counter]}" "${targets[0]}" train >trained 2>err &
trains=$!
while ! grep -qs '^step 100:' trained && kill -0 $trains 2>/dev/null; do sleep 0.05; done
kill -9 $trains
wait $trains 2>/dev/null
told=$(grep -c '^step [0-9]*: [0-9]*$' trained)
client "${targets[1]}" save sums || fail "saving ended with status $?"
steps=$(sed -n 's/^saved: [0-9]* after \([0-9]*\) steps$/\1/p' out)
sum=$(sed -n 's/^saved: \([0-9]*\) after .*/\1/p' out)
[ "${steps:-0}" -ge "$told" ] && [ "${steps:-0}" -le $((told + 1)) ] || fail "the client was told of $told steps; there are ${steps:-none}"
# The step that was under way when it was killed may have counted without having added up.
[ "${sum:-0}" -eq $((steps * (steps + 1) / 2)) ] || [ "${sum:-0}" -eq $((told * (told + 1) / 2)) ] ||
    fail "$steps steps do not add up to ${sum:-nothing}"
ls files/sums-"$steps"*.json >/dev/null 2>&1 || fail "there is no checkpoint below the servers' folder"

# TOUR 12: one process puts what another takes.
timeout 60 "${program[12_fifo_queue]}" "${targets[0]}" produce >put 2>err || fail "the producer ended with status $?"
timeout 60 "${program[12_fifo_queue]}" "${targets[0]}" consume >out 2>err || fail "the consumer ended with status $?"
said_by 12_fifo_queue | grep -v '^enqueue, closed' >said
is_as_said || fail "two processes do not share the queues"
grep -q '^enqueue, closed: queue "tuples" is closed' put || fail "a closed queue takes elements"

# TOUR 22 (examples/training_at_scale.cpp), on data that are soon read: what a table has.
idx() { # NAME, BYTES OF ITS SIZES, RANK, BYTES
    { printf "\\x00\\x00\\x08\\x0$3$2"; head -c "$4" /dev/urandom | tr '\000-\377' '\000-\011\000-\011\000-\011\000-\011'; } >"data/$1"
}
mkdir data
for part in train t10k; do # 1,000 images each
    idx $part-images-idx3-ubyte '\x00\x00\x03\xe8\x00\x00\x00\x1c\x00\x00\x00\x1c' 3 784000
    idx $part-labels-idx1-ubyte '\x00\x00\x03\xe8' 1 1000
done
timeout 150 "${program[training_at_scale]}" --data data --epochs 2 >out 2>err || fail "training_at_scale ended with status $?"
number='[0-9]+(\.[0-9]+)?'
for row in "alone" "in-graph, asynchronous" "in-graph, synchronous" "between-graph, asynchronous" "between-graph, synchronous" \
    "synchronous, slow one, backup" "all-reduce" "split by columns and rows" "pipeline, 4 micro-batches" "convolutional, alone" \
    "convolutional, split by layers" "convolutional, by channels"; do
    grep -qE "^$row +$number % +$number +$number +$number +$number +$number( |$)" out || fail "training_at_scale has no row \"$row\""
done
grep -qE '^alone .* 0\.00 +0 ' out || fail "a network that is alone has stale variables, or moves bytes"
# 10 steps an epoch, each of which reads and updates 266,610 parameters; synchronous, by both workers.
grep -qE '^between-graph, asynchronous.* 2[12] +[0-9.]+$' out || fail "a worker does not read and update each parameter once a step"
grep -qE '^between-graph, synchronous.* 4[23] +[0-9.]+$' out || fail "synchronous workers do not read and give each parameter once a step"

[ $failed -eq 0 ] && echo "passed"
exit $failed
