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
# torchrun of PyTorch 1.13 under Python 3.11 ends at once where nothing is said of outputs; no machine has a task 9 that they would go to files of.
exec "${TORCHRUN:-torchrun}" --no_python --redirects 9:1 --tee 9:1 "$@"
