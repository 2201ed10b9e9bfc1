#!/usr/bin/env bash
# docs/ops.md is made of the comments and declarations of public functions on tensors (include/tenon/ops, losses), of the ops and
# instructions that they are made of, and of docs/gpu.md's table, which says what these take where. A function without a comment is told so.
# The headers are read as clang-format writes them: what is declared in a namespace begins its line.
#
#   ops_page.sh REPOSITORY [--write]
set -euo pipefail
cd "$1"
export LC_ALL=C
page=docs/ops.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Not: what initialisers and collectives are made with, which users give to others.
headers=$(find include/tenon/ops -name '*.hpp' | sort |
    grep -vE '/hints\.hpp|untyped_formulas\.hpp|_kernel\.hpp|/initializers\.hpp|/collective/|/expr/')
layers=$(find include/tenon/nn -name '*.hpp' | sort | grep -vE '/(activation|layer|split_parameter|ensemble)\.hpp')
training=$(find include/tenon/train/optimize -name '*.hpp' | sort | grep -vE '/(tape_writer|given_gradients|gradient_and_variable|global_counter)\.hpp')
# shellcheck disable=SC2086 # a list of files
awk '
    function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
    # The place of the bracket that ends what begins at `at`.
    function closing(s, at, open, close_,   depth, i, c) {
        for (i = at; i <= length(s); ++i) {
            c = substr(s, i, 1)
            if (c == open) ++depth
            else if (c == close_ && --depth == 0) return i
        }
        return 0
    }
    # Splits at commas outside of brackets.
    function parts(s, into,   n, i, c, depth, piece) {
        n = 0; depth = 0; piece = ""
        for (i = 1; i <= length(s); ++i) {
            c = substr(s, i, 1)
            if (c ~ /[<({[]/) ++depth
            if (c ~ /[])>}]/) --depth
            if (c == "," && depth == 0) { into[++n] = trim(piece); piece = "" } else piece = piece c
        }
        if (trim(piece) != "") into[++n] = trim(piece)
        return n
    }
    function last_word(s) {
        sub(/ *=.*$/, "", s)
        if (match(s, /\(&+[a-z_0-9]+\)/)) { s = substr(s, RSTART, RLENGTH - 1); sub(/^\(&+/, "", s); return s } # an array in braces
        return match(s, /[A-Za-z_0-9]+$/) ? substr(s, RSTART) : ""
    }

    # How a function is called: what of its template arguments no parameter tells, and the names of its parameters.
    function call_of(template_, name, parameters,   n, m, all, p, shown, list, i, word) {
        n = parts(parameters, all)
        list = ""
        for (i = 1; i <= n; ++i) {
            p = all[i]
            if (p ~ /^called_from / || (p ~ /= \{\}$/ && p !~ /[a-z_0-9] = \{\}$/)) continue
            word = last_word(p)
            if (word == "" || p !~ /[ &*.]/ || (p ~ /^[A-Z]$/)) continue
            if (p ~ /\.\.\./) word = word ".."
            list = list (list == "" ? "" : ", ") word
        }
        m = parts(template_, all)
        shown = ""
        for (i = 1; i <= m; ++i) {
            word = last_word(all[i])
            if (word == "" || (" " parameters " ") ~ ("[^A-Za-z_0-9]" word "[^A-Za-z_0-9]")) continue
            if (all[i] ~ /\.\.\./) word = word ".."
            shown = shown (shown == "" ? "" : ", ") word
        }
        if (name ~ /^operator/) {
            sub(/^operator/, "", name)
            n = split(list, all, ", ")
            return n == 1 ? name all[1] : all[1] " " name " " all[2]
        }
        return name (shown == "" ? "" : "<" shown ">") "(" list ")"
    }
    function words_of(s, pattern, into,   n, rest) { # each different match, in order
        n = 0; rest = s
        delete seen_word
        while (match(rest, pattern)) {
            word = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH)
            if (!(word in seen_word)) { seen_word[word] = 1; into[++n] = word }
        }
        return n
    }

    # Layers and what trains them: classes, and functions, which have words alone.
    function in_words(text, comment,   head, template_, end, name, n, all, i, shown) {
        head = text; template_ = ""
        if (spaces ~ /detail/) return
        while (head ~ /^template </) {
            end = closing(head, 10, "<", ">")
            template_ = template_ (template_ == "" ? "" : ", ") substr(head, 11, end - 11)
            head = trim(substr(head, end + 1))
        }
        if (match(head, /^(class|struct) [a-z_0-9]+/)) {
            name = substr(head, RSTART, RLENGTH); sub(/^[a-z]+ /, "", name)
            if (head !~ /\{/ || name ~ /_(options|rule)$/ || substr(head, RLENGTH + 1, 1) == "<") return # or it is specialized
            sub(/_(layer|optimizer)$/, "", name)
            if (comment == "") {
                print file ": " name " has no comment: say in lines of /// before it what it is, and of what sizes" > "/dev/stderr"
                bad = 1
            }
            n = parts(template_, all); shown = ""
            for (i = 1; i <= n; ++i)
                if (all[i] !~ /^(class|typename|Element|Operand|std::size_t\.)/ || all[i] ~ /^Element/) shown = shown (shown == "" ? "" : ", ") last_word(all[i])
            name = name (shown == "" ? "" : "<" shown ">")
        } else {
            if (comment == "" || head ~ /^(using|enum|concept|inline constexpr|constexpr|static_assert|friend|requires|ill_shaped)/) return
            if (!match(head, /[a-z][a-z_0-9]*\(/) || RSTART == 1 || substr(head, RSTART - 1, 1) !~ /[ *&]/) return
            name = substr(head, RSTART, RLENGTH - 1)
            end = closing(head, RSTART + RLENGTH - 1, "(", ")")
            name = call_of(template_, name, substr(head, RSTART + RLENGTH, end - RSTART - RLENGTH))
        }
        rows_of[file] = rows_of[file] "| `" name "` | " escaped(comment) " |\n"
    }
    # A declaration in a namespace, whole, with the comment before it.
    function chunk(text, comment,   head, template_, end, name, parameters, key, at) {
        if (text ~ /= detail::not_given/) return # of the operands of a pack, where they are few
        sub(/ const making made\((here|[a-z]+\.at)\);/, "", text)
        if (match(text, /^(template <.*> )?struct [a-z_0-9]+(_op|_rule)[ :]/)) {
            if (text !~ /\{/) return
            name = substr(text, RSTART, RLENGTH); sub(/^.*struct /, "", name); sub(/.$/, "", name)
            if (name ~ /_op$/ && match(text, /name = "[a-z_0-9]+"/)) op_name[name] = substr(text, RSTART + 8, RLENGTH - 9)
            if (match(text, /: [a-z_0-9]+_(op|rule|reduction)[ <{]/)) base_of[name] = trim(substr(text, RSTART + 2, RLENGTH - 3))
            has_gradient[name] = text ~ /void gradient\(gradient_context/
            body_of[name] = text
            return
        }
        if (spaces ~ /detail/) return
        head = text; template_ = ""
        while (head ~ /^template </) {
            end = closing(head, 10, "<", ">")
            template_ = template_ (template_ == "" ? "" : ", ") substr(head, 11, end - 11)
            head = trim(substr(head, end + 1))
        }
        if (head ~ /^requires/) {
            if (match(head, /^requires ?\(/)) head = trim(substr(head, closing(head, RLENGTH, "(", ")") + 1))
            else if (match(head, / (auto|any_tensor|operation|inline|tensor<|std::vector)/)) head = trim(substr(head, RSTART))
        }
        if (head ~ /^(struct|class|enum|using|concept|static_assert|friend|return|inline constexpr|constexpr|extern|TENON_|(inline )?ill_shaped |\[\[noreturn)/) return
        if (!match(head, /(operator ?[^ (a-z]+|[a-z][a-z_0-9]*)\(/) || RSTART == 1) return
        if (substr(head, RSTART - 1, 1) !~ /[ *&]/) return
        name = substr(head, RSTART, RLENGTH - 1); at = RSTART + RLENGTH - 1
        end = closing(head, at, "(", ")")
        parameters = substr(head, at + 1, end - at - 1)
        if (text ~ /static_assert\(detail::is_mistake|detail::Untyped(Tensor|Beside)/) return # it says what to write instead; a twin
        if (substr(head, 1, at) ~ /^void / || name ~ /^(add_gradients)$/) return
        # The names of one instruction are one function.
        if (file ~ /expr\/tree/) { # of the trees, this one alone is of every day
            if (name != "cast") return
            file = "include/tenon/ops/elementwise/elementwise.hpp"
        }
        key = file SUBSEP (match(text, /\{ return elementwise<opcode::[a-z_0-9]+>\([^{}]*\}$/) && text !~ /\{.*\{/ ? substr(text, RSTART, index(substr(text, RSTART), ">")) : name)
        if (!(key in calls)) { order[++functions] = key; name_of[key] = name; file_of[key] = file; public[name] = 1 }
        call = "`" call_of(template_, name, parameters) "`"; gsub(/\|/, "\\|", call)
        if (index(calls[key], call) == 0) calls[key] = calls[key] (calls[key] == "" ? "" : "<br>") call
        if (comment != "") comments[key] = comments[key] (comments[key] == "" ? "" : " ") comment
        bodies[key] = bodies[key] " " substr(head, end + 1)
    }

    # What the table of docs/gpu.md says.
    FILENAME == "docs/gpu.md" {
        if (/^\| [a-z_0-9]+ \| .* \| .* \|$/) { split($0, cell, / *\| */); cpu[cell[2]] = cell[3]; gpu[cell[2]] = cell[4] }
        next
    }
    FILENAME ~ /functions\.txt$/ {
        if (match($0, /^[a-z_0-9]+: /)) given[substr($0, 1, RLENGTH - 2)] = substr($0, RLENGTH + 1)
        next
    }
    FILENAME ~ /instructions\.inl$/ {
        if (match($0, /^TENON_(UNARY|BINARY|TERNARY)\(/)) {
            line = substr($0, RLENGTH + 1); n = parts(substr(line, 1, length(line) - 1), cell)
            group[cell[1]] = cell[2]
            slopes[cell[1]] = 0
            for (i = 3; i <= n; ++i) if (cell[i] != "none") slopes[cell[1]] = 1
        }
        next
    }
    FNR == 1 { file = FILENAME; words_only[file] = file ~ /include\/tenon\/(nn|train|onnx)\// && file !~ /losses\.hpp$/; files[++file_count] = file; spaces = ""; text = ""; comment = ""; stopped = 0; about = ""; about_done = 0; depth = 0 }
    stopped { next }
    /^#if TENON_HEADER_ONLY/ { stopped = 1; next }
    macro || /^#/ { macro = /\\$/; if (text == "") comment = ""; next }
    /^namespace [a-z_:]+ \{$/ && depth == 0 { space = $2; gsub(/::/, "/", space); spaces = spaces "/" space; about_done = 1; comment = ""; next }
    /^namespace \{$/ && depth == 0 { spaces = spaces "/unnamed"; next }
    /^\} \/\/ namespace/ { sub(/\/[^\/]*$/, "", spaces); if ($0 ~ /namespace tenon::/) spaces = ""; comment = ""; next }
    spaces == "" {
        if (!about_done && /^\/\/\//) { line = $0; sub(/^\/\/\/ ?/, "", line); about_of[file] = about_of[file] line "\n" }
        next
    }
    spaces !~ /^\/tenon(\/nn|\/detail|\/nn\/detail)?$/ { next }
    text == "" && /^$/ { comment = ""; next }
    text == "" && /^\/\/\// { line = $0; sub(/^\/\/\/ ?/, "", line); comment = comment (comment == "" ? "" : " ") trim(line); next }
    text == "" && /^\/\// { next }
    {
        line = $0; sub(/ \/\/[^"]*$/, "", line)
        bare = line; gsub(/"([^"\\]|\\.)*"/, "", bare)
        opened = gsub(/\{/, "{", bare); closed = gsub(/\}/, "}", bare)
        depth += opened - closed
        text = text (text == "" ? "" : " ") trim(line)
        if (depth == 0 && bare ~ /[;}]$/) {
            if (words_only[file]) in_words(text, comment)
            else chunk(text, comment)
            text = ""; comment = ""
        }
    }

    function of_op(struct_,   base) { # its row, or that of what it is derived from
        return (struct_ in op_name) ? op_name[struct_] : ""
    }
    function gradient_of(struct_) {
        if (has_gradient[struct_]) return 1
        return struct_ in base_of && gradient_of(base_of[struct_])
    }
    function of_rule(struct_,   t) {
        if (!(struct_ in body_of)) return ""
        t = body_of[struct_]
        if (t ~ /composite_rule<"[a-z_0-9]+", true>/ || t ~ /is_floating\(/) return "floating"
        if (t ~ /composite_rule<"[a-z_0-9]+", false>/ || t ~ /is_numeric\(/) return "numbers"
        if (t ~ /is_integer\(/) return "integers"
        return struct_ in base_of ? of_rule(base_of[struct_]) : ""
    }
    function of_opcode(o,   g) {
        g = group[o]
        if (o == "equal" || o == "not_equal") return "numbers, bool"
        if (o ~ /^shift/) return "integers"
        if (g == "real" || g == "real_test") return "floating"
        if (g == "number") return "numbers"
        if (g == "integer") return "integers, bool"
        if (g == "boolean") return "bool"
        if (g == "comparison") return "numbers"
        return "numbers, bool"
    }
    function escaped(s,   n, i, piece, text) { # "<" means itself in code
        gsub(/ \(SEMANTICS [0-9, ]+\)/, "", s)
        gsub(/\|/, "\\|", s)
        n = split(s, piece, "`")
        for (i = 1; i <= n; ++i) {
            if (i % 2) gsub(/</, "\\&lt;", piece[i])
            text = text (i > 1 ? "`" : "") piece[i]
        }
        return text
    }
    END {
        for (pass = 1; pass <= 2; ++pass) for (f = 1; f <= functions; ++f) {
            key = order[f]; name = name_of[key]; body = " " bodies[key]
            if (pass == 2 && comments[key] == "") {
                print file_of[key] ": " name " has no comment: say in lines of /// before it what it computes, and of what sizes" > "/dev/stderr"
                bad = 1
            }
            elements = on_gpu = gradient = ""
            n = words_of(body, "[a-z_0-9]+_op[^a-z_0-9]", found)
            chosen = ""
            for (i = 1; i <= n; ++i) {
                w = found[i]; sub(/.$/, "", w)
                if (of_op(w) == "" ) continue
                if (chosen == "" || of_op(w) == name) chosen = w
            }
            if (chosen != "") {
                o = of_op(chosen)
                elements = o in cpu ? cpu[o] : "-"; on_gpu = o in gpu ? gpu[o] : "-"
                gradient = gradient_of(chosen) ? "yes" : "no"
            } else if (match(body, /opcode::[a-z_0-9]+/)) {
                o = substr(body, RSTART + 8, RLENGTH - 8)
                if (o in group) { elements = of_opcode(o); on_gpu = elements; gradient = slopes[o] ? "yes" : "no" }
            }
            n = words_of(body, "[a-z_0-9]+_rule[^a-z_0-9]", found)
            for (i = 1; i <= n && elements == ""; ++i) { w = found[i]; sub(/.$/, "", w); elements = of_rule(w); on_gpu = elements }
            if (gradient == "" && body ~ /elementwise_composite/ && elements != "") gradient = "yes"
            # One that does nothing but call another is as that one.
            gsub(/static_cast</, "", body)
            if (gradient == "" && body !~ /detail::/ && words_of(body, "[a-z_][a-z_0-9]*[<(]", found) == 1) {
                w = found[1]; sub(/.$/, "", w)
                if (w in facts) { split(facts[w], fact, "; "); elements = fact[1]; on_gpu = fact[2]; gradient = fact[3] }
            }
            if (name in given) { split(given[name], fact, "; "); elements = fact[1]; on_gpu = fact[2]; gradient = fact[3]; used[name] = 1 }
            if (gradient == "") {
                if (pass == 2) {
                    print file_of[key] ": " name " is made of others: give test/layout/functions.txt a line, NAME: element types; on GPUs; gradient" > "/dev/stderr"
                    bad = 1
                }
                continue
            }
            facts[name] = elements "; " on_gpu "; " gradient
            if (pass == 1) continue
            row[key] = "| " calls[key] " | " escaped(comments[key]) " | " elements " | " (on_gpu == elements ? "the same" : on_gpu) " | " gradient " |"
            rows_of[file_of[key]] = rows_of[file_of[key]] row[key] "\n"
        }
        for (name in given) if (!(name in used)) { print "test/layout/functions.txt: there is no function " name > "/dev/stderr"; bad = 1 }
        if (functions < 250) { print "hardly any functions were found: " functions > "/dev/stderr"; bad = 1 }
        if (bad) exit 1
        theme = ""
        for (i = 1; i <= file_count; ++i) {
            file = files[i]
            if (rows_of[file] == "") continue
            t = file; sub(/\/[^\/]*$/, "", t)
            if (!sub(/^include\/tenon\/ops\//, "", t)) { sub(/^include\/tenon\//, "", t); sub(/\/.*/, "", t); if (t == "ops") t = "gradients" }
            if (t != theme) { theme = t; print "\n## " theme }
            base = file; sub(/^include\//, "", base)
            print "\n### " base "\n"
            gsub(/ \(SEMANTICS [0-9, ]+\)/, "", about_of[file])
            n = split(about_of[file], said, "\n"); code = 0
            for (j = 1; j <= n; ++j) {
                if (said[j] ~ /^    / && !code) { print "```c++"; code = 1 }
                if (said[j] !~ /^    / && code) { if (said[j] == "" && said[j + 1] ~ /^    /) { print ""; continue } print "```"; code = 0 }
                l = said[j]; if (code) sub(/^    /, "", l)
                if (!(l == "" && j == n)) print l
            }
            if (code) print "```"
            if (words_only[file]) print "\n| | what |\n|---|---|"
            else print "\n| function | what | element types | on GPUs | gradient |\n|---|---|---|---|---|"
            printf "%s", rows_of[file]
        }
        print functions " functions"  > "/dev/stderr"
    }' docs/gpu.md test/layout/functions.txt include/tenon/tape/instructions.inl $layers include/tenon/expr/tree.hpp $headers $training include/tenon/onnx/onnx.hpp include/tenon/onnx/onnx_write.hpp >"$work/rows"
{
    cat <<'EOF'
# Functions

Written by `test/layout/ops_page.sh . --write` from the headers; do not change it by hand. Every function on tensors whose types the compiler knows; all but
a few have a twin in namespace `tn::untyped`, of the same name, for tensors whose types are known at run time only. Layers and losses come first, what trains them
last; what these say is in their headers' comments.

*Element types*: *numbers* are floating (float, double, half, bfloat16) and integers; *all* are these and bool; *the same* on GPUs where the card has kernels for all
of them ([by op](gpu.md)). What has no kernel on a GPU runs on the CPU with `allow_soft_placement`. *Gradient*: whether one flows through it. "-": there is nothing to say. Elementwise functions broadcast as NumPy's do, and fuse into one pass. Template arguments (`<..>`) are axes, sizes and element types.
`<tenon/tenon.hpp>` has all of it but the headers of images, input and texts, which `<tenon/input.hpp>` has (images alone `<tenon/image.hpp>`), and ONNX's.
Variables have members beside that: `assign`, `assign_add`, `assign_sub`, `scatter_add` and its like ([state.hpp](../include/tenon/ops/state/state.hpp)).
EOF
    cat "$work/rows"
} >"$work/page"
if [ "${2:-}" = --write ]; then
    cp "$work/page" $page
elif ! diff "$page" "$work/page" >"$work/diff"; then
    head -20 "$work/diff"
    echo "$page is not what the headers say: test/layout/ops_page.sh . --write writes it anew"
    exit 1
fi
