# shellcheck shell=bash
# To be sourced: several machines on this one, without a trace of them when the script ends.
#
# The script runs again in namespaces of its own (processes, mounts, network, names): what it starts ends with it, what it
# mounts and writes below /run is seen by nobody else, its ports collide with nobody's. Each machine of its is a network, a host
# name, an /etc/hosts, a /tmp and a /dev/shm; the processes and the other files they have in common, as a home folder is.
# Where that is not allowed the script ends with status 77, which says that it was skipped.
#
#   alone "$@"            runs the script again, in its own namespaces; returns there only
#   $bed                  a folder of it, that all machines see
#   machines a b          makes these, at 10.77.0.1, 10.77.0.2; each finds all of these names in its /etc/hosts, and a.DOMAIN besides,
#                         where machines_domain is set
#   loopback_name b       b's own name means 127.0.1.1 in b's own /etc/hosts, as Debian's installer makes it
#   on a COMMAND...       runs it on machine a
#   $bed/bin/ssh          "ssh a COMMAND" as a user sees it, with a bare environment. In the PATH of all machines

alone() {
    [ "${TENON_TEST_BED:-}" = "$$" ] && return
    local own=(--mount --net --uts --ipc --pid --fork --kill-child --mount-proc) try
    [ "$(id -u)" -eq 0 ] || own+=(--map-root-user)
    if ! try=$(unshare "${own[@]}" sh -c 'mount -t tmpfs none /run && ip link add name try0 type veth peer name try1' 2>&1); then
        echo "skipped: namespaces of its own are not allowed here, or there is no ip (Debian: iproute2): $try"
        exit 77
    fi
    # shellcheck disable=SC2016 # the inner shell is to expand them
    exec unshare "${own[@]}" bash -c 'TENON_TEST_BED=$$ exec bash "$@"' bed "$(realpath "$0")" "$@"
}

bed_begin() {
    bed=/run/bed
    machines_made=0
    test_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
    mount --make-rprivate /
    mount -t tmpfs none /run && mount -t tmpfs none /dev/shm && mkdir -p "$bed/bin" /run/lock || exit 1
    cp "$test_folder/ssh.sh" "$bed/bin/ssh"
    cat >"$bed/bin/on" <<'END'
#!/usr/bin/env bash
pid=$(cat "/run/bed/machines/$1/pid") && shift && exec nsenter --target "$pid" --mount --net --uts --ipc --wd="$PWD" -- "$@"
END
    chmod +x "$bed/bin/on"
    ip link set lo up
    ip link add name machines type bridge && ip address add 10.77.0.254/24 dev machines && ip link set machines up || exit 1
    cd "$bed" || exit 1
    # Nothing of what this test itself was started by.
    local name
    for name in $(compgen -e | grep -vE '^(PATH|PWD|OLDPWD|TENON_TEST_PYTHON|JOBSET_SCHEMA|HOME|LANG|TERM|USER|SHLVL|TENON_TEST_BED)$'); do unset "$name"; done
    PATH=$bed/bin:$PATH
}

machines() {
    local name number=$machines_made
    rm -f "$bed/hosts"
    for name in "$@"; do
        number=$((number + 1))
        mkdir -p "$bed/machines/$name"
        echo "10.77.0.$number $name${machines_domain:+ $name.$machines_domain}" >>"$bed/hosts"
    done
    for name in "$@"; do
        machines_made=$((machines_made + 1))
        { echo "127.0.0.1 localhost" && cat "$bed/hosts"; } >"$bed/machines/$name/hosts"
        echo "$name" >"$bed/machines/$name/hostname"
        # shellcheck disable=SC2016 # the inner shell is to expand them
        unshare --mount --net --uts --ipc bash -c '
            hostname "$1" && mount --bind "$2/hosts" /etc/hosts && mount -t tmpfs -o mode=1777 none /tmp &&
                mount -t tmpfs -o mode=1777 none /dev/shm && ip link set lo up || exit 1
            [ ! -e /etc/hostname ] || mount --bind "$2/hostname" /etc/hostname
            echo $$ >"$2/pid.new" && mv "$2/pid.new" "$2/pid"
            exec sleep infinity' machine "$name" "$bed/machines/$name" &
        until [ -e "$bed/machines/$name/pid" ]; do sleep 0.01; done
        local pid link="m$machines_made"
        pid=$(cat "$bed/machines/$name/pid")
        ip link add name "$link" type veth peer name eth0 netns "$pid" && ip link set "$link" master machines up || exit 1
        on "$name" sh -c "ip address add 10.77.0.$machines_made/24 dev eth0 && ip link set eth0 up" || exit 1
    done
}

loopback_name() {
    { printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$1" && grep -v " $1\$" "$bed/hosts"; } >"$bed/machines/$1/hosts"
}

[ "${TENON_TEST_BED:-}" = "$$" ] && bed_begin
