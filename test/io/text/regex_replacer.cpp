#include <tenon/io/text/regex_replacer.hpp>

#include "tests.hpp"

using namespace tenon;

#if TENON_WITH_RE2

namespace {

std::string replaced(const std::string& text, const std::string& pattern, const std::string& by, bool global = true) {
    return regex_replacer("regex", pattern, by, global)(text);
}
std::string complaint(const std::string& pattern, const std::string& by = {}) {
    return message_of<invalid_argument_error>([&] { regex_replacer("regex", pattern, by); });
}
std::string too_large(const std::string& pattern) {
    return message_of<resource_exhausted_error>([&] { regex_replacer("regex", pattern, {}); });
}

} // namespace

TEST_CASE("regex_replacer: each match, or the first") {
    CHECK(replaced("good<br />bad<br />", "<br />", " ") == "good bad ");
    CHECK(replaced("good<br />bad<br />", "<br />", " ", false) == "good bad<br />");
    CHECK(replaced("nothing", "x", "y") == "nothing");
    CHECK(replaced("nothing", "x", "y", false) == "nothing");
}

TEST_CASE("regex_replacer: what Python's re.sub makes of the same") { // written by Python 3.11
    struct sample {
        const char *pattern, *rewrite, *text, *expected;
    };
    const sample samples[] = {
        {"<.*?>", "x", "<a><b>", "xx"},
        {"<.*>", "x", "<a><b>", "x"},
        {"(\\d+)-(\\d+)-(\\d+)", "\\3.\\2.\\1", "2024-06-11", "11.06.2024"},
        {"\\W|[^\\w]", "", "a1_b-2", "a1_b2"},
        {"^\\s+|\\s+$", "", "  a \t b ", "a \t b"},
        {"\\bword\\b", "W", "word words", "W words"},
        {"\\Bo", "0", "words", "w0rds"},
        {"a{2}", "x", "aaaa", "xx"},
        {"a{2,3}", "x", "aaaaa", "xx"},
        {"a{2,}?", "x", "aaaaa", "xxa"},
        {"b|bc|c", "x", "abcd", "axxd"},
        {"\\.|\\*", "", "a.b*c", "abc"},
        {"[\\]-]", "", "a]-b", "ab"},
        {"[\\t\\x41]", "", "tab\tA", "tab"},
        {"a.b", "x", "a\nb", "a\nb"},
        {"(?s)a.b", "x", "a\nb", "x"},
        {"(?m)^", "> ", "a\nb", "> a\n> b"},
        {"(?:a|(b))", "[\\1]", "ab", "[][b]"},
        {"x*", "-", "abc", "-a-b-c-"},
        {"^$", "x", "", "x"},
        {"(?i)HTML", "html", "Html hTML", "html html"},
        {"(?P<user>\\w+)@(\\w+)", "\\2 at \\1", "a@b c@d", "b at a d at c"},
        {"(a|ab)(c|bcd)(d*)", "[\\1,\\2,\\3]", "abcd", "[a,bcd,]"},
        {"(a+)(b+)?", "\\1!\\2", "aab a", "aa!b a!"},
        {"\u00e9", "e", "\u00e9t\u00e9", "ete"},
        {"[^a-zA-Z0-9' ]+", "", "it's <i>fine</i>, \"so\"!", "it's ifinei so"},
        {"(\\w)\\w*", "\\1", "not so long", "n s l"},
        {"[^b-d]{2}", "_", "abeefc", "ab_fc"},
    };
    for (const sample& s : samples) {
        INFO(s.pattern);
        CHECK(replaced(s.text, s.pattern, s.rewrite) == s.expected);
    }
}

TEST_CASE("regex_replacer: a rewrite's \\0 is all of the match, \\\\ a backslash, and $1 is $1") {
    CHECK(replaced("ab", "a|b", "<\\0>") == "<a><b>");
    CHECK(replaced("a.b", "\\.", R"(\\.)") == "a\\.b");
    CHECK(replaced("ab", "(a)", "$1") == "$1b");
    CHECK(replaced("123456789", "(1)(2)(3)(4)(5)(6)(7)(8)(9)", R"(\9\8\7\6\5\4\3\2\1\0)") == "987654321123456789");
}

TEST_CASE("regex_replacer: an empty match right behind another is none") {
    CHECK(replaced("aaa", "a*", "x") == "x");
    CHECK(replaced("baac", "a*", "x") == "xbxcx");
}

TEST_CASE("regex_replacer: texts are UTF-8, and other bytes stay") {
    CHECK(replaced("\u00e9t\u00e9", ".", "x") == "xxx");
    CHECK(replaced("\u4e2d\u6587 a", "[\u4e00-\u9fff]+", "x") == "x a");
    CHECK(replaced("\u00c9", "(?i)\u00e9", "x") == "x");
    CHECK(replaced("\u03b1\u03b2 ab", "\\p{Greek}+", "x") == "x ab");
    CHECK(replaced("a\xff\xc3", "[^a]|.", "x") == "x\xff\xc3");
    CHECK(replaced("a\xff\xc3", "\\C", "x") == "xxx");
    CHECK(replaced(std::string("a\0b\0", 4), std::string("\0", 1), "-") == "a-b-");
}

TEST_CASE("regex_replacer: what is no pattern is refused with RE2's words") {
    CHECK(complaint("a(b").find("regex: the pattern \"a(b\" is no regular expression: missing ") == 0);
    for (const char* pattern : {"(", ")", "[", "[a", "*", "a**", "a{3,2}", "a{1001}", "((a{100}){100})", "\\", "\\q",
                                "(?=a)", "(a)\\1", "[b-a]", "(?", "\xff"})
        CHECK(complaint(pattern).find("regex: the pattern ") == 0);
}

TEST_CASE("regex_replacer: what is no rewrite is refused when it is made") {
    CHECK(complaint("(a)", "\\2").find("regex: the rewrite \"\\2\" does not go with the pattern \"(a)\": ") == 0);
    CHECK(complaint("a", "\\x").find("regex: the rewrite \"\\x\"") == 0);
    CHECK(complaint("a", "b\\").find("regex: the rewrite \"b\\\"") == 0);
}

TEST_CASE("regex_replacer: patterns that are too large are refused") {
    CHECK(too_large("\\pL{1000}").find("regex: the pattern \"\\pL{1000}\" is too large: ") == 0);
    CHECK(too_large(std::string((32 << 10) + 1, 'a')) ==
          "regex: the pattern has 32769 bytes, more than the limit of 32768");
    std::string words = "\\b(?:"; // a large one that is none too many
    for (int i = 0; i < 3000; ++i) words += "w" + std::to_string(i * 791) + "|";
    CHECK(replaced("w791 w2 w2372209", words + "none)\\b", "x") == "x w2 x");
}

TEST_CASE("regex_replacer: long texts and patterns that engines that try again choke on") {
    const std::string text(200000, 'a');
    CHECK(replaced(text, "(a|b)*", "x") == "x");
    CHECK(replaced(text, "((a)|(b))*c", "x") == text);
    CHECK(replaced(text + "b", "^(a+)+$", "x") == text + "b");
    CHECK(replaced(std::string(30, 'a'), "(?:a?){30}a{30}", "x") == "x");
    CHECK(replaced("bab", std::string(10000, '(') + "a" + std::string(10000, ')'), "x") == "bxb");
    // An automaton of 2^20 states, of which a part fits.
    std::string bits;
    for (unsigned i = 0, state = 1; i < 30000; ++i) bits += (state = state * 1664525u + 1013904223u) >> 31 ? 'a' : 'b';
    const std::string all = replaced(bits, "(?:a|b)*a(?:a|b){19}$", "x");
    CHECK(all == (bits[bits.size() - 20] == 'a' ? "x" : bits));
}

TEST_CASE("regex_replacer: threads share one") {
    const regex_replacer r("regex", "(\\w+)@(\\w+)", "\\2 at \\1");
    std::vector<int> right(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < right.size(); ++t)
        threads.emplace_back([&r, &count = right[t], t] {
            for (int i = 0; i < 200; ++i) {
                const std::string a = "t" + std::to_string(t), b = std::to_string(i);
                count += r(a + "@" + b) == b + " at " + a;
            }
        });
    for (std::thread& t : threads) t.join();
    CHECK(right == std::vector<int>(4, 200));
}

#else

TEST_CASE("regex_replacer: a build without RE2 says what to install") {
    CHECK(message_of<unimplemented_error>([&] { regex_replacer("regex", "a", "b"); }) ==
          "regex: this build of Tenon has no RE2, which regular expressions need: install it (Debian: libre2-dev) and "
          "build "
          "Tenon again with TENON_WITH_RE2=ON");
}

#endif
