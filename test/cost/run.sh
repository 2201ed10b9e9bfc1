#!/usr/bin/env bash
# Compiles model.cpp and compares what that costs with budget.txt. Exits with 77 when there is no budget for
# this compiler.
#
#   run.sh gcc-12|clang-14|... COMPILER FLAGS... -- FLAGS WHEN HEADER-ONLY...
set -euo pipefail

name=$1
shift
compiled=()
while [ "$1" != -- ]; do
    compiled+=("$1")
    shift
done
shift
header_only=("${compiled[@]}" "$@")

cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C

# Each prints one number from what the compiler says of itself.
count_mib() { # TOTAL : 0.27 0.58 0.86 56M
    awk '/^ *TOTAL/ {
        unit = substr($NF, length($NF))
        print int($NF * (unit == "G" ? 1024 : unit == "M" ? 1 : unit == "k" ? 1 / 1024 : 1 / 1048576))
        exit
    }'
}
count_declarations() { awk '/ decls total/ { print $1; exit }'; }
count_specializations() { awk '/ (Class|Var)TemplateSpecialization decls/ { sum += $1 } END { print sum + 0 }'; }

within=yes
compared=0
while read -r of mode what budget; do
    [ "$of" = "$name" ] || continue
    case $mode in
    compiled) command=("${compiled[@]}") ;;
    header_only) command=("${header_only[@]}") ;;
    *) echo "budget.txt: $mode is neither compiled nor header_only"; exit 1 ;;
    esac
    case $what in
    mib) command+=(-O2 -ftime-report -c -o /dev/null) ;;
    declarations | specializations) command+=(-fsyntax-only -Xclang -print-stats) ;;
    *) echo "budget.txt: there is no measure $what"; exit 1 ;;
    esac
    said=$("${command[@]}" model.cpp 2>&1) ||
        { printf 'model.cpp does not compile:\n%s\n' "$said"; exit 1; }
    cost=$("count_$what" <<<"$said")
    [ "${cost:-0}" -gt 0 ] || { printf '%s gives no count of %s:\n%s\n' "$name" "$what" "$said"; exit 1; }

    echo "$name, $mode: $cost $what, budget $budget"
    compared=$((compared + 1))
    if [ "$cost" -gt $((budget * 115 / 100)) ]; then
        echo "  more than 15 % above: make it cheaper, or raise the budget if it is worth it"
        within=no
    elif [ "$cost" -lt $((budget * 70 / 100)) ]; then
        echo "  far below: write the saving down in test/cost/budget.txt"
    fi
done < <(grep -v '^#' budget.txt)

if [ $compared -eq 0 ]; then
    echo "no budget for $name in test/cost/budget.txt"
    exit 77
fi
[ $within = yes ]
