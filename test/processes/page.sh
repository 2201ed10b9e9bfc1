#!/usr/bin/env bash
# The page in headless Chromium, while a task is stopped: its banner names who waits for whom, as text. Skipped without chromium.
#
#   page.sh KILLED TENON
set -uo pipefail
killed=$(realpath "$1")
tenon=$(realpath "$2")
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "skipped: there is no chromium"
    exit 77
}
unset "${!TENON_@}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/show" <<SHOW
#!/usr/bin/env bash
timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --virtual-time-budget=4000 \
    --dump-dom "\$1" >"$work/page" 2>"$work/err"
SHOW
chmod +x "$work/show"
SHOWN_BY="$work/show" "$killed" "$tenon" "--source-file=*/status.cpp"
status=$?
[ $status -eq 0 ] || { cat "$work/err"; exit $status; }
banner=$(sed -n '/<section id="stalls"/,/<\/section>/p' "$work/page")
echo "$banner"
for words in 'a step on /job:worker/task:0 waits ' '&lt;i&gt;gradients&lt;/i&gt;/w from /job:ps/task:1, which has not been heard of for '; do
    grep -qF -- "$words" <<<"$banner" || { echo "FAILED: the banner does not say: $words"; exit 1; }
done
if grep -q '<i>gradients' "$work/page" || grep -q 'role="alert" hidden' "$work/page"; then
    echo "FAILED: a name is HTML, or the banner is not shown"
    exit 1
fi
echo "the page names the task that is stopped"
