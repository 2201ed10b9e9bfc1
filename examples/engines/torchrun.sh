#!/usr/bin/env bash
# torchrun, as where PyTorch's own programs are started, on one machine or several. Make keys, and start on each host:
#
#   tenon certificates --hosts a,b --out ~/keys
#   TENON_KEYS=~/keys examples/engines/torchrun.sh --nnodes 2 --nproc_per_node 2 --rdzv_backend c10d --rdzv_endpoint a --rdzv_id 1 ./train
#
# The folder ~/keys must be the same on all of them, as a common home is. One machine needs none: torchrun.sh --standalone --nproc_per_node 3 ./train
# Rank 0 is the parameter server, unless TENON_PS_TASKS says another number.
set -euo pipefail
export TENON_PS_TASKS=${TENON_PS_TASKS:-1}
if [ -n "${TENON_KEYS:-}" ]; then
    export TENON_CERTIFICATE=$TENON_KEYS/certificate.pem TENON_KEY=$TENON_KEYS/key.pem TENON_AUTHORITIES=$TENON_KEYS/authorities.pem
fi
exec "${TORCHRUN:-torchrun}" --no_python "$@"
