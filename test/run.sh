#!/usr/bin/env bash
# Installs what is missing, builds the release preset, and runs every test. Works again at any time.
#
#   test/run.sh [ctest options, such as -R core or -L fuzz]
#   test/run.sh quick    builds and runs what breaks most often: what headers compute, graphs, every op's values, and what may include
#                        what
#
# TENON_WITH_CUDA=ON in the environment: also CUDA code, where there is no GPU, on an emulated one.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/packages.sh
. cmake/packages.sh
need "${build_packages[@]}" python3-dev python3-venv

jobs=${TENON_JOBS:-$(nproc)}
targets=()
if [ "${1:-}" = quick ]; then
    shift
    folders=(core expr graph nn op_table)
    echo "== quick: ${folders[*]}, layout, pages, ops_page, one_definition and twins alone; all the others: test/run.sh"
    targets=(--target test_static "${folders[@]/#/test_}")
    set -- -R "^($(IFS='|' && echo "${folders[*]}")|layout|pages|ops_page|one_definition|twins)\$" "$@"
fi
echo "== configuring (build/release)"
python=$(own_python build/python-environment nanobind numpy)
cmake --preset release "-DTENON_WITH_CUDA=${TENON_WITH_CUDA:-AUTO}" \
    ${python:+-DTENON_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$PWD/$python"}
echo "== building with $jobs jobs"
cmake --build --preset release --parallel "$jobs" "${targets[@]}"
echo "== testing"
ctest --preset release --parallel $((2 * jobs)) "$@" # many wait for each other rather than compute
