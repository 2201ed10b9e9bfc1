#!/usr/bin/env bash
# Compares with pyarrow: tables that it writes, and reads of those that were written here. Ends with 77 where the package is not there.
#
#   pyarrow.sh TEST_ARROW
#
# TENON_PYTHON in the environment: the Python to use.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${TENON_PYTHON:-python3}
if ! why=$("$python" -c 'import pyarrow.parquet' 2>&1); then
    echo "skipped: $python has no package pyarrow (pip install pyarrow): $(tail -n 1 <<<"$why")"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" "$here/pyarrow_tables.py" write "$folder"
TENON_ARROW_FOLDER=$folder "$1" --test-case="tables of pyarrow*" >"$folder/said" || { cat "$folder/said"; exit 1; }
grep -q '5 passed' "$folder/said" || { cat "$folder/said"; exit 1; }
"$python" "$here/pyarrow_tables.py" read "$folder"
