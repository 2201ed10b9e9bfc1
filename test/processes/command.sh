#!/usr/bin/env bash
# What the command `tenon` says to who gets something wrong: what it was, where, and what to do.
#
#   command.sh TENON
set -uo pipefail
tenon=$(realpath "$1")
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

# Commands and options that are none, and those that are missing.
says 2 'tenon: srve is none of its commands; did you mean serve?' srve
says 2 'tenon: it is given no command'
says 2 'tenon serve: --prot is no option of it; did you mean --port?' serve --prot 3
says 2 'tenon launch: --wroker is no option of it; did you mean --worker?' launch --wroker 1 -- true
says 2 'tenon status: target is required' status
says 2 'Write tenon status --help for what it takes.' status
says 2 'tenon status: more is not expected' status localhost:1 more
says 2 'tenon serve: --grace: ' serve --grace -1
says 2 'tenon stop: --grace: ' stop localhost:1 --grace -1
says 2 'tenon serve: --memory-limit: -5kb is negative' serve --memory-limit -5kb

# Addresses and targets.
says 1 "'foo' is no address, it has no port: write host:port" status foo
says 1 'its port is no number up to 65535' status localhost:99999
says 1 'connection refused; is the server running?' devices tenon://127.0.0.1:1

# Clusters: a file that is not there, JSON that is none, a job and a task that are none.
one='{"ps": ["localhost:1"], "worker": ["localhost:2"]}'
says 1 '--cluster="no.json": no such file can be read' serve --cluster no.json --job ps
echo '{"ps": ["a:22' >bad.json
says 1 'cluster JSON: it is no JSON at byte 14' serve --cluster bad.json --job ps
says 1 '--job="sp": the cluster has no such job; it has ps 0; worker 0' serve --cluster "$one" --job sp
says 1 '--task="3": job ps has no such task; it has 0' serve --cluster "$one" --job ps --task 3
says 1 'say which with --cluster, --job and --task' serve

# What a server may not be, or cannot have.
far='{"ps": ["0.0.0.0:1"]}'
says 1 'tenon serve --certificate, --key and --token' serve --cluster "$far" --job ps
says 2 '--certificate: File does not exist: no.pem' serve --cluster "$far" --job ps --certificate no.pem
touch empty.pem
says 1 "the certificate chain 'empty.pem' cannot be used" \
    serve --cluster "$far" --job ps --token x --certificate empty.pem --key empty.pem
says 1 'a certificate chain needs a private key' serve --cluster "$far" --job ps --token x --certificate empty.pem
says 1 "'no-folder': No such file or directory" serve --cluster "$one" --job ps --listen 127.0.0.1:0 --files no-folder

says 1 'server_options::http="everywhere": that is no place to serve HTTP at' \
    serve --cluster "$one" --job ps --listen 127.0.0.1:0 --http everywhere
says 1 'server_options::http="0.0.0.0:0": it may be reached from other machines, and nobody has to prove who it is' \
    serve --cluster "$one" --job ps --listen 127.0.0.1:0 --http 0.0.0.0:0
export TENON_HTTP=70000
says 1 'TENON_HTTP="70000": that is no place' serve --cluster "$one" --job ps --listen 127.0.0.1:0
unset TENON_HTTP

# A server that is there: its port, its token, and a task of its cluster that is not.
"$tenon" serve --cluster "$one" --job ps --task 0 --listen 127.0.0.1:0 --token secret 2>log &
server=$!
for _ in $(seq 200); do
    address=$(sed -n 's/.* serves on \([0-9.:]*\) .*/\1/p' log)
    [ -n "$address" ] && break
    sleep 0.05
done
says 1 "cannot listen on $address: address already in use; is another server using the port?" \
    serve --cluster "$one" --job ps --task 0 --listen "$address"
says 1 'refuses the connection: it asks for a token, and was offered none' status "$address"
says 1 'refuses the connection: the token is not the cluster' status "$address" --token wrong
export TENON_TOKEN=secret
says 1 '/job:worker/task:0 at localhost:2: does not answer: ' status "$address"
says 0 'device:CPU:0' status "$address" --alone
says 0 '{"format":"tenon status","version":1' status "$address" --alone --json
says 0 'device:CPU:0' devices "$address"
says 1 'the containers were reset but on tasks that did not answer:' reset "$address"
says 1 'stop: all tasks stop but those that did not answer:' stop "$address" --all
grep -qF '  /job:worker/task:0 (localhost:2) ' out || { echo "FAILED: the task that did not answer is not named"; failed=1; }
wait $server
status=$?
[ $status -eq 0 ] || { echo "FAILED: a server that was asked to stop ended with status $status"; failed=1; }

[ $failed -eq 0 ] && echo "tenon: says what was wrong, where and what to do"
exit $failed
