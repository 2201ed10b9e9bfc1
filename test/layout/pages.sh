#!/usr/bin/env bash
# shellcheck disable=SC2016 # quotes of Markdown
# Pages stay true where a program can tell: links between them lead to what is there, and what docs/glossary.md says carries a word is
# in the code, where no type and no file is called by what are only words of sentences.
#
#   pages.sh REPOSITORY
set -euo pipefail
cd "$1"
export LC_ALL=C
status=0

pages=$(find . -name '*.md' -not -path './build/*' -not -path './.git/*')
links=0
while IFS= read -r page; do
    while IFS= read -r link; do
        links=$((links + 1))
        if [ ! -e "$(dirname "$page")/$link" ]; then
            echo "$page links to $link, which is not there"
            status=1
        fi
    done < <(sed -E '/^```/,/^```/d; /^    /d; s/`[^`]*`//g' "$page" | grep -oE '\]\([^)]+\)' | sed -E 's/^\]\(//; s/\)$//; s/#.*//' | grep -vE '^(https?:.*|)$' || true)
done <<<"$pages"
[ "$links" -gt 100 ] || { echo "hardly any links were found in $PWD"; exit 1; }

# Each `name` in the table's last column: a path from include/tenon or from here, or a word of the code.
words=$(mktemp)
trap 'rm -f "$words"' EXIT
find include net cuda -type f ! -name '*.md' -exec cat {} + | grep -oE '[A-Za-z_][A-Za-z_0-9]*' | sort -u >"$words"
names=$(sed '/^## Where the code/,$d' docs/glossary.md | grep '^|' | awk -F'|' '{ print $4 }' | grep -oE '`[^`]+`' | tr -d '`' | sort -u)
[ "$(wc -l <<<"$names")" -gt 100 ] || { echo "hardly any names were found in docs/glossary.md"; exit 1; }
while IFS= read -r name; do
    case $name in
    *THEME*) ;;
    */*)
        [ -e "include/tenon/$name" ] || [ -e "net/$name" ] || [ -e "$name" ] ||
            { echo "docs/glossary.md names $name, which is not there"; status=1; }
        ;;
    *)
        while IFS= read -r word; do
            grep -qxF "$word" "$words" || { echo "docs/glossary.md names $word of \`$name\`, which is nowhere in the code"; status=1; }
        done < <(grep -oE '[A-Za-z_][A-Za-z_0-9]*' <<<"$name")
        ;;
    esac
done <<<"$names"
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
[ $status -ne 0 ] || echo "$links links and $(wc -l <<<"$names") names"
exit $status
