#!/usr/bin/env bash
# The recipes for vcpkg and Conan are what these can read, and of this version. Nothing is built.
#
#   recipes.sh REPOSITORY VERSION CMAKE
set -euo pipefail

folder=$1/cmake/packaging
version=$2
cmake=$3
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }

python3 - "$folder" "$version" <<'EOF'
import ast, json, pathlib, sys

folder, version = pathlib.Path(sys.argv[1]), sys.argv[2]
for recipe in folder.rglob("*.py"):
    ast.parse(recipe.read_text(), str(recipe))
port = json.loads((folder / "vcpkg/tenon/vcpkg.json").read_text())
assert port["version"] == version, f"vcpkg.json is of {port['version']}, not {version}"
features = set(port["features"])
assert set(port["default-features"]) <= features, "a default feature is none"
portfile = (folder / "vcpkg/tenon/portfile.cmake").read_text()
assert all(f"    {feature} " in portfile for feature in features), "portfile.cmake does not ask for a feature"
EOF

# A script whose commands are nobody's stops at the first; what does not parse says so.
said=$("$cmake" -P "$folder/vcpkg/tenon/portfile.cmake" 2>&1) || true
grep -q 'Unknown CMake command "vcpkg_check_features"' <<<"$said" || { echo "$said"; exit 1; }

export PYTHONDONTWRITEBYTECODE=1
conan=${CONAN:-conan}
if command -v "$conan" >/dev/null; then
    said=$("$conan" inspect "$folder/conan" 2>&1)
    grep -qx "version: $version" <<<"$said" || { echo "Conan reads another version than $version:"; echo "$said"; exit 1; }
    echo "read by Conan too"
fi
echo "recipes of $version"
