#!/usr/bin/env bash
# Runs a program in an empty folder and compares what it prints with what a page says, where "..." stands for any lines, or for the rest
# of one. Numbers with a point may differ by two in their last digit: instruction sets add in different orders.
#
#   prints.sh PROGRAM TEXT
set -euo pipefail
program=$(realpath "$1") said=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/run"

(cd "$folder/run" && "$program" >"$folder/output") || { echo "$program failed:"; cat "$folder/output"; exit 1; }
awk '
    # Whether the line begins with what was said; the rest of it is in `rest`.
    function begins(line, said,    number, have, digits, unit, d) {
        number = "-?[0-9]+[.][0-9]+(e[-+]?[0-9]+)?"
        while (match(said, number)) {
            d = RSTART - 1
            if (substr(line, 1, d) != substr(said, 1, d)) return 0
            line = substr(line, d + 1)
            want = substr(said, RSTART, RLENGTH); said = substr(said, RSTART + RLENGTH)
            if (!match(line, "^" number)) return 0
            have = substr(line, 1, RLENGTH); line = substr(line, RLENGTH + 1)
            digits = want; sub(/^-?[0-9]+[.]/, "", digits); sub(/e.*/, "", digits)
            unit = 10 ^ -length(digits)
            if (match(want, /e.*/)) unit *= 10 ^ substr(want, RSTART + 1)
            d = want - have
            if (d > 2.001 * unit || d < -2.001 * unit) return 0
        }
        if (substr(line, 1, length(said)) != said) return 0
        rest = substr(line, length(said) + 1)
        return 1
    }
    function fits(line, said) {
        if (said ~ /[.][.][.]$/) return begins(line, substr(said, 1, length(said) - 3))
        return begins(line, said) && rest == ""
    }
    FNR == NR { said[++saids] = $0; next }
    { lines[++count] = $0 }
    END {
        at = 1
        for (s = 1; s <= saids; s++) {
            if (said[s] == "...") { any = 1; continue }
            while (any && at <= count && !fits(lines[at], said[s])) at++
            if (at > count || !fits(lines[at], said[s])) { print "the page says: " said[s]; print "line " at " printed: " lines[at]; exit 1 }
            at++; any = 0
        }
        if (!any && at <= count) { print "the page does not say: " lines[at]; exit 1 }
        if (saids == 0) { print "the page says nothing"; exit 1 }
    }' "$said" "$folder/output" || { echo "-- all that $(basename "$program") printed:"; cat "$folder/output"; exit 1; }
