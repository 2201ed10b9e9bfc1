#!/usr/bin/env bash
# Trains on Fashion-MNIST, saves the weights, predicts with them in a second run, and trains again on a cluster of this machine.
# Installs what is missing.
#
#   examples/run.sh [--augment] [--data DIR] [other options of fashion_mnist, such as --epochs N]
#
# --augment: half of the images are mirrored, and all are moved by up to 2 pixels (fashion_mnist_augmented).
# DIR holds the four IDX files, gzipped or not; Debian's package dataset-fashion-mnist brings them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=../cmake/packages.sh
. "$here/cmake/packages.sh"

own_data=no
data=()
name=fashion_mnist
options=()
previous=
for argument in "$@"; do
    [ "$previous" != --data ] || data=(--data "$argument")
    previous=$argument
    [ "$argument" = --augment ] || options+=("$argument")
    case $argument in
    --augment) name=fashion_mnist_augmented ;;
    --data) own_data=yes ;;
    --data=*) own_data=yes data=(--data "${argument#--data=}") ;;
    --save | --save=* | --load | --load=*)
        echo "examples/run.sh saves and loads the weights itself;"
        echo "build/release/examples/fashion_mnist takes $argument"
        exit 2
        ;;
    esac
done
if [ $own_data = yes ]; then
    need "${build_packages[@]}"
else
    need "${build_packages[@]}" dataset-fashion-mnist
fi

jobs=${TENON_JOBS:-$(nproc)}
weights=$here/build/release/fashion_mnist.safetensors
build() { # TARGET...
    (cd "$here" && cmake --build --preset release --parallel "$jobs" --target "$@")
}
echo "== configuring (build/release)"
(cd "$here" && cmake --preset release)
echo "== building the library and the program that trains, with $jobs jobs: some minutes on two cores, nothing where ccache has it"
build "example_$name"
program=$here/build/release/examples/$name
echo "== training; the weights go to $weights"
"$program" --save "$weights" "${options[@]}"
echo "== predicting with the saved weights"
"$program" --load "$weights" "${options[@]}"
echo "== building what a cluster needs beside that: servers, the command tenon, and the program"
build tenon_command example_fashion_mnist_cluster
export TENON_FILES=$here/build/release/cluster
rm -rf "$TENON_FILES"
mkdir -p "$TENON_FILES"
echo "== training on a cluster: two parameter servers, two workers, each a process; checkpoints go to $TENON_FILES"
"$here/build/release/net/tenon" launch --ps 2 --worker 2 -- "$here/build/release/examples/fashion_mnist_cluster" --save checkpoint "${data[@]}"
