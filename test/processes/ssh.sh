#!/usr/bin/env bash
# tenon launch --hosts: tasks on "other hosts", which are this one.
#
#   ssh.sh TENON fake|sshd    by a script that does what ssh does, or by a server of ssh that this test starts
set -uo pipefail
tenon=$(realpath "$1")
kind=$2
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
server=
finish() {
    [ -n "$server" ] && kill "$server" 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT

# run STATUS ARGUMENT...   runs tenon launch on these hosts, its output into the files out and err, and compares its status
run() {
    local wanted=$1 status
    shift
    timeout 60 "$tenon" launch --hosts "$hosts" --ssh "$ssh" "$@" >out 2>err
    status=$?
    [ $status -eq "$wanted" ] || fail "tenon launch $* ended with status $status, not $wanted"
}

command -v pgrep >/dev/null || skip "there is no pgrep: Debian's package is procps"
command -v setsid >/dev/null || skip "there is no setsid: Debian's package is util-linux"
case $kind in
fake)
    # The command gets a session of its own. When this is killed it goes on, but its input ends.
    client=fake_ssh
    cat >$client <<'END'
#!/bin/sh
if [ "$1" = down ]; then
    echo "cannot connect to $1" >&2
    exit 255
fi
input=${0%/*}/input.$$
exec 3<&0
mkfifo "$input"
cat <&3 >"$input" &
cd && env -i HOME="$HOME" PATH="$PATH" setsid sh -c "$2" <"$input" 3<&-
status=$?
kill $!
exit $status
END
    chmod +x $client
    ssh="'$work/$client'"
    ;;
sshd)
    PATH=$PATH:/usr/sbin
    for program in sshd ssh ssh-keygen; do
        command -v $program >/dev/null || skip "there is no $program: Debian's packages are openssh-server and openssh-client"
    done
    [ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd || skip "/run/sshd cannot be made, which sshd wants of root"
    ssh-keygen -q -t ed25519 -N '' -f host_key && ssh-keygen -q -t ed25519 -N '' -f user_key ||
        skip "ssh-keygen makes no keys"
    mkdir home # this user's may hold files that make a login slow
    client=ssh
    ssh="ssh -F '$work/config'"
    for _ in $(seq 20); do
        port=$((20000 + RANDOM % 10000))
        cat >sshd_config <<END
Port $port
ListenAddress 127.0.0.1
HostKey $work/host_key
AuthorizedKeysFile $work/user_key.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
SetEnv HOME=$work/home
END
        cat >config <<END
Host down
    Port 1
Host *
    HostName 127.0.0.1
    Port $port
    IdentityFile $work/user_key
    IdentitiesOnly yes
    StrictHostKeyChecking no
    UserKnownHostsFile $work/known_hosts
    BatchMode yes
    LogLevel ERROR
END
        "$(command -v sshd)" -D -e -f sshd_config 2>sshd.log &
        server=$!
        until_true grep -q '.' sshd.log
        grep -q 'Server listening' sshd.log && break
        wait $server
        server=
    done
    [ -n "$server" ] || skip "sshd does not start: $(tail -1 sshd.log)"
    ssh -F config localhost true 2>ssh.log || skip "sshd lets nobody in: $(tail -1 ssh.log) $(tail -1 sshd.log)"
    ;;
esac
hosts=localhost,ssh_name=127.0.0.1

# Each task finds its place. Words arrive as they are. The folder is this one, or the one that is asked for, or the user's own.
mkdir 'other folder'
export HANDED_ON="it's
two lines"
run 0 --worker 3 --env HANDED_ON -- sh -c \
    'echo "$TENON_RANK of $TENON_TASKS on $TENON_HOST in $PWD [${CUDA_VISIBLE_DEVICES-unset}] $*"; echo "$HANDED_ON"; echo problem >&2' sh --flag 'two  words' '$HOME'
has out "worker 0 | 0 of worker=3 on localhost in $work [unset] --flag two  words \$HOME"
has out "worker 1 | 1 of worker=3 on 127.0.0.1 in $work [unset] --flag two  words \$HOME"
has out "worker 2 | 2 of worker=3 on localhost in $work [unset] --flag two  words \$HOME"
has out "worker 1 | two lines"
has err "worker 1 | problem"
[ "$(grep -c problem err)" -eq 3 ] || fail "what was written is shown more than once" # a login shell may say things of its own
run 0 --worker 1 --workdir "$work/other folder" --gpus 0,1 -- sh -c 'echo "$PWD $CUDA_VISIBLE_DEVICES"'
has out "worker 0 | $work/other folder 0,1"
printf '#!/bin/sh\nrmdir "%s"\nexec %s "$@"\n' "$work/vanishes" "$ssh" >elsewhere
chmod +x elsewhere
mkdir vanishes
(cd vanishes && exec "$tenon" launch --hosts localhost --ssh "$work/elsewhere" -- pwd >../out 2>../err) ||
    fail "a task in its user's own folder ended with status $?"
has err "worker 0 | tenon: there is no folder $work/vanishes on this host; the task runs in $(cut -d" " -f4 out)"
run 1 --worker 1 --workdir "$work/no folder" -- true
has err "worker 0 | tenon: --workdir $work/no folder: there is no such folder on this host"

# The first that fails gives the status, as on one machine; what cannot be started is told, and a host that cannot be reached.
run 7 --worker 3 -- sh -c 'case $TENON_RANK in 1) touch first; exit 7;; esac; until [ -f first ]; do sleep 0.05; done; echo went on'
has err "tenon launch: worker 1 ended with status 7"
has out "worker 0 | went on"
has out "worker 2 | went on"
run 137 --worker 1 -- sh -c 'kill -KILL $$'
has err "tenon launch: worker 0 ended with status 137"
run 127 --worker 1 -- ./no-such-program
grep -q '^worker 0 | worker 0: .*no-such-program.*not found' err || fail "a missing program is not told of"
run 255 --worker 2 --worker-hosts localhost,down -- true
has err "tenon launch: worker 1 ended with status 255 before it began: ssh does not reach down"
run 255 --worker 1 -- sh -c 'exit 255'
has err "tenon launch: worker 0 ended with status 255, which is ssh's own where it loses the connection"
# Many of one host come in one after the other, each with its own lines.
run 0 --worker 16 --worker-hosts localhost -- sh -c 'echo "$TENON_RANK is here"; echo "and says so" >&2'
[ "$(grep -cE '^worker ([0-9]+) +\| \1 is here$' out)" -eq 16 ] || fail "not all have come"
[ "$(grep -c 'and says so' err)" -eq 16 ] && ! grep -q begins err || fail "more or less is shown than was written"
ssh=./no-such-ssh run 127 --worker 1 -- true
hosts=a,-oProxyCommand=x run 1 --worker 1 -- true
grep -q '"-oProxyCommand=x" is no host' err || fail "a host that is an option is not told of"

# A worker that failed is started again, with all that it was given.
run 0 --worker 1 --worker-restarts 2 -- sh -c 'echo x >>tries; [ "$(wc -l <tries)" -eq 3 ] && [ -s "$TENON_KEY" ]'
has err "tenon launch: worker 0 ended with status 1 and is started again"
[ "$(wc -l <tries)" -eq 3 ] || fail "started $(wc -l <tries) times, not 3"

# What a worker leaves behind is gone with it, and so are its certificates, which nobody else could read.
run 0 --worker 1 -- sh -c 'sleep 1000 & echo $! >left; ls -ld "${TENON_KEY%/*}" "$TENON_KEY" | cut -c1-10; echo "${TENON_KEY%/*}" >folder'
until_true gone "$(cat left)"
has out "worker 0 | drwx------"
has out "worker 0 | -rw-------"
[ ! -e "$(cat folder)" ] || fail "the certificates are still there"

# Secrets are on no command line, here or there; the program's variables have them.
cat >look <<'END'
#!/bin/sh
printf '%s\n' "$TENON_TOKEN" >secrets
sed -n 2p "$TENON_KEY" >>secrets
[ "$(wc -c <secrets)" -gt 100 ] || echo "there are no secrets"
for process in /proc/[0-9]*; do
    tr '\0' ' ' <"$process/cmdline" 2>/dev/null | grep -F -f secrets && echo "seen in $process"
done
echo looked
END
chmod +x look
run 0 --worker 1 -- ./look
has out "worker 0 | looked"
! grep -qE 'seen in|there are no secrets' out || fail "a secret is on a command line"

# Ctrl-C is passed on to the workers, which may end well; then parameter servers are stopped. No process is left.
cat >serve <<'END'
#!/bin/sh
trap 'echo stopping; exit 0' TERM
echo $$ >ps.$TENON_RANK
while :; do sleep 0.05; done
END
cat >work <<'END'
#!/bin/sh
trap 'echo saved; exit 0' INT TERM
sleep 1000 & echo $! >sleep.$TENON_RANK
echo $$ >pid.$TENON_RANK
wait
END
cat >deaf <<'END'
#!/bin/sh
trap '' INT TERM
sleep 1000 & echo $! >sleep.$TENON_RANK
echo $$ >pid.$TENON_RANK
while :; do wait; done
END
chmod +x serve work deaf
processes="ps.0 pid.1 pid.2 sleep.1 sleep.2"
start() { # ARGUMENT...   one parameter server, ranks 1 and 2 are workers
    rm -f ps.* pid.* sleep.*
    set -m # in a group of its own, with SIGINT not ignored, as from a terminal
    "$tenon" launch --hosts "$hosts" --ssh "$ssh" --ps 1 --worker 2 --ps-command ./serve "$@" >out 2>err &
    launcher=$!
    set +m
    for file in $processes; do until_true test -s $file; done
}
none_is_left() { for file in $processes; do until_true gone "$(cat $file)"; done; }
ends_with() { # STATUS
    wait $launcher
    local status=$?
    [ $status -eq "$1" ] || fail "status $status, not $1"
    none_is_left
}
start -- ./work
kill -INT $launcher
ends_with 130
has out "worker 0 | saved"
has out "worker 1 | saved"
has out "ps 0     | stopping"
start -- ./deaf
kill -INT $launcher
until_true grep -q 'is passed on' err
kill -INT $launcher
ends_with 130
has err "tenon launch: worker 0 was killed by the second signal"
start --grace 0.3 -- ./deaf
kill -TERM $launcher
ends_with 143
has err "tenon launch: worker 1 did not end in time and was killed"

# When the launcher is killed, or ssh, what it had started ends, also what does not want to.
start --grace 1 -- ./deaf
kill -KILL $launcher
wait $launcher 2>/dev/null
none_is_left
start --grace 1 -- ./deaf
# The client of the last worker, which was started last.
kill -KILL "$(pgrep -P $launcher -x $client | sort -n | tail -1)"
until_true gone "$(cat pid.2)"
until_true gone "$(cat sleep.2)"
until_true grep -qxF 'tenon launch: worker 1 was killed by signal 9 (Killed)' err
kill -0 "$(cat pid.1)" || fail "the other worker is gone too"
kill -KILL $launcher
wait $launcher 2>/dev/null
none_is_left

# Tasks that serve find each other, with TLS and a token of this run.
cat >member <<'END'
#!/bin/sh
"$TENON" serve >serve.log 2>&1 &
until address=$(sed -n 's/.* serves on \([^ ]*\) .*/\1/p' serve.log) && [ -n "$address" ]; do
    kill -0 $! || { cat serve.log; exit 1; }
    sleep 0.05
done
"$TENON" status "$address" --timeout 20 || exit 1
"$TENON" status "$address" --token wrong 2>&1 | grep -o 'the token is not the cluster'\''s'
env -u TENON_CERTIFICATE -u TENON_KEY -u TENON_AUTHORITIES "$TENON" status "$address" --timeout 2 2>&1 | grep -o 'does it want TLS'
kill $!
wait $!
END
chmod +x member
export TENON=$tenon
run 0 --ps 1 --worker 1 --env TENON -- ./member
grep -qE '^worker 0 \| /job:ps/task:0 at (localhost|127.0.0.1):[0-9]+, tenon ' out || fail "the parameter server does not answer"
grep -qE '^worker 0 \| /job:worker/task:0 at (localhost|127.0.0.1):[0-9]+, tenon ' out || fail "the worker does not answer"
has out "worker 0 | the token is not the cluster's"
has out "worker 0 | does it want TLS"

[ $failed -eq 0 ] && echo "tenon launch --hosts: all as it should be"
exit $failed
