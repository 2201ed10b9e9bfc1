#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include <messages.hpp>

#include <tenon/core/error.hpp>
#include <tenon/io/regular_expression.hpp>

using namespace tenon;

namespace {

std::string replaced(const std::string& text, const std::string& pattern, const std::string& by, bool all = true) {
    const regular_expression e("regex", pattern);
    return e.replace(text, e.read_rewrite("regex", by), all);
}
std::string complaint(const std::string& pattern) {
    return message_of<invalid_argument_error>([&] { regular_expression("regex", pattern); });
}

} // namespace

TEST_CASE("regular_expression: what patterns mean") {
    CHECK(replaced("good<br />bad<br />", "<br />", " ") == "good bad ");
    CHECK(replaced("good<br />bad<br />", "<br />", " ", false) == "good bad<br />");
    CHECK(replaced("<a><b>", "<.*?>", "x") == "xx");
    CHECK(replaced("<a><b>", "<.*>", "x") == "x");
    CHECK(replaced("2024-06-11", R"((\d+)-(\d+)-(\d+))", "$3.$2.$1 ($&, $$5)") == "11.06.2024 (2024-06-11, $5)");
    CHECK(replaced("a1_b-2", "\\W|[^\\w]", "") == "a1_b2");
    CHECK(replaced("  a \t b ", R"(^\s+|\s+$)", "") == "a \t b");
    CHECK(replaced("word words", R"(\bword\b)", "W") == "W words");
    CHECK(replaced("words", R"(\Bo)", "0") == "w0rds");
    CHECK(replaced("aaaa", "a{2}", "x") == "xx");
    CHECK(replaced("aaaaa", "a{2,3}", "x") == "xx");
    CHECK(replaced("aaaaa", "a{2,}?", "x") == "xxa");
    CHECK(replaced("abcd", "b|bc|c", "x") == "axxd"); // the first that fits, not the longest
    CHECK(replaced("a.b*c", R"(\.|\*)", "") == "abc");
    CHECK(replaced("a]-b", R"([\]-])", "") == "ab");
    CHECK(replaced("tab\tA", R"([\t\x41])", "") == "tab");
    CHECK(replaced(std::string("a\0b", 3), "\\0", "-") == "a-b");
    CHECK(replaced("a\nb", "a.b", "x") == "a\nb");
    CHECK(replaced("ab", "(?:a|(b))", "[$1]") == "[][b]");
}

TEST_CASE("regular_expression: empty matches") { // as JavaScript's replace has them
    CHECK(replaced("abc", "x*", "-") == "-a-b-c-");
    CHECK(replaced("aaa", "a*", "x") == "xx");
    CHECK(replaced("", "^$", "x") == "x");
    CHECK(replaced("baac", "a*?", "x") == "xbxaxaxcx");
    CHECK(replaced("ab", "(|a)*", "<$&>") == "<a><>b<>");
    CHECK(replaced("aa", "(|a)+", "<$&>") == "<aa><>");
}

TEST_CASE("regular_expression: texts are characters of UTF-8") {
    CHECK(replaced("\u00e9t\u00e9", "\u00e9", "e") == "ete");
    CHECK(replaced("\u00e9t\u00e9", ".", "x") == "xxx");
    CHECK(replaced("a\u00e9\u4e2d\U0001F600", "[^a]", "x") == "axxx");
    CHECK(replaced("\u4e2d\u6587", "[\u4e00-\u9fff]+", "x") == "x");
    CHECK(replaced("\u4e2d", "\\u4e2d", "x") == "x");
    CHECK(replaced("a\xff\xc3", "[^a]", "x") == "axx"); // bytes of no character are left alone by none
    CHECK(replaced("\u00e9", "x*", "-") == "-\u00e9-");
}

TEST_CASE("regular_expression: what is no pattern") {
    CHECK(complaint("a(b") == "regex: the pattern \"a(b\" is not right at byte 3: a bracket does not end");
    for (const char* pattern :
         {"(",  ")",   "[",     "[a",      "*",      "a**",   "a|*",     "a{",   "a{2",   "a{3,2}", "a{1001}",
          "\\", "\\q", "(?=a)", "(?<a>b)", "(a)\\1", "[b-a]", "[\\d-z]", "\\x1", "\\u12", "(?"})
        CHECK(complaint(pattern).find("regex: the pattern ") == 0);
    CHECK(complaint("((a{100}){100}){100}").find("it is too large") != std::string::npos);
    CHECK(complaint(std::string(300, '(') + std::string(300, ')')).find("nested") != std::string::npos);
    const regular_expression e("regex", "(a)");
    CHECK(message_of<invalid_argument_error>([&] { e.read_rewrite("regex", "$2"); }) ==
          "regex: $2 in \"$2\", and the pattern has 1 group; a dollar sign is $$");
}

TEST_CASE("regular_expression: long texts and patterns that others choke on") {
    const std::string text(200000, 'a');
    CHECK(replaced(text, "(a|b)*", "x") == "xx");
    CHECK(replaced(text, "((a)|(b))*c", "x") == text);
    const std::string some(2000, 'a');
    CHECK(replaced(some, "(a+)+$", "x") == "x");
    CHECK(replaced(some + "b", "^(a+)+$", "x") == some + "b");
    CHECK(replaced(std::string(30, 'a'), "(?:a?){30}a{30}", "x") == "x");
}

TEST_CASE("regular_expression: random patterns find what std::regex finds") {
    for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
        std::mt19937_64 random(seed);
        const auto below = [&](std::uint64_t n) { return random() % n; };
        // What is repeated is not empty: there engines differ.
        const auto atom = [&](auto&& self, int depth) -> std::string {
            switch (below(depth > 0 ? 8 : 5)) {
            case 0: return "a";
            case 1: return "b";
            case 2: return ".";
            case 3: return below(2) ? "[ab]" : "[^b-c]";
            case 4: return below(2) ? "\\w" : "c";
            case 5: return "(" + self(self, depth - 1) + self(self, depth - 1) + ")";
            case 6: return "(?:" + self(self, depth - 1) + "|" + self(self, depth - 1) + ")";
            default: return "(" + self(self, depth - 1) + "|" + self(self, depth - 1) + self(self, depth - 1) + ")";
            }
        };
        std::string pattern;
        for (std::uint64_t n = 1 + below(4); n > 0; --n) {
            if (below(12) == 0) pattern += below(2) ? "\\b" : below(2) ? "^" : "$";
            pattern += atom(atom, 2);
            if (below(2))
                pattern +=
                    std::vector<std::string>{"*", "+", "?", "{2}", "{1,2}", "{2,}"}[below(6)] + (below(3) ? "" : "?");
        }
        const std::regex theirs(pattern);
        const regular_expression ours("regex", pattern);
        REQUIRE(static_cast<std::size_t>(ours.groups()) == theirs.mark_count());
        for (int texts = 0; texts < 5; ++texts) {
            std::string text;
            for (std::uint64_t n = below(9); n > 0; --n) text += "abcc -"[below(6)];
            INFO("seed " << seed << ", pattern " << pattern << ", text " << text);
            std::smatch m;
            const bool found = std::regex_search(text, m, theirs);
            std::vector<std::size_t> ends(2);
            REQUIRE(ours.find(text, 0, ends) == found);
            if (!found) continue;
            CHECK(ends[0] == static_cast<std::size_t>(m.position(0)));
            CHECK(ends[1] == static_cast<std::size_t>(m.position(0) + m.length(0)));
        }
    }
}
