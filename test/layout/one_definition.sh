#!/usr/bin/env bash
# A class, or a function with the same parameters, is defined in one file: of two in different units the linker takes either, without a
# word, and the program runs the wrong one. What a unit alone needs stands in a namespace without a name. Header-only programs see all of
# include/ in one unit, where compilers say so; nobody says it of net/, cuda/ and what those share with include/.
#
#   one_definition.sh REPOSITORY
set -euo pipefail
cd "$1"
export LC_ALL=C

# cuda/blas/no_lt.hpp stands for lt.cpp where there is no cuBLASLt.
mapfile -t files < <(find include net cuda ! -path cuda/blas/no_lt.hpp \( -name '*.hpp' -o -name '*.ipp' -o -name '*.inl' -o -name '*.cpp' -o -name '*.cu' \) | sort)
[ "${#files[@]}" -gt 500 ] || { echo "hardly any files were found under $PWD"; exit 1; }

# The sources are read as clang-format writes them: what stands in a namespace begins its line, and the namespace ends with "} // namespace".
awk '
    function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
    function enter(name) { space[++depth] = name }
    # Parameters without their names and defaults.
    function types_of(s,   i, c, level, piece, all) {
        all = piece = ""
        for (i = 1; i <= length(s) + 1; ++i) {
            c = i > length(s) ? "," : substr(s, i, 1)
            if (c ~ /[<({[]/) ++level
            if (c ~ /[])>}]/) --level
            if (c == "," && level == 0) {
                sub(/ *=.*$/, "", piece)
                piece = trim(piece)
                if (piece ~ /[ &*.>][A-Za-z_0-9]+$/) sub(/[A-Za-z_0-9]+$/, "", piece)
                all = all ", " trim(piece)
                piece = ""
            } else piece = piece c
        }
        return all
    }
    function ends(s, at, open, close_,   i, c, level) { # of the bracket that begins at `at`
        for (i = at; i <= length(s); ++i) {
            c = substr(s, i, 1)
            if (c == open) ++level
            else if (c == close_ && --level == 0) return i
        }
        return 0
    }
    function defined(text,   name, i, head, template_) {
        template_ = ""
        while (text ~ /^template </ && (i = ends(text, 10, "<", ">"))) {
            template_ = template_ substr(text, 1, i) " "
            text = trim(substr(text, i + 1))
            if (text ~ /^requires/) return # as long as there is no other way to say where a clause ends
        }
        if (match(text, /^(struct|class|union|enum class|enum) (\[\[[a-z]+\]\] )?[a-z_0-9A-Z]+( final)?( *: [^;{]*)? *\{/)) {
            name = substr(text, RSTART, RLENGTH)
            sub(/^(struct|class|union|enum class|enum) (\[\[[a-z]+\]\] )?/, "", name)
            sub(/[^a-z_0-9A-Z].*$/, "", name)
            key = where() name
        } else {
            if (text ~ /^(static|using|typedef|extern|friend|static_assert|namespace|#|asm)/) return
            i = index(text, "(")
            if (!i || !(head = ends(text, i, "(", ")"))) return
            if (substr(text, head + 1) !~ /^( const)?( noexcept)?( ->[^{]*)?( :[^{]*)? *\{/) return
            name = substr(text, 1, i - 1)
            if (name !~ / [*&]*[A-Za-z_0-9:]+$/ || name ~ /=/) return
            sub(/^.* [*&]*/, "", name)
            if (name ~ /::/ || name ~ /^operator/) return # a member, of a class of one file
            key = template_ where() name "(" types_of(substr(text, i + 1, head - i - 1)) ")"
        }
        sub(/\(, /, "(", key)
        if (key in first && first[key] != FILENAME) {
            print key " is defined in " first[key] " and " FILENAME ":" FNR ": give one another name, or a namespace without one"
            bad = 1
        } else first[key] = FILENAME
    }
    function where(   i, s) { for (i = 1; i <= depth; ++i) s = s space[i] "::"; return s }
    function is_hidden(   i) { for (i = 1; i <= depth; ++i) if (space[i] == "") return 1; return 0 }
    FNR == 1 { depth = 0; waiting = "" }
    /^namespace \{/ { enter(""); next }
    /^(inline )?namespace [A-Za-z_0-9:]+ \{/ { name = $0; sub(/^(inline )?namespace /, "", name); sub(/ *\{.*$/, "", name); enter(name); next }
    /^\} *\/\/ namespace/ { if (depth > 0) --depth; next }
    /^(#|\/\/|$)/ { if (waiting == "") next }
    depth == 0 || is_hidden() || /^(public|protected|private):/ { next }
    waiting == "" && /^[A-Za-z]/ { waiting = $0; if ($0 !~ /[;{]/) next; defined(waiting); waiting = ""; ++seen; next }
    waiting != "" { waiting = waiting " " trim($0); if ($0 ~ /[;{]/) { defined(waiting); waiting = ""; ++seen } }
    END {
        if (seen < 5000) { print "hardly any definitions were found: " seen; bad = 1 }
        exit bad
    }' "${files[@]}"
echo "${#files[@]} files, each definition in one of them"
