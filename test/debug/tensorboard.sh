#!/usr/bin/env bash
# Reads an event file with TensorBoard's Python package, or ends with 77 where that is not there.
#
#   tensorboard.sh TEST_DEBUG png|plain
. "$(dirname "${BASH_SOURCE[0]}")/../with_python.sh" tensorboard.backend.event_processing.event_accumulator tensorboard "tensorboard"
TENON_EVENT_FOLDER=$folder "$1" --test-case='events for TensorBoard' >"$folder/said" || { cat "$folder/said"; exit 1; }
rm "$folder/said"
"$python" "$here/read_events.py" "$folder" "$2"
