#include <tenon/op/attribute.hpp>

#include "tests.hpp"

namespace {

enum class colour { red, green };

struct sample {
    bool flag = false;
    int count = 0;
    std::int64_t large = 0;
    float rate = 0;
    double exact = 0;
    std::string text;
    tn::element_type element = tn::element_type::none;
    tn::extents sizes;
    tn::index_list axes;
    colour shade = colour::red;
    std::vector<std::int64_t> numbers;
    std::vector<tn::tensor_type> types;
};

// Attributes that several ops have.
struct sizes_of_window {
    int height = 1, width = 1;
};
struct windowed {
    bool before = false;
    sizes_of_window window;
    double after = 0;
};
// Names of its own, in an order of its own.
struct named_anew {
    int kind = 0;
    bool flag = false;
    static constexpr void fields(auto&& field) {
        field("flag", &named_anew::flag);
        field("the-kind", &named_anew::kind);
    }
};

std::string names_of(const tn::attributes& a) {
    std::string names;
    for (const tn::named_attribute& n : a) names += (names.empty() ? "" : " ") + n.name;
    return names;
}

sample filled() {
    return {.flag = true,
            .count = -7,
            .large = std::int64_t{1} << 60,
            .rate = 0.1f,
            .exact = 0.1,
            .text = "words",
            .element = tn::element_type::bfloat16,
            .sizes = tn::extents{tn::extent::named("batch"), 3, tn::dynamic_extent},
            .axes = {1, -1},
            .shade = colour::green,
            .numbers = {5, 6, 7},
            .types = {{tn::element_type::string, {}}, {tn::element_type::float32, {tn::extent::named("batch"), 2}}}};
}

} // namespace

TEST_CASE("attributes come back from a node as they were written") {
    const sample s = filled(), back = tn::decode<sample>(tn::encode(s));
    CHECK(back.flag == s.flag);
    CHECK(back.count == s.count);
    CHECK(back.large == s.large);
    CHECK(back.rate == s.rate);
    CHECK(back.exact == s.exact);
    CHECK(back.text == s.text);
    CHECK(back.element == s.element);
    CHECK(back.sizes == s.sizes);
    CHECK(back.axes == s.axes);
    CHECK(back.shade == s.shade);
    CHECK(back.numbers == s.numbers);
    CHECK(back.types == s.types);
    CHECK(tn::encode(back) == tn::encode(s));
    CHECK(tn::encode(back).hash() == tn::encode(s).hash());
}

TEST_CASE("attributes are members in order, under their names; of a member that is a struct, its members") {
    CHECK(names_of(tn::encode(sample())) == "flag count large rate exact text element sizes axes shade numbers types");
    CHECK(names_of(tn::encode(windowed())) == "before height width after");
    const auto back = tn::decode<windowed>(tn::encode(windowed{true, {3, 5}, 0.5}));
    CHECK(back.before);
    CHECK(back.window.height == 3);
    CHECK(back.window.width == 5);
    CHECK(back.after == 0.5);
    CHECK(tn::decode<sizes_of_window>(tn::encode(windowed{true, {3, 5}, 0.5})).width == 5);
    CHECK(names_of(tn::encode(tn::no_attributes())) == "");
}

TEST_CASE("attributes have the names that their struct says itself, where it does") {
    CHECK(names_of(tn::encode(named_anew())) == "flag the-kind");
    const auto back = tn::decode<named_anew>(tn::encode(named_anew{7, true}));
    CHECK(back.kind == 7);
    CHECK(back.flag);
    CHECK_ERROR(tn::invalid_argument_error, "attribute \"the-kind\" is missing or of another type",
                tn::decode<named_anew>(tn::encode(sample())));
}

TEST_CASE("a changed attribute is another list of attributes") {
    sample other = filled();
    other.axes = {1, 0};
    CHECK_FALSE(tn::encode(other) == tn::encode(filled()));
    other = filled();
    other.types[1].extents[1] = 3;
    CHECK_FALSE(tn::encode(other) == tn::encode(filled()));
    CHECK(tn::encode(other).hash() != tn::encode(filled()).hash());
}

TEST_CASE("an attribute that is missing, of another type or out of range is an error that names it") {
    tn::attributes a = tn::encode(filled());
    a.set("count", std::int64_t{1} << 40);
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::decode<sample>(a); }) ==
          "attribute \"count\": 1099511627776 is out of range");
    a.set("count", std::string("seven"));
    const std::string wrong = message_of<tn::invalid_argument_error>([&] { tn::decode<sample>(a); });
    CHECK(contains(wrong, "attribute \"count\" is missing or of another type"));
    CHECK(contains(wrong, "count = \"seven\""));
    a = tn::encode(filled());
    a.set("flag", std::int64_t{2});
    CHECK_ERROR(tn::invalid_argument_error, "\"flag\"", tn::decode<sample>(a));
    a = tn::encode(filled());
    a.set("axes", std::vector<std::int64_t>(20));
    CHECK_ERROR(tn::invalid_argument_error, "\"axes\": 20 numbers given, at most 8", tn::decode<sample>(a));
    CHECK_ERROR(tn::invalid_argument_error, "\"flag\"", tn::decode<sample>(tn::attributes()));
}
