#!/usr/bin/env bash
# mpiexec of MPICH (Hydra; Intel MPI and MVAPICH have it, too), on one machine or several. Make keys, and start:
#
#   tenon certificates --hosts a,b --out ~/keys
#   TENON_KEYS=~/keys examples/engines/mpich.sh -hosts a:3,b:2 -n 5 ./train --checkpoint train
#
# The folder ~/keys must be the same on all of them, as a common home is. One machine needs none: mpich.sh -n 3 ./train
# Rank 0 is the parameter server, unless TENON_PS_TASKS says another number.
set -euo pipefail
export TENON_PS_TASKS=${TENON_PS_TASKS:-1}
if [ -n "${TENON_KEYS:-}" ]; then
    export TENON_CERTIFICATE=$TENON_KEYS/certificate.pem TENON_KEY=$TENON_KEYS/key.pem TENON_AUTHORITIES=$TENON_KEYS/authorities.pem
fi
if [ "${1:-}" = -hosts ]; then # rank 0 is on the first
    first=${2%%[:,]*}
    export TENON_RENDEZVOUS=$first:$((20000 + RANDOM % 10000))
fi
exec "${MPIEXEC:-mpiexec.hydra}" "$@" # which hands on all variables
