#!/usr/bin/env bash
# Names are words of docs/glossary.md: what it says carries a word is there, and words that are only words of sentences name no type,
# function or file.
#
#   glossary.sh REPOSITORY
set -euo pipefail
cd "$1"
export LC_ALL=C
status=0

# What stands in backticks in the third column: a file or folder, or a name in the code.
carriers=$(sed '/^## Where the code says it otherwise/,$d' docs/glossary.md | awk -F'|' '/^\|/ && $4 !~ /where|---/ { print $4 }' |
    grep -oE '`[^`]+`' | tr -d '`' | sort -u)
[ "$(wc -l <<<"$carriers")" -gt 100 ] || { echo "hardly any names were found in docs/glossary.md"; exit 1; }
while read -r name; do
    case $name in
    */*) # THEME and FAMILY stand for any
        path=${name//THEME/*} path=${path//FAMILY/*}
        compgen -G "include/tenon/$path" >/dev/null || compgen -G "net/$path" >/dev/null || compgen -G "cuda/$path" >/dev/null ||
            { echo "docs/glossary.md names $name, which is not there"; status=1; } ;;
    *)
        word=${name##*::} word=${word%%(*}
        grep -rqwF "$word" include net cuda || { echo "docs/glossary.md names $name, which nothing is called"; status=1; } ;;
    esac
done <<<"$carriers"

# Words of sentences.
banned='told|meeting|meetings|kept_back|aside|waiting_line|who'
types=$(grep -rnE "\b(class|struct|union|enum class|using) ([a-z0-9]+_)*($banned)(_[a-z0-9]+)*\b" include net cuda \
    --include='*.hpp' --include='*.ipp' --include='*.inl' --include='*.cpp' --include='*.cu' || true)
files=$(find include net cuda test benchmarks examples -type f | grep -E "[/_]($banned)[._][^/]*$" || true)
if [ -n "$types$files" ]; then
    [ -z "$types" ] || echo "$types"
    [ -z "$files" ] || echo "$files"
    echo "these are words of sentences, not names: take the one that docs/glossary.md has for it"
    status=1
fi
[ $status -ne 0 ] || echo "$(wc -l <<<"$carriers") names of the glossary, all there"
exit $status
