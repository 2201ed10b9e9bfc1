#!/usr/bin/env bash
# Compares with ONNX's own package: its single-node cases, read, and written and read again; and, where it is installed, ONNX Runtime
# on networks as others export them, on all that Tenon wrote of these, and on a model of its own. Ends with 77 where the package is not there.
#
#   cases.sh TEST_ONNX
. "$(dirname "${BASH_SOURCE[0]}")/../with_python.sh" onnx.backend.test.case.node onnx "onnx onnxruntime"
mkdir "$folder/cases" "$folder/net" "$folder/networks"
"$python" "$here/cases.py" cases "$folder/cases" 2>/dev/null
for again in "" 1; do
    TENON_ONNX_CASES=$folder/cases TENON_ONNX_AGAIN=$again "$1" --test-case="ONNX's single-node cases" >"$folder/said" ||
        { cat "$folder/said"; exit 1; }
    grep "cases passed" "$folder/said"
done
if ! why=$("$python" -c 'import onnxruntime' 2>&1); then
    echo "without ONNX Runtime: $(tail -n 1 <<<"$why")"
    exit 0
fi
"$python" "$here/networks.py" "$folder/networks" 2>/dev/null
PYTHONDONTWRITEBYTECODE=1 "$python" "$here/older.py" "$folder/networks" 2>/dev/null
for again in "" 1; do
    TENON_ONNX_NETWORKS=$folder/networks TENON_ONNX_AGAIN=$again "$1" --test-case="networks as others export them" >"$folder/said" ||
        { cat "$folder/said"; exit 1; }
    grep "cases passed" "$folder/said"
done
mkdir "$folder/ops"
TENON_ONNX_FOLDER=$folder/ops "$1" --test-case="*written as*" >"$folder/said" || { cat "$folder/said"; exit 1; }
for written in cases networks ops; do "$python" "$here/cases.py" written "$folder/$written" 2>/dev/null; done
TENON_ONNX_FOLDER=$folder/net "$1" --test-case="a model for ONNX Runtime" >"$folder/said" || { cat "$folder/said"; exit 1; }
"$python" "$here/cases.py" runtime "$folder/net"
