#!/usr/bin/env bash
# Asks a model by Triton's Python client, or ends with 77 where that is not there.
#
#   python_client.sh TEST_NET
#
# TENON_PYTHON in the environment: the Python to use.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${TENON_PYTHON:-python3}
if ! why=$("$python" -c 'import tritonclient.http' 2>&1); then
    echo "skipped: $python has no package tritonclient (pip install tritonclient[http]): $(tail -n 1 <<<"$why")"
    exit 77
fi
folder=$(mktemp -d)
trap 'touch "$folder/done"; wait; rm -rf "$folder"' EXIT
TENON_INFERENCE_FOLDER=$folder "$1" --test-case='a model for a Python client' >"$folder/said" 2>&1 &
serving=$!
"$python" "$here/python_client.py" "$folder/address"
touch "$folder/done"
wait "$serving" || { cat "$folder/said"; exit 1; }
