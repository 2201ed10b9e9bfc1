#!/usr/bin/env bash
# Reads an event file with TensorBoard's Python package, or ends with 77 where that is not there.
#
#   tensorboard.sh TEST_DEBUG png|plain
#
# TENON_PYTHON in the environment: the Python to use.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${TENON_PYTHON:-python3}
if ! why=$("$python" -c 'import tensorboard.backend.event_processing.event_accumulator' 2>&1); then
    echo "skipped: $python has no package tensorboard (pip install tensorboard): $(tail -n 1 <<<"$why")"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
TENON_EVENT_FOLDER=$folder "$1" --test-case='events for TensorBoard' >"$folder/said" || { cat "$folder/said"; exit 1; }
rm "$folder/said"
"$python" "$here/read_events.py" "$folder" "$2"
