#!/usr/bin/env bash
# A worker's program beside parameter servers that the command `tenon serve` runs. It ends with 0 and says what it did.
#
#   worker.sh TENON PROGRAM SAYS    a regular expression of what it has to say
set -uo pipefail
tenon=$(realpath "$1")
program=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset "${!TENON_@}"
export TENON_FILES=$work
timeout 100 "$tenon" launch --ps 2 --worker 1 -- "$program" "$work" >"$work/out" 2>"$work/err"
status=$?
if [ $status -ne 0 ] || ! grep -qE "$3" "$work/out"; then
    echo "FAILED: status $status"
    cat "$work/out" "$work/err"
    exit 1
fi
echo "passed"
