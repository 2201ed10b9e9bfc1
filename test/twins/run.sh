#!/usr/bin/env bash
# Every public function on tensors has a twin of its name in namespace untyped, for tensors whose types are known at run time
# only, and every twin is compared with it in test/op_table/twins*.cpp or test/ops/elementwise/untyped_formulas.cpp. without.txt lists what
# has no partner, and why. The headers are read as clang-format writes them: what is declared in a namespace begins its line.
#
#   run.sh REPOSITORY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
export LC_ALL=C

headers=$(ls include/tenon/ops/*.hpp include/tenon/ops/*/*.hpp include/tenon/nn/losses.hpp | grep -v '/hints.hpp')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A line for each function: "typed NAME FILE" or "untyped NAME FILE". Members of variable_tensor are functions on variables.
awk '
    function without_head(line,   i, depth, c) {
        if (line !~ /^template </) return line
        for (i = 10; i <= length(line); ++i) {
            c = substr(line, i, 1)
            if (c == "<") ++depth
            if (c == ">" && --depth == 0) return substr(line, i + 2)
        }
        return ""
    }
    function name_in(line) {
        line = without_head(line)
        sub(/^requires\(.*\) /, "", line)
        if (line ~ /^(struct|class|enum|using|concept|requires|static_assert|friend|return|inline constexpr|TENON_|#|\/)/) return ""
        if (!match(line, /(operator ?[^ (a-z]+|[a-z][a-z_0-9]*)\(/)) return ""
        if (RSTART == 1 || substr(line, RSTART - 1, 1) !~ /[ *&]/) return ""
        line = substr(line, RSTART, RLENGTH - 1)
        sub(/^operator /, "operator", line)
        return line
    }
    FNR == 1 { spaces = ""; member = 0 }
    /^namespace [a-z_:]+ \{$/ { spaces = spaces "/" $2; next }
    /^namespace \{$/ { spaces = spaces "/unnamed"; next }
    /^\} \/\/ namespace/ { sub(/\/[^\/]*$/, "", spaces); next }
    /class variable_tensor/ && !/;$/ { member = 1 }
    /^private:/ { member = 0 }
    {
        space = spaces
        gsub(/::/, "/", space)
        kind = ""
        if (space == "/tenon" || space == "/tenon/nn") kind = "typed"
        if (space == "/tenon/untyped" || space == "/tenon/nn/untyped") kind = "untyped"
        line = $0
        if (member && kind == "typed" && /^    ((template <class.*> )?auto|operation|tensor<T, S>) [a-z_]+\(/) sub(/^    /, "", line)
        if (kind != "" && line ~ /^[a-z]/ && (name = name_in(line)) != "") print kind, name, FILENAME
    }' $headers >"$work/functions"
# The instructions are twins that a macro declares.
sed -nE 's|^TENON_(UNARY\|BINARY\|TERNARY)\(([a-z_0-9]+),.*|untyped \2 include/tenon/tape/instructions.inl|p' \
    include/tenon/tape/instructions.inl >>"$work/functions"
# So are the operators.
sed -nE 's|^TENON_OPERATOR\(([^,]+),.*|untyped operator\1 include/tenon/ops/elementwise/untyped_elementwise.hpp|p' \
    include/tenon/ops/elementwise/untyped_elementwise.hpp >>"$work/functions"
sed -nE 's|^template <detail::UntypedTensor X> any_tensor (operator.)\(.*|untyped \1 include/tenon/ops/elementwise/untyped_elementwise.hpp|p' \
    include/tenon/ops/elementwise/untyped_elementwise.hpp >>"$work/functions"

for kind in typed untyped; do
    sed -nE "s/^$kind ([^ ]+) .*/\1/p" "$work/functions" | sort -u >"$work/$kind"
    [ "$(wc -l <"$work/$kind")" -gt 200 ] || { echo "hardly any $kind functions were found under $PWD/include"; exit 1; }
done
sed -nE 's/^([^#: ]+): .*/\1/p' "$here/without.txt" | sort -u >"$work/without"
grep -ohE '\b(same|same_parts|same_operation|check_twin)\("[^"]+"|\b(ONE|TWO|TWIN_[A-Z0-9]+)\([a-z_0-9]+' \
    test/op_table/twins*.cpp test/ops/elementwise/untyped_formulas.cpp | sed -E 's/^[A-Za-z_0-9]+\("?([^"]+)"?$/\1/' | sort -u >"$work/compared"

status=0
complain() { # names that are wrong, and what to do
    while read -r name; do
        echo "$name ($(awk -v n="$name" '$2 == n { print $3; exit }' "$work/functions")): $1"
        status=1
    done
}
complain "give it a twin in namespace untyped, or a line in test/twins/without.txt" \
    < <(comm -23 "$work/typed" "$work/untyped" | comm -23 - "$work/without")
complain "no function of known types has its name; give test/twins/without.txt a line" \
    < <(comm -13 "$work/typed" "$work/untyped" | comm -23 - "$work/without")
complain "compare it with its twin in test/op_table/twins.cpp" \
    < <(comm -12 "$work/typed" "$work/untyped" | comm -23 - "$work/compared")
complain "test/twins/without.txt lists it, but it has a partner or is gone" \
    < <(comm -3 "$work/typed" "$work/untyped" | tr -d '\t' | sort | comm -13 - "$work/without")
[ $status -ne 0 ] || echo "$(comm -12 "$work/typed" "$work/untyped" | wc -l) functions and their twins, all compared"
exit $status
