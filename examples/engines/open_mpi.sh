#!/usr/bin/env bash
# mpirun of Open MPI, on one machine or several. Make keys, and start:
#
#   tenon certificates --hosts a,b,$(hostname -I | xargs | tr ' ' ,) --out ~/keys
#   TENON_KEYS=~/keys examples/engines/open_mpi.sh --host a:3,b:2 ./train --checkpoint train
#
# Open MPI tells where mpirun's host is by its addresses, so these are in the certificate, too. The folder ~/keys must be the same on
# all of them, as a common home is. One machine needs none: open_mpi.sh -n 3 ./train
# Rank 0 is the parameter server, unless TENON_PS_TASKS says another number.
set -euo pipefail
export TENON_PS_TASKS=${TENON_PS_TASKS:-1}
if [ -n "${TENON_KEYS:-}" ]; then
    export TENON_CERTIFICATE=$TENON_KEYS/certificate.pem TENON_KEY=$TENON_KEYS/key.pem TENON_AUTHORITIES=$TENON_KEYS/authorities.pem
fi
exported=()
for name in ${!TENON_*}; do exported+=(-x "$name"); done
# mpirun kills a second after it has passed a signal on; to save a checkpoint may take longer, and it waits so long each time.
exec "${MPIRUN:-mpirun}" --mca odls_base_sigkill_timeout 5 "${exported[@]}" "$@"
