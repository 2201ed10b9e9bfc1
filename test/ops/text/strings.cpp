#include <tenon/input.hpp>

#include "tests.hpp"
#include "ops/untyped_run.hpp"

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct words : tn::dim<"words"> {} words;

// A vector of texts, and what a function of it gives in a step.
struct text_graph {
    own_graph made;
    tn::session s;
    tn::tensor<std::string, tn::shape<batch>> x = tn::placeholder<std::string, tn::shape<batch>>("x");

    template <class Y> tn::any_array run(const Y& y, const std::vector<std::string>& texts) {
        tn::any_array a(tn::element_type::string, {static_cast<std::int64_t>(texts.size())});
        std::copy(texts.begin(), texts.end(), a.data<std::string>());
        return std::move(s.run_untyped(tn::test::fed(x, a), {y})[0]);
    }
    template <class Y> auto values(const Y& y, const std::vector<std::string>& texts) {
        using T = typename Y::element_type;
        const tn::any_array a = run(y, texts);
        return std::vector<T>(a.data<T>(), a.data<T>() + a.elements());
    }
    template <class Y> std::string complaint(const Y& y, const std::vector<std::string>& texts) {
        return message_of<tn::invalid_argument_error>([&] { run(y, texts); });
    }
};
using texts = std::vector<std::string>;
using counts = std::vector<std::int64_t>;

} // namespace

TEST_CASE("string_strip, string_lower, string_upper") {
    text_graph g;
    CHECK(g.values(tn::string_strip(g.x), {" a b\t\r\n", "", " \n ", "c"}) == texts{"a b", "", "", "c"});
    CHECK(g.values(tn::string_lower(g.x), {"AbZ[@", "\u00c9"}) == texts{"abz[@", "\u00c9"});
    CHECK(g.values(tn::string_upper(g.x), {"aBz{`", "\u00e9"}) == texts{"ABZ{`", "\u00e9"});
    CHECK(g.values(tn::string_upper(tn::string_strip(tn::string_lower(g.x))), {" aB "}) == texts{"AB"});
}

TEST_CASE("string_length counts bytes, or characters of UTF-8") {
    text_graph g;
    const texts given{"", "abc", "\u00e9t\u00e9", "\U0001F600", std::string("a\0b", 3)};
    CHECK(g.values(tn::string_length(g.x), given) == counts{0, 3, 5, 4, 3});
    CHECK(g.values(tn::string_length(g.x, tn::text_unit::utf8), given) == counts{0, 3, 3, 1, 3});
}

TEST_CASE("substr: positions from the beginning and from the end, in bytes or characters") {
    text_graph g;
    CHECK(g.values(tn::substr(g.x, 1, 2), {"abcd", "ab", "a"}) == texts{"bc", "b", ""});
    CHECK(g.values(tn::substr(g.x, -2, 9), {"abcd", "ab"}) == texts{"cd", "ab"});
    CHECK(g.values(tn::substr(g.x, 1, 1, tn::text_unit::utf8), {"\u00e9\u4e2da", "ab"}) == texts{"\u4e2d", "b"});
    CHECK(g.values(tn::substr(g.x, -1, 1, tn::text_unit::utf8), {"a\u00e9"}) == texts{"\u00e9"});
    CHECK(g.values(tn::substr(g.x, 0, 0), {"", "a"}) == texts{"", ""});
    CHECK(contains(g.complaint(tn::substr(g.x, 3, 1), {"abc", "ab"}),
                   "substr: element [1]: \"ab\" has 2 bytes, and no position 3"));
    CHECK(
        contains(g.complaint(tn::substr(g.x, -3, 1, tn::text_unit::utf8), {"ab"}), "2 characters, and no position -3"));
    CHECK(contains(g.complaint(tn::substr(g.x, 0, -1), {"ab"}), "a part cannot be -1 long"));
}

#if TENON_WITH_RE2
TEST_CASE("regex_replace: each match or the first, with its groups") {
    text_graph g;
    CHECK(g.values(tn::regex_replace(g.x, "<br */?>", " "), {"a<br />b<br>c", "d"}) == texts{"a b c", "d"});
    CHECK(g.values(tn::regex_replace(g.x, "(\\w+)@(\\w+)", "\\2 at \\1", false), {"a@b c@d"}) == texts{"b at a c@d"});
    CHECK_ERROR(tn::invalid_argument_error, "regex_replace: the pattern \"(a\" is no regular expression: missing ",
                tn::regex_replace(g.x, "(a", ""));
    CHECK_ERROR(tn::invalid_argument_error, "regex_replace: the rewrite \"\\1\" does not go with the pattern \"a\": ",
                tn::regex_replace(g.x, "a", "\\1"));
    CHECK_ERROR(tn::resource_exhausted_error, "regex_replace: the pattern \"\\pL{1000}\" is too large",
                tn::regex_replace(g.x, "\\pL{1000}", ""));
    // A graph that was read may say what no function has looked at.
    const tn::any_tensor bad = tn::add<tn::regex_replace_op>({"(a", "", true}, {g.x});
    CHECK_ERROR(tn::invalid_argument_error, "is no regular expression", g.run(bad, {"a"}));
}
#else
TEST_CASE("regex_replace: without RE2 it says what to install") {
    text_graph g;
    CHECK_ERROR(tn::unimplemented_error,
                "regex_replace: this build of Tenon has no RE2, which regular expressions need: install it (Debian: "
                "libre2-dev)",
                tn::regex_replace(g.x, "a", "b"));
    const tn::any_tensor y = tn::add<tn::regex_replace_op>({"a", "b", true}, {g.x});
    CHECK_ERROR(tn::unimplemented_error, "TENON_WITH_RE2=ON", g.run(y, {"a"}));
}
#endif

TEST_CASE("to_hash_bucket is XXH64, by its published test values") {
    text_graph g;
    const std::int64_t large = std::int64_t{1} << 62;
    const auto bucket = [&](std::uint64_t hash) {
        return static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(large));
    };
    // https://github.com/Cyan4973/xxHash: of nothing, of "a", of "abc", of a sentence.
    CHECK(g.values(tn::to_hash_bucket(g.x, large), {"", "a", "abc", "Nobody inspects the spammish repetition"}) ==
          counts{bucket(0xef46db3751d8e999u), bucket(0xd24ec4f1a98c6e5bu), bucket(0x44bc2cf5ad770999u),
                 bucket(0xfbcea83c8a378bf1u)});
    CHECK(g.values(tn::to_hash_bucket(g.x, 10), {""}) == counts{static_cast<std::int64_t>(0xef46db3751d8e999u % 10)});
    CHECK(g.values(tn::to_hash_bucket(g.x, 1), {"a", "b"}) == counts{0, 0});
    CHECK_ERROR(tn::invalid_argument_error, "there are 0 buckets", tn::to_hash_bucket(g.x, 0));
}

TEST_CASE("to_number is strict, and names the element") {
    text_graph g;
    CHECK(g.values(tn::to_number<float>(g.x), {"1.5", " -2e3 ", "+.5"}) == std::vector<float>{1.5f, -2000, 0.5f});
    CHECK(g.values(tn::to_number<std::uint8_t>(g.x), {"0", "255"}) == std::vector<std::uint8_t>{0, 255});
    CHECK(g.values(tn::to_number<bool>(g.x), {"true", "0"}) == std::vector<bool>{true, false});
    CHECK(contains(g.complaint(tn::to_number<float>(g.x), {"1", "12x", "y"}),
                   "to_number: element [1]: \"12x\" is no float"));
    CHECK(contains(g.complaint(tn::to_number<std::uint8_t>(g.x), {"256"}),
                   "to_number: element [0]: \"256\" is out of the range of uint8"));
    CHECK(contains(g.complaint(tn::to_number<std::int32_t>(g.x), {""}), "\"\" is no int32"));
}

TEST_CASE("string_join: texts one after another; sizes are repeated to the others'") {
    text_graph g;
    const auto y = tn::string_join("-", tn::constant("id"), g.x, tn::string_upper(g.x));
    CHECK(g.values(y, {"a", ""}) == texts{"id-a-A", "id--"});
    CHECK(g.values(tn::string_join("", g.x), {"a"}) == texts{"a"});
    CHECK(g.s.run(tn::string_join(", ", tn::constant("a"), tn::constant("b"))).item() == "a, b");
    const auto table = tn::string_join("", tn::expand_dims<1>(g.x), tn::constant({"1", "2"})); // [batch, 2]
    CHECK(g.values(table, {"a", "b"}) == texts{"a1", "a2", "b1", "b2"});
}

TEST_CASE("string_equal: the same bytes; the sizes of one are repeated to the other's") {
    text_graph g;
    const std::vector<bool> first{true, false, false, false};
    CHECK(g.values(tn::string_equal(g.x, tn::constant("é")), {"é", "e", "", "é "}) == first);
    CHECK(g.values(tn::string_equal(tn::constant(""), g.x), {"", std::string(1, '\0')}) == std::vector{true, false});
    const auto beside = tn::constant({"a", "b"});
    const auto table = tn::string_equal(tn::expand_dims<1>(g.x), beside); // [batch, 2]
    static_assert(std::is_same_v<decltype(table), const tn::tensor<bool, tn::shape<batch, 2>>>);
    CHECK(g.values(table, {"b", "a", "c"}) == std::vector{false, true, true, false, false, false});
    CHECK(g.run(table, {}).extents() == tn::extents{0, 2});
    CHECK_ERROR(tn::invalid_argument_error, "string_equal", tn::untyped::string_equal(beside, table));
}

TEST_CASE("where: a text of the one or of the other; sizes are repeated") {
    text_graph g;
    const auto none = tn::constant("none");
    CHECK(g.values(tn::where(tn::string_equal(g.x, tn::constant("")), none, g.x), {"a", "", "b"}) ==
          texts{"a", "none", "b"});
    const auto beside = tn::constant({"a", "b"});
    const auto either = tn::constant({true, false});
    const auto table = tn::where(either, tn::expand_dims<1>(g.x), beside);
    static_assert(std::is_same_v<decltype(table), const tn::tensor<std::string, tn::shape<batch, 2>>>);
    CHECK(g.values(table, {"x", "y"}) == texts{"x", "b", "y", "b"});
    CHECK(g.run(table, {}).extents() == tn::extents{0, 2});
    const tn::any_tensor loose = tn::untyped::where(either, none, beside);
    CHECK(g.s.run(loose) == tn::array<std::string, tn::shape<2>>{"none", "b"}.untyped());
    CHECK(tn::untyped::select(either, none, beside).node()->op->name == std::string("string_where"));
    CHECK_ERROR(tn::invalid_argument_error, "string_where", tn::untyped::where(beside, none, beside));
    CHECK_ERROR(tn::invalid_argument_error, "string_where", tn::untyped::where(either, none, either));
}

TEST_CASE("texts are joined, parted, sliced and put in another order, short ones and long ones") {
    text_graph g;
    const std::string longer(100, 'x');
    const std::vector<std::string> given{"a", longer, "", "d"};
    const auto twice = tn::concat<0>(g.x, tn::string_upper(g.x));
    CHECK(g.values(twice, {"a", longer}) == texts{"a", longer, "A", std::string(100, 'X')});
    CHECK(g.values(tn::slice<tn::range{.step = -1}>(g.x), given) == texts{"d", "", longer, "a"});
    const auto pairs = tn::stack<1>(g.x, tn::string_join("!", g.x, tn::constant("")));
    CHECK(g.values(tn::transpose(pairs), {"a", "b"}) == texts{"a", "b", "a!", "b!"});
    const auto [left, right] = tn::unstack<2, 1>(pairs);
    CHECK(g.values(right, {"a", longer}) == texts{"a!", longer + "!"});
    CHECK(g.values(left, given) == given);
    CHECK(g.values(tn::tile<2>(g.x), {longer, "b"}) == texts{longer, "b", longer, "b"});
    CHECK(g.values(tn::broadcast_like(tn::constant("k"), g.x), {"", longer}) == texts{"k", "k"});
    CHECK(g.values(tn::reverse<0>(twice), {longer, "b"}) == texts{"B", std::string(100, 'X'), "b", longer});
}

TEST_CASE("string_split: as many pieces as the text with most has") {
    text_graph g;
    const auto by_spaces = tn::string_split(g.x);
    static_assert(std::is_same_v<decltype(by_spaces), const tn::tensor<std::string, tn::shape<batch, tn::dyn>>>);
    CHECK(g.run(by_spaces, {" a  b\tc ", "", "d"}).extents() == tn::extents{3, 3});
    CHECK(g.values(by_spaces, {" a  b\tc ", "", "d"}) == texts{"a", "b", "c", "", "", "", "d", "", ""});
    CHECK(g.run(by_spaces, {" ", ""}).extents() == tn::extents{2, 0});
    CHECK(g.run(by_spaces, {}).extents() == tn::extents{0, 0});

    CHECK(g.values(tn::string_split(g.x, ","), {"a,,b", "c", ""}) == texts{"a", "", "b", "c", "", "", "", "", ""});
    CHECK(g.values(tn::string_split(g.x, "--", {.skip_empty = true, .padding = "?"}), {"--a--b-c", "d--"}) ==
          texts{"a", "b-c", "d", "?"});
    CHECK(g.values(tn::string_split(g.x, ",", {.padding = "?"}), {"a,b,", "c"}) == texts{"a", "b", "", "c", "?", "?"});

    // A vector of what a scalar holds, and what is computed of it.
    const auto one = tn::string_split<words>(tn::string_join("", tn::constant("3 4 5")));
    CHECK(g.s.run(sum(tn::to_number<float>(one))).item() == 12);
}

TEST_CASE("string_split: to a number of pieces, which no text exceeds") {
    text_graph g;
    const auto y = tn::string_split<3>(g.x, ",", {.padding = "0"});
    CHECK(g.values(tn::to_number<float>(y), {"1,2", "3,4,5"}) == std::vector<float>{1, 2, 0, 3, 4, 5});
    CHECK(contains(g.complaint(y, {"1", "1,2,3,4"}),
                   "string_split: element [1]: \"1,2,3,4\" has 4 pieces, and there is room for 3"));
}
