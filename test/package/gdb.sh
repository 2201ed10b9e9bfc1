#!/usr/bin/env bash
# Has gdb show arrays and tensors of a program by the installed printers. Ends with 77 where there is no gdb with Python.
#
#   gdb.sh PROGRAM PRINTERS
set -euo pipefail
if ! why=$(gdb -batch -nx -ex 'python print(1)' 2>&1) || [ "$(tail -n 1 <<<"$why")" != 1 ]; then
    echo "skipped: there is no gdb with Python here: $(tail -n 1 <<<"$why")"
    exit 77
fi
ask=()
for name in a b texts none h x w y t a.a_.type_; do ask+=(-ex "print $name"); done
said=$(gdb -batch -nx -ex "source $2" -ex 'break stop' -ex run -ex up "${ask[@]}" "$1" 2>&1)
if grep -q 'ptrace: Operation not permitted' <<<"$said"; then
    echo "skipped: gdb may not trace programs here"
    exit 77
fi
diff - <(sed -n '/^\$/p' <<<"$said") <<'END'
$1 = float[2, 3] {1, 2, 3, 4, 5, 6.5}
$2 = int64[2] {-1, 2}
$3 = string[2] {"one", "two"}
$4 = nothing (empty, or moved from)
$5 = 1.5
$6 = x: float[batch, 3] (placeholder)
$7 = w: float[3, 2] (variable)
$8 = matmul: float[batch, 2] (matmul)
$9 = matmul: float[batch, 2] (matmul)
$10 = float[2, 3]
END
