#!/usr/bin/env bash
# Checks that programs with a mistake do not compile, and that the compiler's words help.
#
#   run.sh gcc|clang FILE... -- COMPILER FLAGS...
#
# Each mistake is a case, which begins with a line `// case NAME` or `// case NAME: what it is about`, and takes with it what stands
# before the first of them; a FILE without such lines is one case. Lines that end with `// wrong` are its mistake: compiled with
# them a case must fail; with those that end with `// right` in their stead it must compile. Where lines cannot be marked so,
# TENON_EXPECT_ERROR is defined for the mistake. Comments in a case:
#   // error: <regex>         the output must match it (grep -E); the first of them, in the first line that says
#                             more than where the compiler is
#   // error[gcc]: <regex>    the same, for one compiler only; also error[clang]
#   // lines: N               the first error takes at most N lines of output (12 when not given)
#   // errors: N              there are N errors in all (1 when not given)
#
# Cases are compiled together, each in a namespace of its own, and the output is divided by the files that it names: FILE.NAME.cpp
# for a case. What is not as it must be then is compiled again, without the others: what two of them have in common is told of the
# first alone. What nothing is told of then either is compiled alone, and that decides; so is a file that includes others of its
# folder. With TENON_COMPILE_ALONE=1 in the environment all are.
set -euo pipefail

compiler=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
files=()
while [ "$1" != -- ]; do
    if grep -q '^// case ' "$1"; then
        name=${1##*/}
        awk -v stem="$folder/${name%.cpp}" '
            /^\/\/ case / { sub(/:$/, "", $3); to = stem "." $3 ".cpp"; printf "%s", shared > to; print to }
            / \/\/ wrong(:.*)?$/ { $0 = "#ifdef TENON_EXPECT_ERROR\n" $0 "\n#endif" }
            / \/\/ right(:.*)?$/ { $0 = "#ifndef TENON_EXPECT_ERROR\n" $0 "\n#endif" }
            to == "" { shared = shared $0 "\n"; next }
            { print > to }' "$1" >"$folder/cases"
        while read -r file; do files+=("$file"); done <"$folder/cases"
    else
        files+=("$1")
    fi
    shift
done
shift
export LC_ALL=C
case $compiler in
gcc) compile=("$@" -fdiagnostics-color=never -fsyntax-only) ;;
*) compile=("$@" -fno-color-diagnostics -ferror-limit=0 -fsyntax-only) ;;
esac
is_error='^[^ ].*: (fatal )?error: '
where='^In file included from|^ +from |:  +in .constexpr. expansion of |: (In .*function|In constructor|At global scope)'

# check FILE OUTPUT   says in `verdict` what is wrong with the output; fails where something is
check() {
    local file=$1 output=$2 patterns pattern first errors wanted lines limit
    mapfile -t patterns < <(sed -nE "s|^ *// *error(\[$compiler\])?: *(.*[^ ]) *$|\2|p" "$file")
    verdict="has no line '// error: <regex>' for $compiler"
    [ ${#patterns[@]} -gt 0 ] || return 1
    for pattern in "${patterns[@]}"; do
        verdict="no line matches: $pattern"
        grep -Eq -- "$pattern" <<<"$output" || return 1
    done
    verdict='there is no line with an error'
    errors=$(grep -Ec -- "$is_error" <<<"$output") || return 1
    first=$(grep -Evm 1 -- "$where" <<<"$output")
    verdict="the first line does not match: ${patterns[0]}"
    grep -Eq -- "${patterns[0]}" <<<"$first" || return 1
    wanted=$(number "$file" errors 1)
    verdict="$errors errors, not $wanted"
    [ "$errors" -eq "$wanted" ] || return 1

    # The first error's lines: up to what leads to the second one. clang ends with a count of the errors.
    lines=$(awk -v is_error="$is_error" '
        /^[0-9]+ errors? generated\.$/ { next }
        $0 ~ is_error && ++errors > 1 { exit }
        { ++lines }
        END { print lines }' <<<"$output")
    limit=$(number "$file" lines 12)
    verdict="the first error takes $lines lines, more than $limit"
    [ "$lines" -le "$limit" ] || return 1
    verdict="1 error of $lines lines (limit $limit): ${first#*: }"
}

number() { # the number after "// $2:" in file $1, or $3
    local found
    found=$(sed -nE "s|^ *// *$2: *([0-9]+).*|\1|p" "$1" | head -n 1)
    printf '%s' "${found:-$3}"
}

status=0
right= # says whether all of them compile without their mistakes
alone() { # FILE
    local output
    if [ -z "$right" ] && ! output=$("${compile[@]}" "$1" 2>&1); then
        verdict='does not compile even without its mistake'
    elif output=$("${compile[@]}" -DTENON_EXPECT_ERROR "$1" 2>&1); then
        verdict='compiles, in spite of its mistake'
    elif check "$1" "$output"; then
        printf '%s, alone: %s\n' "${1##*/}" "$verdict"
        return
    fi
    printf '%s: %s\n--- the compiler said\n%s\n' "$1" "$verdict" "$output"
    status=1
}

together=()
for file in "${files[@]}"; do
    if [ -n "${TENON_COMPILE_ALONE:-}" ] || grep -q '#include "' "$file"; then alone "$file"
    else together+=("$file"); fi
done

all=$folder/all.cpp
while [ ${#together[@]} -gt 0 ]; do
    {
        grep -hE '^#include <' "${together[@]}" | sort -u
        for i in "${!together[@]}"; do
            printf 'namespace section_%d {\n#include "%s"\n}\n' "$i" "${together[i]}"
        done
    } >"$all"
    rm -f "$folder"/said*
    [ -n "$right" ] || ! "${compile[@]}" "$all" >/dev/null 2>&1 || right=compiles
    wrong=
    "${compile[@]}" -DTENON_EXPECT_ERROR "$all" >"$folder/said" 2>&1 || wrong=fails

    # Divides the output: an error's lines begin with those that lead to it, and go on until another's begin. They are of the file that
    # they name first, and else of the one before. That a file is included in the one made here is not said when it is alone.
    printf '%s\n' "${together[@]}" | awk -v said="$folder/said" -v all="$all" -v is_error="$is_error" -v leads="$where|: In |:   (recursively )?required |^ *\\[ skipping " '
        function flush(  i) {
            if (has_error && named != "") to = named
            for (i = 0; i < lines; ++i) print line[i] > (said "." to)
            lines = has_error = 0
            named = ""
        }
        { index_of[$0] = NR - 1 }
        END {
            while ((getline < said) > 0) {
                if (($0 ~ leads || $0 ~ is_error) && !leading) flush()
                leading = $0 ~ leads
                if ($0 ~ is_error) has_error = 1
                if (named == "" && match($0, "/[^ :]*[.]cpp:") && substr($0, RSTART, RLENGTH - 1) in index_of)
                    named = index_of[substr($0, RSTART, RLENGTH - 1)]
                if ($0 !~ "^In file included from " all ":[0-9]+:$") line[lines++] = $0
            }
            flush()
        }'
    rest=()
    for i in "${!together[@]}"; do
        file=${together[i]}
        if [ -n "$right" ] && [ -n "$wrong" ] && [ -f "$folder/said.$i" ] && check "$file" "$(<"$folder/said.$i")"; then
            printf '%s: %s\n' "${file##*/}" "$verdict"
        else
            rest+=("$file")
        fi
    done
    if [ -z "$right" ] || [ ${#rest[@]} -eq ${#together[@]} ]; then
        for file in "${rest[@]}"; do alone "$file"; done
        break
    fi
    together=("${rest[@]}")
done
exit $status
