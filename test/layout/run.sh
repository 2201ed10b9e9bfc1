#!/usr/bin/env bash
# The arrows between the parts: a file includes files of its own part and of parts above it in parts.txt, never below, and
# no file includes itself by way of others; only X.hpp and X.ipp, which holds its functions, include each other. Device code includes no
# arrays of constants outside functions. Files and folders are of a size that one reads, and are not called what says nothing.
#
#   run.sh REPOSITORY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
export LC_ALL=C

# A line for each include of a file of the project, "from to", with paths as in #include <...>.
includes=$(grep -rnoE '^ *# *include *<(tenon|net|cuda)/[^>]+>' include net cuda --include='*.hpp' --include='*.ipp' \
    --include='*.inl' --include='*.cpp' --include='*.cu' | sed -E 's,^(((net|net/mpi|cuda)/)?include/)?([^:]+):[0-9]+: *# *include *<([^>]+)>,\4 \5,')
[ "$(wc -l <<<"$includes")" -gt 100 ] || { echo "hardly any includes were found under $PWD/include"; exit 1; }

status=0
circles=$(mktemp)
trap 'rm -f "$circles"' EXIT

# Parts: each file's is the longest line of parts.txt that its path begins with.
awk -v parts="$here/parts.txt" '
    BEGIN { while ((getline line < parts) > 0) if (line !~ /^(#|$)/) part[++n] = (line ~ /^(net|cuda)\// ? "" : "tenon/") line "/" }
    function place(file,   i, best, length_of_best) {
        for (i = 1; i <= n; ++i)
            if (index(file, part[i]) == 1 && length(part[i]) > length_of_best) {
                best = i
                length_of_best = length(part[i])
            }
        return best
    }
    $1 ~ /^tenon\/(tenon|input|models|image|arrow)\.hpp$/ || $2 ~ /^tenon\/(tenon|input|models|image|arrow)\.hpp$/ { next }
    {
        from = place($1); to = place($2)
        if (!from) { print $1 ": no part of parts.txt holds it"; bad = 1 }
        else if (!to) { print $1 " includes " $2 ", which no part of parts.txt holds"; bad = 1 }
        else if (to > from) {
            print $1 " includes " $2 ": " part[to] " stands below " part[from] " in parts.txt"
            bad = 1
        }
    }
    END { exit bad }' <<<"$includes" || status=1

# tenon::image is a library of its own: the core has it where nothing is linked, and nowhere else.
# shellcheck disable=SC2046 # paths without blanks
if ! awk 'FNR == 1 { before = "" }
    /^ *# *include <tenon\/(image\.hpp|(io|ops)\/image\/)/ && before !~ /^#if TENON_HEADER_ONLY/ { print FILENAME " includes images: " $0; bad = 1 }
    { before = $0 }
    END { exit bad }' $(find include -type f ! -name '*.md' ! -path '*/image/*' ! -path include/tenon/image.hpp ! -path include/tenon/input.hpp); then
    echo "who links tenon::core alone has none of these: ask io/files/image_library.hpp, or put the file to images"
    status=1
fi
# Circles: tsort names the members of each.
if ! awk '{ own = $2; sub(/\.hpp$/, ".ipp", own) } $1 != own' <<<"$includes" | tsort >/dev/null 2>"$circles"; then
    echo "files that include themselves by way of others:"
    sed -E 's/^tsort: //' "$circles"
    status=1
fi
# Device code: nvcc cannot read arrays of constants outside functions, and makes a trap of a constexpr function that does.
reached=$(awk '{ to[$1] = to[$1] " " $2 }
    END {
        for (f in to) if (f ~ /^cuda\/kernels\//) queue[n++] = f
        for (i = 0; i < n; ++i) {
            if (seen[queue[i]]++) continue
            print queue[i]
            m = split(to[queue[i]], next_ones, " ")
            for (k = 1; k <= m; ++k) queue[n++] = next_ones[k]
        }
    }' <<<"$includes" | sed 's,^tenon/,include/tenon/,')
[ "$(wc -l <<<"$reached")" -gt 50 ] || { echo "hardly any files were found that device code includes"; exit 1; }
# shellcheck disable=SC2086 # paths without blanks
if grep -nE '^(inline |static )*constexpr [^=(]*\[[^]]*\] *[={]' $reached; then
    echo "device code includes these arrays: make them numbers, or put them into the functions that read them"
    status=1
fi
# The planner asks what an op's definition says, never which op it is; it knows those that it makes itself.
if grep -rnE 'find_op\("|op->name\)? *[!=]=|[!=]= *[a-z_.>-]*op->name|[a-z]_definition\b' include/tenon/runtime |
    grep -vE '\b(fused|fused_group|fused_parts|fused_reductions|send|receive|convert|transfer|identity|op)_definition\b|require_op'; then
    echo "the runtime asks for ops by their names: make what it needs to know a flag or a member of op_definition"
    status=1
fi

# Sizes and names.
most_files=25 most_lines=500
files=$(find include net cuda -type f ! -name '*.md')
[ "$(wc -l <<<"$files")" -gt 500 ] || { echo "hardly any files were found under $PWD"; exit 1; }
too_large=$(
    awk -v most=$most_files '{ sub(/\/[^\/]*$/, ""); ++n[$0] }
        END { for (f in n) if (n[f] > most) print f " has " n[f] " files, where " most " are the most: give those of a subject a folder below it" }' \
        <<<"$files"
    xargs wc -l <<<"$files" | awk -v most=$most_lines \
        '$2 != "total" && $1 > most { print $2 " has " $1 " lines, where " most " are the most: say shorter what it says twice, or " \
            "give a subject of its own a file (of X.ipp or of a family of ops X.hpp: NAME.inl, which X includes)" }'
)
[ -z "$too_large" ] || { echo "$too_large"; status=1; }
[ $status -ne 0 ] || echo "$(wc -l <<<"$includes") includes, all one way"
exit $status
