#!/usr/bin/env bash
# Runs a test of the Python module. Ends with 77 where this Python has no NumPy.
#
#   run.sh PYTHON FOLDER_OF_MODULE FOLDER_OF_PROGRAMS TEST
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if ! "$1" -c 'import numpy' 2>/dev/null; then
    echo "skipped: $1 has no NumPy (pip install numpy)"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
PYTHONPATH="$2:$here" PYTHONDONTWRITEBYTECODE=1 TENON_PROGRAMS=$3 JAX_PLATFORMS=cpu "$1" -W error::ResourceWarning "$4" -v
