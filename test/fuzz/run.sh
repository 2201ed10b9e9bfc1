#!/usr/bin/env bash
# Runs one fuzz target on its seeds and what is made of them: shortly, or TENON_FUZZ_RUNS inputs.
#
#   run.sh PROGRAM WORK SEEDS...
#
# SEEDS are folders of inputs and may be missing. An input that fails is kept in the folder WORK, as are those
# that reached new code when PROGRAM is made with libFuzzer; a later run goes on from there.
set -euo pipefail

program=$1
work=$2
shift 2
runs=${TENON_FUZZ_RUNS:-20000}

mkdir -p "$work/corpus"
folders=("$work/corpus")
for seeds in "$@"; do
    [ -d "$seeds" ] && folders+=("$seeds")
done

cd "$work"
export ASAN_OPTIONS="abort_on_error=1:${ASAN_OPTIONS:-}"
exec "$program" -runs="$runs" -seed=1 -timeout=25 "${folders[@]}"
