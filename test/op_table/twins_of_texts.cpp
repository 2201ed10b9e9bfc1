#include <tenon/input.hpp>

#include "twins.hpp"

// A typed function and the untyped one of its name give the same node, and types that agree.

using namespace op_table;

namespace {

void agree(const any_tensor& typed, const any_tensor& untyped) { CHECK(typed.type() == untyped.type()); }

} // namespace

TEST_CASE("typed and untyped: texts and what records hold") {
    twins t;
    const auto x = placeholder<std::string, shape<batch>>();
    const auto check = [&](const char* name, const any_tensor& typed, const any_tensor& untyped) {
        t.same_operation(name, typed, untyped);
        agree(typed, untyped);
    };
    t.same_operation("string_strip", string_strip(x), untyped::string_strip(x));
    t.same_operation("string_lower", string_lower(x), untyped::string_lower(x));
    t.same_operation("string_upper", string_upper(x), untyped::string_upper(x));
    t.same_operation("string_length", string_length(x, text_unit::utf8), untyped::string_length(x, text_unit::utf8));
    t.same_operation("substr", substr(x, 1, 2), untyped::substr(x, 1, 2));
#if TENON_WITH_RE2
    t.same_operation("regex_replace", regex_replace(x, "a", "b", false), untyped::regex_replace(x, "a", "b", false));
#endif
    t.same_operation("to_hash_bucket", to_hash_bucket(x, 7), untyped::to_hash_bucket(x, 7));
    t.same_operation("to_number", to_number<half>(x), untyped::to_number(x, element_type::float16));
    t.same_operation("string_join", string_join("-", x, x), untyped::string_join("-", {x, x}));
    t.same_operation("string_equal", string_equal(x, x), untyped::string_equal(x, x));
    t.same_operation("where", where(string_equal(x, x), x, x), untyped::where(string_equal(x, x), x, x));
    t.same_operation("string_split", string_split<batch>(x, ",", {.padding = "0"}),
                     untyped::string_split(x, ",", {.padding = "0"}, {extent::named("batch")}));
    t.same_operation("decode_raw", decode_raw<float, shape<2>>(x, byte_order::big),
                     untyped::decode_raw(x, element_type::float32, 2, byte_order::big));
    check("to_number", to_number<double>(x), untyped::to_number(x, element_type::float64));
    check("string_split", string_split<3>(x), untyped::string_split(x, {}, {}, 3));

    const csv_options how{.delimiter = ';', .header = {"a", "b", "c"}};
    const auto columns = decode_csv<float, component<bool, shape<2>>>(x, how, 1.5, required<bool>);
    const std::vector<any_tensor> same_columns =
        untyped::decode_csv(x, {{element_type::float32, "1.5"}, {element_type::boolean, {}, 2}}, how);
    const auto members = decode_json(x, member<float, shape<2>>("a", 0), member<std::string>("b"));
    const std::vector<any_tensor> same_members =
        untyped::decode_json(x, {{"a", element_type::float32, 2, "0"}, {"b", element_type::string, {}, {}}});
    REQUIRE((same_columns.size() == 2 && same_members.size() == 2));
    t.same_operation("decode_csv", std::get<0>(columns), same_columns[0]);
    t.same_operation("decode_json", std::get<0>(members), same_members[0]);
    agree(std::get<0>(columns), same_columns[0]);
    agree(std::get<1>(columns), same_columns[1]);
    agree(std::get<0>(members), same_members[0]);
    agree(std::get<1>(members), same_members[1]);
}
