#!/usr/bin/env bash
# Puts what Tenon is built on, beside CUDA, into third_party/ (ignored by git), so that a copy of this folder builds on a machine that
# has CUDA, CMake and a compiler and nothing else: Eigen, nlohmann/json, doctest, Google Benchmark (with its library), and the
# images of Fashion-MNIST.
#
#   cuda/fetch_headers.sh            then copy the tree there, third_party/ with it, and run cuda/check.sh
#
# On Debian and Ubuntu it installs the packages that it copies from; elsewhere it copies what is below PREFIX (default /usr).
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=../cmake/packages.sh
. cmake/packages.sh
need libeigen3-dev nlohmann-json3-dev doctest-dev libbenchmark-dev dataset-fashion-mnist

from=${PREFIX:-/usr}
to=third_party
packages=$to/lib/cmake
rm -rf "$to"
mkdir -p "$to/include" "$to/lib" "$to/data"

# copy NAME FOLDER...   the headers of a package, or what to do where it is not there
copy() {
    local name=$1 folder
    shift
    for folder in "$@"; do
        if [ -d "$folder" ]; then
            cp -rL "$folder" "$to/include/"
            return
        fi
    done
    echo "$name was not found in: $*; install it, or name its prefix in PREFIX"
    exit 1
}

# config NAME VERSION TARGET [LIBRARY]   a package for find_package(NAME): headers in include/, and a library where there is one
config() {
    local name=$1 version=$2 target=$3 library=${4:-}
    mkdir -p "$packages/$name"
    {
        echo "get_filename_component(prefix \"\${CMAKE_CURRENT_LIST_DIR}/../../..\" ABSOLUTE)"
        echo "set(${name}_VERSION $version)"
        echo "if(NOT TARGET $target)"
        if [ -n "$library" ]; then
            echo "    find_package(Threads REQUIRED)"
            echo "    add_library($target UNKNOWN IMPORTED GLOBAL)"
            echo "    set_target_properties($target PROPERTIES IMPORTED_LOCATION \"\${prefix}/lib/$library\""
            echo "        INTERFACE_LINK_LIBRARIES Threads::Threads)"
        else
            echo "    add_library($target INTERFACE IMPORTED GLOBAL)"
        fi
        echo "    target_include_directories($target SYSTEM INTERFACE \"\${prefix}/include\")"
        echo "endif()"
    } >"$packages/$name/${name}Config.cmake"
    {
        echo "set(PACKAGE_VERSION $version)"
        echo "set(PACKAGE_VERSION_COMPATIBLE TRUE)"
        echo "if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)"
        echo "    set(PACKAGE_VERSION_COMPATIBLE FALSE)"
        echo "endif()"
    } >"$packages/$name/${name}ConfigVersion.cmake"
}

copy Eigen "$from/include/eigen3/Eigen" "$from/include/Eigen"
copy "Eigen's FFT" "$from/include/eigen3/unsupported" "$from/include/unsupported"
copy nlohmann/json "$from/include/nlohmann"
copy doctest "$from/include/doctest"
copy "Google Benchmark" "$from/include/benchmark"
# There may be no lib64, of which find says that it failed.
library=$({ find "$from/lib" "$from/lib64" \( -name libbenchmark.a -o -name 'libbenchmark.so' \) 2>/dev/null || true; } | sort | head -1)
[ -n "$library" ] || { echo "Google Benchmark's library was not found below $from"; exit 1; }
case $library in
*.so) library=$(dirname "$library")/$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }') ;;
esac
cp -L "$library" "$to/lib/"

config Eigen3 3.4.0 Eigen3::Eigen
config nlohmann_json 3.11.2 nlohmann_json::nlohmann_json
config doctest 2.4.9 doctest::doctest
config benchmark 1.7.1 benchmark::benchmark "$(basename "$library")"

images=/usr/share/datasets/fashion-mnist
if [ -d "$images" ]; then
    cp -rL "$images" "$to/data/"
else
    echo "Fashion-MNIST is not in $images: cuda/check.sh leaves its training out"
fi
du -sh "$to"
