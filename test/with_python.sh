# Sourced by scripts that compare with a package of Python: with_python.sh MODULE PACKAGE HOW, what pip installs it by.
# Sets `here`, the script's folder, `python`, which TENON_PYTHON in the environment says, and `folder`, an empty one that is removed
# in the end. Ends with 77 where the package is not there.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
python=${TENON_PYTHON:-python3}
if ! why=$("$python" -c "import $1" 2>&1); then
    echo "skipped: $python has no package $2 (pip install $3): $(tail -n 1 <<<"$why")"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
