#!/usr/bin/env bash
# Compares with pyarrow: tables that it writes, and reads of those that were written here. Ends with 77 where the package is not there.
#
#   pyarrow.sh TEST_ARROW
. "$(dirname "${BASH_SOURCE[0]}")/../with_python.sh" pyarrow.parquet pyarrow "pyarrow"
"$python" "$here/pyarrow_tables.py" write "$folder"
TENON_ARROW_FOLDER=$folder "$1" --test-case="tables of pyarrow*" >"$folder/said" || { cat "$folder/said"; exit 1; }
grep -q '5 passed' "$folder/said" || { cat "$folder/said"; exit 1; }
"$python" "$here/pyarrow_tables.py" read "$folder"
