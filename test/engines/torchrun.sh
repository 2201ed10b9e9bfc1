#!/usr/bin/env bash
# The program of examples/engines under torchrun: on one machine, two runs of it at once, on two machines. Where torchrun is not installed,
# under the variables that it sets.
#
#   torchrun.sh TRAIN TENON
. "$(dirname "$0")/machines.sh"
alone "$@"
. "$test_folder/checks.sh"
begin "$1" "$2"
export OMP_NUM_THREADS=1
start=$examples/torchrun.sh
if ! TORCHRUN=$(command -v torchrun); then
    echo "there is no torchrun (Debian: python3-torch): its variables are set by this test"
    TORCHRUN=$bed/bin/torchrun
    cat >"$TORCHRUN" <<'END'
#!/usr/bin/env bash
# As torchrun does: a process for each rank of this node. The static rendezvous, or --standalone.
nodes=1 node=0 each=1 address=$(hostname) port=$((10000 + RANDOM % 10000)) run=$RANDOM$RANDOM store=False
while [ $# -gt 0 ]; do
    case $1 in
    --nnodes) nodes=$2 && shift ;;
    --node_rank) node=$2 && shift ;;
    --nproc_per_node) each=$2 && shift ;;
    --master_addr) address=$2 store=True run=none && shift ;;
    --master_port) port=$2 && shift ;;
    --redirects | --tee) shift ;;
    --*) ;;
    *) break ;;
    esac
    shift
done
export WORLD_SIZE=$((nodes * each)) LOCAL_WORLD_SIZE=$each GROUP_RANK=$node GROUP_WORLD_SIZE=$nodes MASTER_ADDR=$address \
    MASTER_PORT=$port TORCHELASTIC_RUN_ID=$run TORCHELASTIC_USE_AGENT_STORE=$store TORCHELASTIC_RESTART_COUNT=0
pids=()
for ((local = 0; local < each; ++local)); do
    RANK=$((node * each + local)) LOCAL_RANK=$local "$@" &
    pids+=($!)
done
status=0
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
exit $status
END
    chmod +x "$TORCHRUN"
fi
export TORCHRUN
machines a b
loopback_name a
loopback_name b

run first on a "$start" --standalone --nproc_per_node 3 train &
pid=$!
run second on a "$start" --standalone --nproc_per_node 3 train --slope -2
[ $status -eq 0 ] || fail "the status is $status" "$bed/second"
wait $pid || fail "the first run failed" "$bed/first"
trained first 2 3.00
trained second 2 -2.00

on a tenon certificates --hosts a,b,10.77.0.1 --out "$bed/keys" >/dev/null || fail "no keys"
export TENON_KEYS=$bed/keys
both=(--nnodes 2 --nproc_per_node 2 --master_addr 10.77.0.1 --master_port 29500)
run two_b on b "$start" "${both[@]}" --node_rank 1 train &
pid=$!
run two_a on a "$start" "${both[@]}" --node_rank 0 train
[ $status -eq 0 ] || fail "on two machines the status is $status" "$bed/two_a"
wait $pid || fail "the second node failed" "$bed/two_b"
trained two_a 1 3.00
trained two_b 2 3.00
said two_a 'other machines, encrypted'
ended
finish torchrun
