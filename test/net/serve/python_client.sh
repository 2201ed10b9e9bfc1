#!/usr/bin/env bash
# Asks a model by Triton's Python client, or ends with 77 where that is not there.
#
#   python_client.sh TEST_NET
. "$(dirname "${BASH_SOURCE[0]}")/../../with_python.sh" tritonclient.http tritonclient "tritonclient[http]"
trap 'touch "$folder/done"; wait; rm -rf "$folder"' EXIT
TENON_INFERENCE_FOLDER=$folder "$1" --test-case='a model for a Python client' >"$folder/said" 2>&1 &
serving=$!
"$python" "$here/python_client.py" "$folder/address"
touch "$folder/done"
wait "$serving" || { cat "$folder/said"; exit 1; }
