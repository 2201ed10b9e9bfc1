#!/usr/bin/env bash
# ssh between the machines of machines.sh: the command is run by a shell there, with what a login gives and nothing else.
while [ $# -gt 0 ]; do
    case $1 in
    -[bcDEeFIiJLlmOopQRSWw]) shift 2 ;; # these have a value
    -*) shift ;;
    *) break ;;
    esac
done
host=${1#*@}
shift
pid=$(cat "/run/bed/machines/$host/pid" 2>/dev/null) || {
    echo "ssh: Could not resolve hostname $host: Name or service not known" >&2
    exit 255
}
exec nsenter --target "$pid" --mount --net --uts --ipc --wd="$HOME" -- \
    env -i PATH="$PATH" HOME="$HOME" USER=root SHELL=/bin/bash SSH_CONNECTION="10.77.0.254 22 $host 22" bash -c "$*"
