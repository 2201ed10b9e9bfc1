#!/usr/bin/env bash
# Sums over two processes and a data-parallel step: Tenon, MPI and PyTorch's Gloo in one run.
#
#   collectives.sh COLLECTIVES [PYTHON]    (build/release/benchmarks/collectives; a python that has PyTorch)
set -uo pipefail
program=$(realpath "$1")
python=${2:-python3}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
all=$(
    mpirun --oversubscribe -n 2 "$program"
    "$python" "$here/../peers/gloo_collectives.py" || true
)
echo "load: $(cut -d' ' -f1-3 /proc/loadavg); $(nproc) cores"
awk '
    NF == 4 { value[$1, $2] = $3; ways[$1] = ways[$1] " " $2 }
    function best(what, among,   n, i, list, b) {
        n = split(among, list, " ")
        for (i = 1; i <= n; ++i) if ((what, list[i]) in value && (!b || value[what, list[i]] < b)) b = value[what, list[i]]
        return b
    }
    function show(what, ours, theirs, words, reach,   a, b) {
        a = best(what, ours); b = best(what, theirs)
        if (a && b) printf "%-10s Tenon %10.1f us   other %10.1f us   speed %5.2f   %s\n", what, a, b, b / a, words "; reach " reach
    }
    END {
        for (what in ways) { n = split(ways[what], w, " "); for (i = 1; i <= n; ++i) printf "  %-10s %-16s %12.1f us\n", what, w[i], value[what, w[i]] }
        show("sum_1KB", "tenon_mpi", "MPI_Allreduce", "MPI_Allreduce", ">= 0.5")
        show("sum_64MB", "tenon_mpi", "MPI_Allreduce gloo tenon_links", "the best of MPI, Gloo and links, under mpirun", ">= 0.9")
        show("sum_64MB", "tenon_links", "MPI_Allreduce gloo", "the best of MPI and Gloo, by links", ">= 0.9")
        show("mlp_step", "tenon_mpi", "ddp_gloo", "PyTorch DDP over Gloo, under mpirun", ">= 1.3")
        show("mlp_step", "tenon_links", "ddp_gloo", "PyTorch DDP over Gloo, by links", ">= 1.3")
    }' <<<"$all"
