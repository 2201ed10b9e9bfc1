#!/usr/bin/env bash
# No kernel takes more local memory a thread than `most` bytes: the driver takes that for as many threads as a card can hold, 270,336 on an
# H200, beside all limits of a program.
#
#   test/cuda/resources.sh SOURCES NVCC [ARCHIVE]
#
# Of all kernels in the archive, where cuobjdump is there and it has machine code; else what ptxas says of those of tapes, for TENON_RESOURCES_OF
# (sm_90), or of all with TENON_ALL_KERNELS=1, which takes minutes. Ends with 77 where there is nothing to ask.
set -euo pipefail

sources=$1 nvcc=$2 archive=${3:-}
most=128
cuobjdump=$(command -v cuobjdump || echo "$(dirname "$nvcc")/cuobjdump")
said=
if [ -n "$archive" ] && [ -x "$cuobjdump" ]; then
    # "Function NAME:", then "REG:40 STACK:72 ..."
    said=$("$cuobjdump" --dump-resource-usage "$archive" 2>/dev/null | sed -n \
        -e 's/^ *Function \(.*\):$/\1/;t keep' -e 's/.*REG:\([0-9]*\) STACK:\([0-9]*\).*/\2 \1/;t join' -e d \
        -e ':keep' -e 'h;d' -e ':join' -e 'G;s/\n/ /p')
fi
if [ -z "$said" ]; then
    [ -x "$nvcc" ] || { echo "no nvcc"; exit 77; }
    files=("$sources"/cuda/kernels/tape/*.cu)
    [ "${TENON_ALL_KERNELS:-0}" = 0 ] || mapfile -t files < <(find "$sources/cuda/kernels" -name '*.cu')
    object=$(mktemp)
    trap 'rm -f "$object"' EXIT
    for file in "${files[@]}"; do
        # "Compiling entry function 'NAME'", its properties and those of what it calls, then "Used 80 registers, .., 72 bytes cumulative stack size"
        more=$("$nvcc" -std=c++20 -O2 --expt-relaxed-constexpr --expt-extended-lambda -fmad=false -w -I"$sources" -I"$sources/include" \
            "-arch=${TENON_RESOURCES_OF:-sm_90}" -cubin -Xptxas -v -o "$object" "$file" 2>&1)
        said+=$(sed -n -e "s/.*Compiling entry function '\([^']*\)'.*/\1/;t keep" -e '/: Used [0-9]* registers/!d' \
            -e 's/.*Used \([0-9]*\) registers.* \([0-9]*\) bytes cumulative stack size.*/\2 \1/;t join' \
            -e 's/.*Used \([0-9]*\) registers.*/0 \1/;t join' -e ':keep' -e 'h;d' -e ':join' -e 'G;s/\n/ /p' <<<"$more")$'\n'
    done
fi
said=$(grep . <<<"$said" | sort -rn)
echo "$(wc -l <<<"$said") kernels; bytes a thread, registers, of those with most:"
sed -n 1,5p <<<"$said"
[ "$(sed -n '1s/ .*//p' <<<"$said")" -le $most ] || { echo "that is more than $most bytes"; exit 1; }
