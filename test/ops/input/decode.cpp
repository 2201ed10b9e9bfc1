#include <tenon/input.hpp>

#include "tests.hpp"
#include "ops/untyped_run.hpp"

// What records hold, in steps. What records may be is in io/text/csv.cpp and io/text/json_lines.cpp.

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

struct graph_and_session {
    own_graph made;
    tn::session s;
};
template <class T> std::vector<T> values_of(const tn::any_array& a) {
    return {a.data<T>(), a.data<T>() + a.elements()};
}
template <class T, class S> std::vector<T> values_of(const tn::array<T, S>& a) { return values_of<T>(a.untyped()); }

} // namespace

TEST_CASE("SEMANTICS 36: decode_csv(\"1.,,44\", defaults 5., 6, 7) => 1.0, 6, 44") {
    graph_and_session g;
    const auto record = tn::constant("1.,,44");
    const auto [a, b, c] = tn::decode_csv(record, 5., 6, 7);
    static_assert(std::is_same_v<decltype(a), const tn::tensor<double, tn::shape<>>>);
    static_assert(std::is_same_v<decltype(c), const tn::tensor<std::int32_t, tn::shape<>>>);
    const auto [x, y, z] = g.s.run(a, b, c);
    CHECK(x.item() == 1.0);
    CHECK(y.item() == 6);
    CHECK(z.item() == 44);
}

TEST_CASE("decode_csv: columns that are named, of a batch of records, runs of fields as one row") {
    graph_and_session g;
    const auto lines = tn::placeholder<std::string, tn::shape<batch>>("lines");
    const auto [pixels, label, name] = tn::decode_csv<tn::component<float, tn::shape<3>>, std::int32_t, std::string>(
        lines, 0.5f, tn::required<std::int32_t>, "none");
    const auto given = tn::feed(lines, {"1,2,3,7,a", ",,6,8,", "7,8,,9,\"b,c\""});
    const auto [p, l, n] = g.s.run(given, pixels, label, name);
    CHECK(values_of(p) == std::vector<float>{1, 2, 3, 0.5f, 0.5f, 6, 7, 8, 0.5f});
    CHECK(values_of(l) == std::vector<std::int32_t>{7, 8, 9});
    CHECK(values_of(n) == std::vector<std::string>{"a", "none", "b,c"});
    CHECK(values_of(g.s.run(given, label)) == std::vector<std::int32_t>{7, 8, 9}); // the others are not wanted
    const tn::array<std::string> no_lines(tn::any_array(tn::element_type::string, {0}));
    CHECK(values_of(g.s.run(tn::feed(lines, no_lines.copy()), pixels)).empty());
}

TEST_CASE("decode_csv: options") {
    graph_and_session g;
    const auto record = tn::constant("1;NA;\"x");
    const tn::csv_options how{.delimiter = ';', .quotes = false, .na_values = {"NA"}};
    const auto [a, b, c] = tn::decode_csv(record, how, 5.f, std::int64_t{6}, "none");
    const auto [x, y, z] = g.s.run(a, b, c);
    CHECK(x.item() == 1);
    CHECK(y.item() == 6);
    CHECK(z.item() == "\"x");
    const auto [d, e] = tn::decode_csv<float, bool>(tn::constant("3\ttrue"), {.delimiter = '\t'});
    CHECK(g.s.run(d).item() == 3);
    CHECK(g.s.run(e).item());
}

TEST_CASE("SEMANTICS 36: an error of decode_csv names record, column and text, the first of several") {
    graph_and_session g;
    const auto lines = tn::placeholder<std::string, tn::shape<tn::dyn, 2>>("lines");
    const auto [a, b] = tn::decode_csv(lines, {.header = {"area", "rooms"}}, tn::required<float>, 7);
    const auto sum_of_all = sum(a) + cast<float>(sum(b));
    const auto complaint = [&](const tn::array<std::string>& given) {
        return message_of<tn::invalid_argument_error>([&] { g.s.run(tn::feed(lines, given.copy()), sum_of_all); });
    };
    CHECK(contains(complaint({{"1,2", "1,2"}, {"1,2", "1,2.5"}}),
                   "decode_csv: record [1, 1]: column 2 (rooms): \"2.5\" is no int32"));
    CHECK(contains(complaint({{"1,2", ",2"}, {"1,2", "1,2.5"}}),
                   "decode_csv: record [0, 1]: column 1 (area): the field is missing, and has no default"));
    // However many threads decode: many records, of which many are wrong.
    tn::any_array many(tn::element_type::string, {20000, 2});
    for (std::int64_t i = 0; i < 40000; ++i) many.data<std::string>()[i] = i % 3000 == 2501 ? "1,two" : "1,2";
    for (int again = 0; again < 5; ++again)
        CHECK(contains(complaint(tn::array<std::string>(many.copy())), "record [1250, 1]: column 2 (rooms): \"two\""));
}

TEST_CASE("decode_csv: a graph with it is written and read") {
    graph_and_session g;
    const auto record = tn::placeholder<std::string, tn::shape<>>("record");
    const auto [a, b] = tn::decode_csv(record, {.delimiter = '|', .na_values = {"-"}}, 0.1f, "\"none\", or so");
    tn::identity(a, "a"), tn::identity(b, "b");
    const tn::graph read = tn::graph_from_json(to_json(g.made));
    tn::session s(read);
    const tn::any_tensor inputs = read.tensor("record"), x = read.tensor("a"), y = read.tensor("b");
    tn::any_array fed(tn::element_type::string, {});
    fed.data<std::string>()[0] = "-|";
    const std::vector<tn::any_array> got = s.run_untyped(tn::test::fed(inputs, fed), {x, y});
    CHECK(got[0].data<float>()[0] == 0.1f);
    CHECK(got[1].data<std::string>()[0] == "\"none\", or so");
}

TEST_CASE("decode_csv: defaults that their columns cannot hold") {
    graph_and_session g;
    const auto record = tn::constant("1");
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::decode_csv<std::int8_t>(record, 300); }) ==
          "decode_csv: the default of column 1, \"300\", is out of the range of int8");
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::decode_csv<float>(record, {.delimiter = '"'}); }) ==
          "decode_csv: fields cannot be delimited by \"\"\"");
    CHECK_ERROR(tn::invalid_argument_error, "element type is not supported: float[]",
                tn::untyped::decode_csv(tn::constant(1.f), {{tn::element_type::float32, {}}}));
}

TEST_CASE("decode_raw: numbers that lie in strings, in either order of bytes") {
    graph_and_session g;
    const auto bytes = tn::placeholder<std::string, tn::shape<batch>>("bytes");
    const auto image = tn::decode_raw<std::uint8_t, tn::shape<2, 2>>(bytes);
    const auto little = tn::decode_raw<std::int16_t, tn::shape<2>>(bytes);
    const auto big = tn::decode_raw<std::int16_t, tn::shape<2>>(bytes, tn::byte_order::big);
    const auto one = tn::decode_raw<std::uint32_t>(bytes, tn::byte_order::big);
    const auto truth = tn::decode_raw<bool, tn::shape<4>>(bytes);
    const auto given = tn::feed(bytes, {std::string("\x01\x02\xff\x00", 4), std::string("\x00\x00\x00\x80", 4)});
    CHECK(values_of(g.s.run(given, image)) == std::vector<std::uint8_t>{1, 2, 255, 0, 0, 0, 0, 128});
    CHECK(values_of(g.s.run(given, little)) == std::vector<std::int16_t>{0x201, 0xff, 0, -32768});
    CHECK(values_of(g.s.run(given, big)) == std::vector<std::int16_t>{0x102, -256, 0, 0x80});
    CHECK(values_of(g.s.run(given, one)) == std::vector<std::uint32_t>{0x102ff00, 0x80});
    const auto t = g.s.run(given, truth);
    CHECK((t(0, 2) && !t(0, 3) && t(1, 3)));
    CHECK(reinterpret_cast<const unsigned char*>(t.data())[1] == 1); // as true is, of any byte but 0
    CHECK_ERROR(tn::invalid_argument_error, "decode_raw: string [1]: 3 bytes, and uint8[2, 2] takes 4",
                g.s.run(tn::feed(bytes, {"abcd", "abc"}), image));
}

TEST_CASE("decode_json: members of one object a line") {
    graph_and_session g;
    const auto lines = tn::placeholder<std::string, tn::shape<batch>>("lines");
    const auto [id, scores, name] =
        tn::decode_json(lines, tn::member<std::int64_t>("id"), tn::member<float, tn::shape<2>>("scores", 0.5f),
                        tn::member<std::string>("name", "nobody"));
    static_assert(std::is_same_v<decltype(scores), const tn::tensor<float, tn::shape<batch, 2>>>);
    const auto [i, sc, n] =
        g.s.run(tn::feed(lines, {R"({"id":1,"scores":[1,2.5]})", R"({"name":"x","id":2})"}), id, scores, name);
    CHECK(values_of(i) == std::vector<std::int64_t>{1, 2});
    CHECK(values_of(sc) == std::vector<float>{1, 2.5f, 0.5f, 0.5f});
    CHECK(values_of(n) == std::vector<std::string>{"nobody", "x"});
    CHECK(contains(message_of<tn::invalid_argument_error>([&, &id = id] {
                       g.s.run(tn::feed(lines, {R"({"id":1})", R"({"id":1.5})"}), id);
                   }),
                   "decode_json: record [1]: member \"id\": 1.5 is no int64"));
}
