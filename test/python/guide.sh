#!/usr/bin/env bash
# What Python does on a page of the guide with what the page's first program leaves, prints what the page says: each block of Python that is
# followed by one of text, one after another, as the cells of a notebook.
#
#   guide.sh PAGE FIRST_PROGRAM PYTHON FOLDER_OF_MODULE
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
page=$(realpath "$1") first=$(realpath "$2") python=$3 module=$(realpath "$4")
if ! "$python" -c 'import numpy' 2>/dev/null; then
    echo "skipped: $python has no NumPy (pip install numpy)"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk -v code="$folder/cells.py" -v said="$folder/said" '
    /^```/ && !inside { inside = 1; kind = $1; block = ""; next }
    /^```/ {
        inside = 0
        if (kind == "```python") cell = block
        else {
            if (kind == "```text" && cell != "") { printf "%s", cell > code; printf "%s", block > said; cells++ }
            cell = ""
        }
        next
    }
    inside { block = block $0 "\n" }
    END { if (cells < 3) { print "hardly any Python was found on the page" > "/dev/stderr"; exit 1 } }' "$page"
cat >"$folder/notebook" <<END
#!/bin/sh
"$first" >/dev/null && PYTHONPATH="$module" PYTHONDONTWRITEBYTECODE=1 "$python" "$folder/cells.py"
END
chmod +x "$folder/notebook"
"$here/../guide/prints.sh" "$folder/notebook" "$folder/said"
