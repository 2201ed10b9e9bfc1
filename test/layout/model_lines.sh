#!/usr/bin/env bash
# The models of examples/models take at most 1.3 times the lines of their twins in PyTorch: lines that are not blank and neither comments nor
# what stands in every file (includes and imports, namespaces).
#
#   model_lines.sh REPOSITORY
set -euo pipefail
cd "$1/examples/models"
lines() { grep -vcE '^ *($|//|#|import |from |namespace |\} // namespace)' "$1"; }

models=0 status=0 all=0 theirs=0
for python in pytorch/*.py; do
    name=$(basename "$python" .py)
    ours=$(lines "tenon/$name.hpp") twin=$(lines "$python")
    models=$((models + 1)) all=$((all + ours)) theirs=$((theirs + twin))
    printf '%-20s %3d lines, %3d of PyTorch: %s\n' "$name" "$ours" "$twin" "$(awk -v a="$ours" -v b="$twin" 'BEGIN { printf "%.2f", a / b }')"
    if ((10 * ours > 13 * twin)); then
        echo "examples/models/tenon/$name.hpp: more than 1.3 times the lines of PyTorch's model"
        status=1
    fi
done
[ "$models" -ge 20 ] || { echo "hardly any models were found under $PWD"; exit 1; }
printf 'all                  %3d lines, %3d of PyTorch: %s\n' "$all" "$theirs" "$(awk -v a="$all" -v b="$theirs" 'BEGIN { printf "%.2f", a / b }')"
exit $status
