#!/usr/bin/env bash
# Checks that a program with a mistake does not compile, and that the compiler's words help.
#
#   run.sh FILE gcc|clang COMPILER FLAGS...
#
# FILE, compiled with TENON_EXPECT_ERROR defined, must fail; without it, it must compile. Comments in FILE:
#   // error: <regex>         the output must match it (grep -E); the first of them, in the first line that says
#                             more than where the compiler is
#   // error[gcc]: <regex>    the same, for one compiler only; also error[clang]
#   // lines: N               the first error takes at most N lines of output (12 when not given)
#   // errors: N              there are N errors in all (1 when not given)
set -euo pipefail

file=$1
compiler=$2
shift 2

fail() {
    printf '%s: %s\n' "$file" "$1"
    printf -- '--- the compiler said\n%s\n' "$output"
    exit 1
}

number() { # the number after "// $1:", or $2
    local found
    found=$(sed -nE "s|^ *// *$1: *([0-9]+).*|\1|p" "$file" | head -n 1)
    printf '%s' "${found:-$2}"
}

mapfile -t patterns < <(sed -nE "s|^ *// *error(\[$compiler\])?: *(.*[^ ]) *$|\2|p" "$file")
output=
[ ${#patterns[@]} -gt 0 ] || fail "has no line '// error: <regex>' for $compiler"

export LC_ALL=C
case $compiler in
gcc) plain=-fdiagnostics-color=never ;;
*) plain=-fno-color-diagnostics ;;
esac

output=$("$@" "$plain" -fsyntax-only "$file" 2>&1) || fail 'does not compile even without its mistake'
output=$("$@" "$plain" -fsyntax-only -DTENON_EXPECT_ERROR "$file" 2>&1) &&
    fail 'compiles, in spite of its mistake'

for pattern in "${patterns[@]}"; do
    grep -Eq -- "$pattern" <<<"$output" || fail "no line matches: $pattern"
done

is_error='^[^ ].*: (fatal )?error: '
grep -Eq -- "$is_error" <<<"$output" || fail 'there is no line with an error'
where='^In file included from|^ +from |:  +in .constexpr. expansion of |: (In .*function|In constructor|At global scope)'
first=$(grep -Evm 1 -- "$where" <<<"$output")
grep -Eq -- "${patterns[0]}" <<<"$first" || fail "the first line does not match: ${patterns[0]}"

errors=$(grep -Ec -- "$is_error" <<<"$output")
wanted=$(number errors 1)
[ "$errors" -eq "$wanted" ] || fail "$errors errors, not $wanted"

# The first error's lines: up to what leads to the second one. clang ends with a count of the errors.
lines=$(awk -v is_error="$is_error" '
    /^[0-9]+ errors? generated\.$/ { next }
    $0 ~ is_error && ++errors > 1 { exit }
    { ++lines }
    END { print lines }' <<<"$output")
limit=$(number lines 12)
[ "$lines" -le "$limit" ] || fail "the first error takes $lines lines, more than $limit"

printf '%s: 1 error of %s lines (limit %s): %s\n' "${file##*/}" "$lines" "$limit" "${first#*: }"
