# shellcheck shell=bash disable=SC2154 # $bed and $test_folder are of machines.sh
# To be sourced after machines.sh: a real Slurm on its machines, munged and slurmctld on the first, a slurmd on each.
#
#   need_slurm            ends with 77 where Slurm's programs are not installed, or cannot be run
#   slurm_begin a b       starts it; 4 processors a machine are claimed, whatever there are
#   slurm_state JOB       prints it, PENDING or RUNNING or what it came to
#   slurm_ended JOB       waits until the job has ended, and prints its state
#   slurm_said JOB FILE REGEX N   waits until N lines of the file are so, or the job has ended

need_slurm() {
    local program
    if [ "$(awk '{ n += $3 } END { printf "%.0f", n }' /proc/self/uid_map)" -le 1 ]; then
        echo "skipped: Slurm's daemons want to be root, and this test was not started by it"
        exit 77
    fi
    for program in munged slurmctld slurmd sbatch srun scontrol; do
        PATH=$PATH:/usr/sbin command -v $program >/dev/null || {
            echo "skipped: there is no $program (Debian: slurmctld slurmd slurm-client munge)"
            exit 77
        }
    done
}

slurm_begin() {
    slurm_first=$1
    local first=$1 name etc=$bed/slurm number=0
    mkdir -p "$etc/state" /run/munge
    # munged wants folders that no other user can write, and a key of its own.
    dd if=/dev/urandom of="$etc/munge.key" bs=128 count=1 status=none
    chmod 600 "$etc/munge.key"
    chmod 755 /run/munge
    munged --key-file="$etc/munge.key" --socket=/run/munge/munge.socket.2 --pid-file="$etc/munged.pid" \
        --seed-file="$etc/munge.seed" --log-file="$etc/munged.log" --force || exit 1
    cat >"$etc/slurm.conf" <<END
ClusterName=bed
SlurmctldHost=$first
SlurmUser=root
AuthType=auth/munge
AuthInfo=cred_expire=5
StateSaveLocation=$etc/state
SlurmdSpoolDir=$etc/spool-%n
SlurmctldPidFile=$etc/slurmctld.pid
SlurmdPidFile=$etc/slurmd-%n.pid
SlurmctldLogFile=$etc/slurmctld.log
SlurmdLogFile=$etc/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
MpiDefault=none
KillWait=20
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
END
    for name in "$@"; do echo "NodeName=$name CPUs=4 State=UNKNOWN" >>"$etc/slurm.conf"; done
    echo "PartitionName=all Nodes=$(IFS=, && echo "$*") Default=YES MaxTime=INFINITE OverSubscribe=FORCE:4 State=UP" >>"$etc/slurm.conf"
    export SLURM_CONF=$etc/slurm.conf
    on "$first" /usr/sbin/slurmctld -D >"$etc/slurmctld.out" 2>&1 &
    for name in "$@"; do
        on "$name" /usr/sbin/slurmd -D >"$etc/slurmd-$name.out" 2>&1 &
    done
    for ((number = 0; number < 300; ++number)); do
        [ "$(on "$first" sinfo -h -t idle -o %D 2>/dev/null)" = $# ] && return
        sleep 0.1
    done
    echo "Slurm does not come up:"
    on "$first" sinfo
    tail -n 20 "$etc"/*.out "$etc"/*.log
    exit 1
}

slurm_state() {
    on "$slurm_first" scontrol -o show job "$1" 2>/dev/null | grep -om1 'JobState=[A-Z]*' | cut -d= -f2
}

slurm_lives() {
    case $(slurm_state "$1") in PENDING | RUNNING | COMPLETING | CONFIGURING | REQUEUED) ;; *) return 1 ;; esac
}

slurm_ended() {
    while slurm_lives "$1"; do sleep 0.1; done
    slurm_state "$1"
}

slurm_said() {
    until [ "$(grep -hsE -- "$3" "$2" | wc -l)" -ge "$4" ]; do
        slurm_lives "$1" || { fail "job $1 is $(slurm_state "$1") and did not say $4 times: $3" "$2" && return 1; }
        sleep 0.1
    done
}
