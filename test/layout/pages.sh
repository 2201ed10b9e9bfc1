#!/usr/bin/env bash
# shellcheck disable=SC2016 # quotes of Markdown
# Pages stay true where a program can tell: links between them lead to pages and headings that are there, what the guide calls tn:: or nn::
# is in the code, there are answers to a first week's questions, and what docs/glossary.md says carries a word is
# in the code, where no type and no file is called by what are only words of sentences.
#
#   pages.sh REPOSITORY
set -euo pipefail
cd "$1"
export LC_ALL=C
status=0

# The anchors of a page's headings, as GitHub makes them.
headings() { sed -E '/^```/,/^```/d' "$1" | grep -E '^#+ ' | sed -E 's/^#+ +//; s/[^A-Za-z0-9_ -]//g; s/ /-/g' | tr '[:upper:]' '[:lower:]'; }

pages=$(find . -name '*.md' -not -path './build/*' -not -path './.git/*')
links=0
while IFS= read -r page; do
    while IFS= read -r link; do
        links=$((links + 1))
        file=$(dirname "$page")/${link%%#*}
        [ "${link%%#*}" ] || file=$page
        if [ ! -e "$file" ]; then
            echo "$page links to $link, which is not there"
            status=1
        elif [[ $link == *#* && $file == *.md ]] && ! headings "$file" | grep -qxF -- "${link#*#}"; then
            echo "$page links to $link, but $file has no such heading"
            status=1
        fi
    done < <(sed -E '/^```/,/^```/d; /^    /d; s/`[^`]*`//g' "$page" | grep -oE '\]\([^)]+\)' | sed -E 's/^\]\(//; s/\)$//' | grep -vE '^https?:' || true)
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
# What the guide and the README call tn::NAME, nn::NAME or tn::net::NAME.
while IFS= read -r name; do
    grep -qxF "$name" "$words" || { echo "the guide or README.md names $name, which is nowhere in the code"; status=1; }
done < <(grep -ohE '\b(tn|nn)::[a-z_0-9:]+' README.md docs/guide/*.md | grep -oE '[a-z_0-9]+$' | sort -u)
# Questions of a first week: each is followed by a link.
questions=$(grep -cE '^- .*\? .*\]\(' docs/guide/questions.md)
[ "$questions" -ge 44 ] || { echo "docs/guide/questions.md has $questions questions with a link, not 44"; status=1; }
if grep -E '^- ' docs/guide/questions.md | grep -vE '\? .*\]\('; then
    echo "docs/guide/questions.md: these have no link"
    status=1
fi
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
