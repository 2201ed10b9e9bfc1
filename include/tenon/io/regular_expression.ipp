#pragma once

#include <algorithm>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/io/element_text.hpp>
#include <tenon/io/regular_expression.hpp>

namespace tenon {

namespace detail {

struct utf8_character {
    std::uint32_t code;
    std::uint32_t bytes;
};
// A byte that is a part of no character is one beyond all characters.
inline constexpr std::uint32_t last_character = 0x10FFFF, stray_byte = 0x110000;
inline utf8_character character_at(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i]));
    };
    const std::uint32_t first = byte(0);
    if (first < 0x80) return {first, 1};
    const std::uint32_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() - at < bytes) return {stray_byte + first, 1};
    std::uint32_t code = first & (0x7Fu >> bytes);
    for (std::uint32_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return {stray_byte + first, 1};
        code = code << 6 | (byte(i) & 0x3F);
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[bytes] || code > last_character || (code >= 0xD800 && code < 0xE000))
        return {stray_byte + first, 1};
    return {code, bytes};
}
inline std::uint32_t first_byte_of(std::uint32_t code) noexcept {
    if (code < 0x80) return code;
    if (code >= stray_byte) return code - stray_byte;
    return code < 0x800 ? 0xC0 | code >> 6 : code < 0x10000 ? 0xE0 | code >> 12 : 0xF0 | code >> 18;
}

} // namespace detail

class regular_expression::compiler {
public:
    compiler(const std::string& who, std::string_view pattern, regular_expression& to) :
        who_(who), text_(pattern), to_(to) {}

    void compile() {
        fragment all = alternatives(0);
        if (at_ < text_.size()) fail("a bracket ends that did not begin");
        to_.program_ = std::move(all.code);
        to_.program_.push_back({kind::match});
    }

private:
    // Code whose jumps are relative, so that it can be repeated.
    struct fragment {
        std::vector<instruction> code;
        bool may_be_empty = false;
    };
    static constexpr std::size_t most_instructions = 10000;
    static constexpr int deepest = 200;
    static constexpr std::int32_t endless = -1;

    [[noreturn]] void fail(const std::string& why) const {
        throw invalid_argument_error(who_ + ": the pattern " + detail::shown_text(text_) + " is not right at byte " +
                                     std::to_string(at_) + ": " + why);
    }
    bool comes(char c) const { return at_ < text_.size() && text_[at_] == c; }
    bool take(char c) {
        if (!comes(c)) return false;
        ++at_;
        return true;
    }
    std::uint32_t take_character() {
        const detail::utf8_character c = detail::character_at(text_, at_);
        at_ += c.bytes;
        return c.code;
    }
    static std::int32_t size_of(const fragment& f) { return static_cast<std::int32_t>(f.code.size()); }
    void append(fragment& to, const fragment& f) const {
        if (to.code.size() + f.code.size() + 2 > most_instructions) fail("it is too large");
        to.code.insert(to.code.end(), f.code.begin(), f.code.end());
    }

    fragment alternatives(int depth) {
        fragment first = sequence(depth);
        if (!take('|')) return first;
        const fragment rest = alternatives_behind(depth);
        fragment both;
        both.code.push_back({kind::split, 1, size_of(first) + 2});
        append(both, first);
        both.code.push_back({kind::jump, size_of(rest) + 1});
        append(both, rest);
        both.may_be_empty = first.may_be_empty || rest.may_be_empty;
        return both;
    }
    // As many as there are, without going deeper for each.
    fragment alternatives_behind(int depth) {
        std::vector<fragment> all;
        do all.push_back(sequence(depth));
        while (take('|'));
        fragment made = std::move(all.back());
        for (std::size_t i = all.size() - 1; i-- > 0;) {
            fragment both;
            both.code.push_back({kind::split, 1, size_of(all[i]) + 2});
            append(both, all[i]);
            both.code.push_back({kind::jump, size_of(made) + 1});
            append(both, made);
            both.may_be_empty = all[i].may_be_empty || made.may_be_empty;
            made = std::move(both);
        }
        return made;
    }
    fragment sequence(int depth) {
        fragment all;
        all.may_be_empty = true;
        while (at_ < text_.size() && !comes('|') && !comes(')')) {
            const fragment next = repeated(atom(depth));
            append(all, next);
            all.may_be_empty = all.may_be_empty && next.may_be_empty;
        }
        return all;
    }

    fragment repeated(fragment f) {
        std::int32_t least = 1, most = 1;
        if (take('*')) least = 0, most = endless;
        else if (take('+')) most = endless;
        else if (take('?')) least = 0;
        else if (take('{')) {
            least = count();
            most = take(',') ? comes('}') ? endless : count() : least;
            if (!take('}')) fail("a number of times is {2}, {2,} or {2,4}");
            if (most != endless && most < least) fail("a number of times goes from less to more");
        } else return f;
        const bool lazy = take('?');
        if (comes('*') || comes('+') || comes('?') || comes('{')) fail("it is repeated already");

        const auto split = [lazy](std::int32_t inside, std::int32_t behind) {
            return lazy ? instruction{kind::split, behind, inside} : instruction{kind::split, inside, behind};
        };
        fragment all;
        all.may_be_empty = least == 0 || f.may_be_empty;
        // x+ goes back to itself; one that may be empty is x x*, so that the threads that come again are those that took
        // something.
        const bool goes_back = most == endless && least > 0 && !f.may_be_empty;
        for (std::int32_t i = 0; i < least - (goes_back ? 1 : 0); ++i) append(all, f);
        if (goes_back) {
            append(all, f);
            all.code.push_back(split(-size_of(f), 1));
        } else if (most == endless) {
            all.code.push_back(split(1, size_of(f) + 2));
            append(all, f);
            all.code.push_back({kind::jump, -size_of(f) - 1});
        } else {
            const std::int32_t more = most - least, each = size_of(f) + 1;
            for (std::int32_t i = 0; i < more; ++i) {
                all.code.push_back(split(1, each * (more - i)));
                append(all, f);
            }
        }
        return all;
    }
    std::int32_t count() {
        std::int32_t n = 0;
        if (at_ == text_.size() || text_[at_] < '0' || text_[at_] > '9')
            fail("a number of times is {2}, {2,} or {2,4}");
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            n = n * 10 + (text_[at_] - '0');
            if (n > 1000) fail("it is repeated more than 1000 times");
        }
        return n;
    }

    fragment atom(int depth) {
        switch (text_[at_]) {
        case '(': ++at_; return group(depth);
        case '[': ++at_; return of_set(set());
        case '.': ++at_; return of_set(complement({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}));
        case '^': ++at_; return assertion(kind::text_begin);
        case '$': ++at_; return assertion(kind::text_end);
        case '*':
        case '+':
        case '?':
        case '{': fail("there is nothing to repeat");
        case '\\': {
            if (at_ + 1 < text_.size() && (text_[at_ + 1] == 'b' || text_[at_ + 1] == 'B')) {
                at_ += 2;
                return assertion(text_[at_ - 1] == 'b' ? kind::word_edge : kind::no_word_edge);
            }
            ranges of_class;
            if (class_escape(of_class)) return of_set(std::move(of_class));
            return of_character(escape(false));
        }
        default: return of_character(take_character());
        }
    }
    fragment group(int depth) {
        if (depth == deepest) fail("brackets are nested more than " + std::to_string(deepest) + " deep");
        fragment all;
        int number = 0;
        if (take('?')) {
            if (!take(':')) fail("of groups (x) and (?:x) are there; neither looks ahead or behind, nor has a name");
        } else {
            number = ++to_.groups_;
            all.code.push_back({kind::save, 2 * number});
        }
        const fragment inside = alternatives(depth + 1);
        if (!take(')')) fail("a bracket does not end");
        append(all, inside);
        if (number > 0) all.code.push_back({kind::save, 2 * number + 1});
        all.may_be_empty = inside.may_be_empty;
        return all;
    }
    static fragment of_character(std::uint32_t c) { return {{{kind::character, static_cast<std::int32_t>(c)}}, false}; }
    static fragment assertion(kind k) { return {{{k}}, true}; }
    fragment of_set(ranges set) {
        to_.sets_.push_back(std::move(set));
        return {{{kind::set, static_cast<std::int32_t>(to_.sets_.size() - 1)}}, false};
    }

    static ranges sorted(ranges r) {
        std::sort(r.begin(), r.end());
        ranges one;
        for (const auto& [from, to] : r) {
            if (!one.empty() && from <= one.back().second + 1) one.back().second = std::max(one.back().second, to);
            else one.push_back({from, to});
        }
        return one;
    }
    static ranges complement(const ranges& r) {
        ranges others;
        std::uint32_t from = 0;
        for (const auto& [begin, end] : sorted(r)) {
            if (begin > from) others.push_back({from, begin - 1});
            from = end + 1;
        }
        others.push_back({from, detail::stray_byte + 255});
        return others;
    }
    bool class_escape(ranges& to) {
        if (at_ + 1 >= text_.size()) return false;
        const char c = text_[at_ + 1];
        switch (c | 0x20) {
        case 'd': to = {{'0', '9'}}; break;
        case 'w': to = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; break;
        case 's':
            to = {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                  {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
            break;
        default: return false;
        }
        at_ += 2;
        if (c < 'a') to = complement(to);
        return true;
    }
    // A character that is written with a backslash.
    std::uint32_t escape(bool in_set) {
        if (++at_ == text_.size()) fail("it ends with a backslash");
        const char c = text_[at_];
        if (c >= '1' && c <= '9') fail("back references are not there");
        const bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        if (!letter && c != '0') return take_character();
        ++at_;
        switch (c) {
        case 't': return '\t';
        case 'n': return '\n';
        case 'r': return '\r';
        case 'f': return '\f';
        case 'v': return '\v';
        case '0': return 0;
        case 'x': return hexadecimal(2);
        case 'u': return hexadecimal(4);
        case 'b':
            if (in_set) return '\b';
            break;
        default: break;
        }
        fail(std::string("\\") + c + " means nothing");
    }
    std::uint32_t hexadecimal(int digits) {
        std::uint32_t n = 0;
        for (; digits > 0; --digits, ++at_) {
            const char c = at_ < text_.size() ? text_[at_] : '?';
            const int v = c >= '0' && c <= '9'                     ? c - '0'
                          : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                   : -1;
            if (v < 0) fail("hexadecimal digits are missing");
            n = n * 16 + static_cast<std::uint32_t>(v);
        }
        return n;
    }
    ranges set() {
        const bool others = take('^');
        ranges all;
        while (!take(']')) {
            if (at_ == text_.size()) fail("a set of characters does not end");
            ranges one = of_one();
            const bool range = comes('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
            if (range) {
                ++at_;
                const ranges last = of_one();
                if (one.size() != 1 || last.size() != 1 || one[0].first != one[0].second ||
                    last[0].first != last[0].second || last[0].first < one[0].first)
                    fail("a range goes from one character to a later one");
                one[0].second = last[0].first;
            }
            all.insert(all.end(), one.begin(), one.end());
        }
        return others ? complement(all) : sorted(std::move(all));
    }
    ranges of_one() {
        ranges r;
        if (comes('\\')) {
            if (class_escape(r)) return r;
            const std::uint32_t c = escape(true);
            return {{c, c}};
        }
        const std::uint32_t c = take_character();
        return {{c, c}};
    }

    const std::string& who_;
    std::string_view text_;
    std::size_t at_ = 0;
    regular_expression& to_;
};

// The threads at a place of the text: instructions that wait for its character, the preferred first, each once, and where the
// groups of each began and ended.
class regular_expression::matcher {
public:
    matcher(const regular_expression& e, std::string_view text, std::size_t slots) :
        e_(e),
        text_(text),
        slots_(slots),
        now_(e.program_.size(), slots),
        next_(e.program_.size(), slots),
        own_(slots) {}

    bool find(std::size_t from, std::vector<std::size_t>& ends) {
        bool found = false;
        now_.clear();
        for (std::size_t at = from;;) {
            if (now_.count == 0) {
                if (found) return true;
                if (!e_.may_be_empty_)
                    while (at < text_.size() && !e_.first_bytes_[static_cast<unsigned char>(text_[at])]) ++at;
            }
            if (!found) {
                std::fill(own_.begin(), own_.end(), npos);
                add(now_, 0, at);
            }
            const detail::utf8_character c =
                at < text_.size() ? detail::character_at(text_, at) : detail::utf8_character{0, 0};
            next_.clear();
            for (std::size_t i = 0; i < now_.count; ++i) {
                const std::int32_t pc = now_.threads[i];
                const instruction& is = e_.program_[static_cast<std::size_t>(pc)];
                const std::size_t* const groups = now_.groups_of(pc);
                if (is.what == kind::match) {
                    std::copy(groups, groups + slots_, ends.begin());
                    found = true;
                    break; // the others are preferred less
                }
                if (c.bytes == 0 || (is.what != kind::character && is.what != kind::set)) continue;
                const bool goes_on = is.what == kind::character
                                         ? static_cast<std::uint32_t>(is.a) == c.code
                                         : e_.holds(e_.sets_[static_cast<std::size_t>(is.a)], c.code);
                if (!goes_on) continue;
                std::copy(groups, groups + slots_, own_.begin());
                add(next_, pc + 1, at + c.bytes);
            }
            std::swap(now_, next_);
            if (c.bytes == 0) return found;
            at += c.bytes;
        }
    }

private:
    struct list {
        list(std::size_t instructions, std::size_t slots_each) :
            threads(instructions), place(instructions), groups(instructions * slots_each), slots(slots_each) {}
        void clear() noexcept { count = 0; }
        bool has(std::int32_t pc) const noexcept {
            const std::size_t p = place[static_cast<std::size_t>(pc)];
            return p < count && threads[p] == pc;
        }
        std::size_t* groups_of(std::int32_t pc) noexcept {
            return groups.data() + static_cast<std::size_t>(pc) * slots;
        }
        std::vector<std::int32_t> threads;
        std::vector<std::size_t> place; // of an instruction in `threads`, if it is there
        std::vector<std::size_t> groups;
        std::size_t slots, count = 0;
    };
    struct visit {
        std::int32_t pc; // or -1: `slot` is again what it was
        std::int32_t slot;
        std::size_t was;
    };

    // A thread at `pc`, with the groups in own_, and those that it becomes without a character.
    void add(list& to, std::int32_t first, std::size_t at) {
        visits_.push_back({first, 0, 0});
        while (!visits_.empty()) {
            const visit v = visits_.back();
            visits_.pop_back();
            if (v.pc < 0) {
                own_[static_cast<std::size_t>(v.slot)] = v.was;
                continue;
            }
            if (to.has(v.pc)) continue;
            to.place[static_cast<std::size_t>(v.pc)] = to.count;
            to.threads[to.count++] = v.pc;
            const instruction& is = e_.program_[static_cast<std::size_t>(v.pc)];
            switch (is.what) {
            case kind::split:
                visits_.push_back({v.pc + is.b, 0, 0});
                visits_.push_back({v.pc + is.a, 0, 0});
                break;
            case kind::jump: visits_.push_back({v.pc + is.a, 0, 0}); break;
            case kind::save:
                if (const auto slot = static_cast<std::size_t>(is.a); slot < slots_) {
                    visits_.push_back({-1, is.a, own_[slot]});
                    own_[slot] = at;
                }
                visits_.push_back({v.pc + 1, 0, 0});
                break;
            case kind::text_begin:
                if (at == 0) visits_.push_back({v.pc + 1, 0, 0});
                break;
            case kind::text_end:
                if (at == text_.size()) visits_.push_back({v.pc + 1, 0, 0});
                break;
            case kind::word_edge:
            case kind::no_word_edge:
                if ((is_word(at - 1) != is_word(at)) == (is.what == kind::word_edge))
                    visits_.push_back({v.pc + 1, 0, 0});
                break;
            case kind::match:
            case kind::character:
            case kind::set:
                std::copy(own_.begin(), own_.end(), to.groups_of(v.pc));
                if (is.what == kind::match) to.groups_of(v.pc)[1] = at;
                break;
            }
        }
    }
    bool is_word(std::size_t at) const noexcept { // beyond the text nothing is
        const char c = at < text_.size() ? text_[at] : ' ';
        return (c >= '0' && c <= '9') || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    }

    const regular_expression& e_;
    std::string_view text_;
    std::size_t slots_;
    list now_, next_;
    std::vector<std::size_t> own_;
    std::vector<visit> visits_;
};

TENON_INLINE regular_expression::regular_expression(const std::string& who, std::string_view pattern) {
    compiler(who, pattern, *this).compile();
    program_.insert(program_.begin(), {kind::save, 0}); // jumps are relative
    find_first_bytes();
}

TENON_INLINE bool regular_expression::holds(const ranges& set, std::uint32_t c) const noexcept {
    const auto behind =
        std::upper_bound(set.begin(), set.end(), c, [](std::uint32_t v, const auto& range) { return v < range.first; });
    return behind != set.begin() && std::prev(behind)->second >= c;
}

TENON_INLINE void regular_expression::find_first_bytes() {
    std::vector<bool> seen(program_.size());
    std::vector<std::int32_t> visits{0};
    while (!visits.empty()) {
        const std::int32_t pc = visits.back();
        visits.pop_back();
        if (seen[static_cast<std::size_t>(pc)]) continue;
        seen[static_cast<std::size_t>(pc)] = true;
        const instruction& is = program_[static_cast<std::size_t>(pc)];
        switch (is.what) {
        case kind::split: visits.push_back(pc + is.b); [[fallthrough]];
        case kind::jump: visits.push_back(pc + is.a); break;
        case kind::match: may_be_empty_ = true; break;
        case kind::character: first_bytes_[detail::first_byte_of(static_cast<std::uint32_t>(is.a)) & 255] = true; break;
        case kind::set:
            for (std::uint32_t b = 0; b < 256; ++b)
                if (b >= 0x80 || holds(sets_[static_cast<std::size_t>(is.a)], b)) first_bytes_[b] = true;
            break;
        default: visits.push_back(pc + 1);
        }
    }
}

TENON_INLINE bool regular_expression::find(std::string_view text, std::size_t from,
                                           std::vector<std::size_t>& ends) const {
    if (from > text.size()) return false;
    if (ends.size() < 2) ends.resize(2);
    return matcher(*this, text, ends.size()).find(from, ends);
}

TENON_INLINE regular_expression::rewrite regular_expression::read_rewrite(const std::string& who,
                                                                          std::string_view text) const {
    rewrite all;
    std::string plain;
    const auto add_group = [&](int g) {
        if (!plain.empty()) all.push_back({std::move(plain), -1});
        plain.clear();
        all.push_back({{}, g});
    };
    const auto digit = [&](std::size_t i) {
        return i < text.size() && text[i] >= '0' && text[i] <= '9' ? text[i] - '0' : -1;
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char behind = text[i] == '$' && i + 1 < text.size() ? text[i + 1] : '\0';
        if (behind == '$') plain += '$', ++i;
        else if (behind == '&') add_group(0), ++i;
        else if (behind >= '1' && behind <= '9') {
            int g = digit(++i);
            if (const int more = digit(i + 1); more >= 0 && g * 10 + more <= groups_) g = g * 10 + more, ++i;
            if (g > groups_)
                throw invalid_argument_error(who + ": $" + std::to_string(g) + " in " + detail::shown_text(text) +
                                             ", and the pattern has " + std::to_string(groups_) +
                                             (groups_ == 1 ? " group" : " groups") + "; a dollar sign is $$");
            add_group(g);
        } else plain += text[i];
    }
    if (!plain.empty()) all.push_back({std::move(plain), -1});
    return all;
}

TENON_INLINE std::string regular_expression::replace(std::string_view text, const rewrite& by, bool all) const {
    int last = 0;
    for (const piece& p : by) last = std::max(last, p.group);
    std::vector<std::size_t> ends(2 * static_cast<std::size_t>(last) + 2);
    matcher m(*this, text, ends.size());
    std::string made;
    std::size_t done = 0; // up to here the text is in `made`
    for (std::size_t from = 0; from <= text.size() && m.find(from, ends);) {
        made.append(text, done, ends[0] - done);
        for (const piece& p : by) {
            if (p.group < 0) made += p.text;
            else if (const auto g = 2 * static_cast<std::size_t>(p.group); ends[g] != npos && ends[g + 1] != npos)
                made.append(text, ends[g], ends[g + 1] - ends[g]);
        }
        done = ends[1];
        if (!all) break;
        from = ends[1] > ends[0] ? done : done + (done < text.size() ? detail::character_at(text, done).bytes : 1);
    }
    made.append(text, std::min(done, text.size()), std::string::npos);
    return made;
}

} // namespace tenon
