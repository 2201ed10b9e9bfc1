#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <tenon/arrow.hpp>

#include <arrow/rows.hpp>
#include <messages.hpp>

namespace tn = tenon;

// pyarrow.sh writes the tables, row i made of i, and reads what is written here: pyarrow_tables.py.

namespace {

const char* folder() { return std::getenv("TENON_ARROW_FOLDER"); }

// All of the table's columns, as the nearest types.
struct wide_row {
    std::int8_t i8 = 0;
    std::uint64_t u64 = 0;
    tn::half h;
    float f = 0;
    double d = 0;
    bool b = false;
    std::string text, large_text, bytes, category;
    double null_double = 0;
    std::int32_t day = 0;
    std::int64_t time = 0;
    double money = 0;
    tn::array<std::int32_t, tn::shape<3>> fixed;
    tn::array<double, tn::shape<2, 2>> lists; // of one list
    tn::array<std::int64_t, tn::shape<tn::dyn>> ragged;
    tn::array<float, tn::shape<2, 2>> matrix;
    tn::array<std::int32_t, tn::shape<2>> null_list;
    tn::array<float, tn::shape<2, 2>> tensor;
    static constexpr auto fields() {
        return tn::record_fields("i8", &wide_row::i8, "u64", &wide_row::u64, "half", &wide_row::h, "float",
                                 &wide_row::f, "double", &wide_row::d, "bool", &wide_row::b, "text", &wide_row::text,
                                 "large_text", &wide_row::large_text, "bytes", &wide_row::bytes, "category",
                                 &wide_row::category, "null_double", &wide_row::null_double, "day", &wide_row::day,
                                 "time", &wide_row::time, "money", &wide_row::money, "fixed", &wide_row::fixed, "lists",
                                 &wide_row::lists, "ragged", &wide_row::ragged, "matrix", &wide_row::matrix,
                                 "null_list", &wide_row::null_list, "tensor", &wide_row::tensor);
    }
};

template <class T, class S> std::vector<double> values(const tn::array<T, S>& a) {
    return std::vector<double>(a.data(), a.data() + a.size());
}
using doubles = std::vector<double>;

void check_row(const wide_row& r, std::int64_t i) {
    const auto d = static_cast<double>(i);
    CHECK(r.i8 == i % 100);
    CHECK(r.u64 == static_cast<std::uint64_t>(i) * 1'000'000'000'000ULL);
    CHECK(float(r.h) == static_cast<float>(i) / 4);
    CHECK(r.f == static_cast<float>(i) / 8);
    CHECK(r.d == d / 3);
    CHECK(r.b == (i % 3 == 0));
    CHECK(r.text == "text " + std::to_string(i % 10));
    CHECK(r.large_text == "\xc3\xa4" + std::to_string(i));
    CHECK(r.bytes == std::string{static_cast<char>(i % 256), '\xff'});
    CHECK(r.category == "class " + std::to_string(i % 4));
    CHECK(r.null_double == (i % 5 == 0 ? -1 : d / 2));
    CHECK(r.day == i);
    CHECK(r.time == i * 1000);
    CHECK(r.money == doctest::Approx(d / 100).epsilon(1e-15));
    CHECK(values(r.fixed) == doubles{d, d + 1, d + 2});
    CHECK(values(r.lists) == doubles(4, d * 1.5));
    doubles ragged;
    for (std::int64_t k = 0; k < i % 5; ++k) ragged.push_back(static_cast<double>(k));
    CHECK(values(r.ragged) == ragged);
    CHECK(values(r.matrix) == doubles{d, d + 1, d + 2, d + 3});
    CHECK(values(r.null_list) == (i % 7 == 0 ? doubles{-5, -5} : doubles{d, -5}));
    CHECK(values(r.tensor) == doubles{d, 0, 0, -d});
}

tn::data::table_read_options with_defaults() {
    tn::data::table_read_options o;
    o.defaults.resize(20);
    o.defaults[10] = "-1";
    o.defaults[18] = "-5";
    return o;
}
template <class Set> void check_rows(const Set& set) {
    std::int64_t i = 0;
    for (const auto& row : set) check_row(row, i++);
    CHECK(i == 1000);
}

} // namespace

TEST_CASE("tables of pyarrow in Parquet are read: codecs, pages, nulls, lists, dates, decimals, categories, tensors") {
    if (!folder()) return;
    std::string types;
    for (const auto& c : tn::data::parquet_columns(std::string(folder()) + "/snappy.parquet"))
        types += to_string(c.type) + " ";
    CHECK(types == "int8[] uint64[] half[] float[] double[] bool[] string[] string[] string[] string[] double[] "
                   "int32[] int64[] double[] "
                   "int32[3] double[?] int64[?] float[2, 2] int32[?] float[4] ");
    for (const char* name : {"snappy", "zstd", "plain"})
        check_rows(tn::data::parquet<wide_row>(std::string(folder()) + "/" + name + ".parquet", with_defaults()));
}

TEST_CASE("tables of pyarrow in Arrow files and streams, and in Feather, are read alike; Feather's first version is "
          "refused") {
    if (!folder()) return;
    const std::string in = folder();
    for (const char* name : {"/file.arrow", "/stream.arrow", "/lz4.feather"}) {
        const auto set = tn::data::arrow_file<wide_row>(in + name, with_defaults());
        check_rows(set);
        // Also from the middle on.
        auto it = set.iterate();
        for (int i = 0; i < 431; ++i) REQUIRE(it.next());
        auto on = set.iterate();
        on.restore(it.save());
        const auto row = on.next();
        REQUIRE(row);
        check_row(*row, 431);
    }
    auto old = tn::data::arrow_file<std::int64_t>(in + "/old.feather").iterate();
    CHECK_ERROR(tn::unimplemented_error, "it is Feather version 1", old.next());
}

namespace {
// A list of any length.
using some_floats = tn::component<float, tn::shape<tn::dyn>>;
std::vector<float> listed(const tn::array<float, tn::shape<tn::dyn>>& a) { return {a.data(), a.data() + a.size()}; }
} // namespace

TEST_CASE("tables of pyarrow with structs, also in lists and maps, are read by the names of fields") {
    if (!folder()) return;
    const std::string in = folder();
    const std::vector<std::string> names{"before", "place.city", "place.at.x", "place.at.y", "place.zip",
                                         "path.x", "path.y",     "tags.key",   "tags.value", "pair.x",
                                         "pair.y", "money",      "a.b"};
    const auto columns =
        tn::data::columns<std::int64_t, std::string, float, std::int32_t, some_floats, some_floats,
                          tn::component<std::string, tn::shape<tn::dyn>>,
                          tn::component<std::int64_t, tn::shape<tn::dyn>>, tn::component<float, tn::shape<2>>, double,
                          std::int8_t>("before", "place.city", "place.at.y", "place.zip", "path.x", "path.y",
                                       "tags.key", "tags.value", "pair.x", "money", "a.b");
    tn::data::table_read_options o;
    o.defaults.resize(11);
    o.defaults[1] = "nowhere";
    o.defaults[2] = "7.5";
    o.defaults[3] = "-1";
    o.defaults[4] = o.defaults[5] = "0"; // of none there is none
    for (const bool parquet : {true, false}) {
        const auto set = parquet ? tn::data::parquet(in + "/nested.parquet", columns, o)
                                 : tn::data::arrow_file(in + "/nested.arrow", columns, o);
        std::vector<std::string> found;
        for (const auto& c : parquet ? tn::data::parquet_columns(in + "/nested.parquet")
                                     : tn::data::arrow_columns(in + "/nested.arrow"))
            found.push_back(c.name);
        CHECK(found == names);
        std::int64_t i = 0;
        for (const auto& [before, city, y, zip, px, py, keys, values, pair, money, ab] : set) {
            const bool none = i % 6 == 0;
            const auto f = static_cast<float>(i);
            CHECK(before == i);
            CHECK(city == (none ? "nowhere" : "city " + std::to_string(i % 9)));
            CHECK(y == (none || i % 4 == 0 ? 7.5F : -f));
            CHECK(zip == (none ? -1 : 1000 + i));
            std::vector<float> xs, ys;
            for (std::int64_t k = 0; k < i % 4 && i % 5 != 0; ++k) {
                xs.push_back(static_cast<float>(k));
                ys.push_back(f);
            }
            CHECK(listed(px) == xs);
            CHECK(listed(py) == ys);
            REQUIRE(keys.size() == i % 3);
            REQUIRE(values.size() == i % 3);
            for (std::int64_t k = 0; k < i % 3; ++k) {
                CHECK(keys(k) == "t" + std::to_string(k));
                CHECK(values(k) == i * k);
            }
            CHECK(pair(0) == f);
            CHECK(pair(1) == f + 0.5F);
            CHECK(money == doctest::Approx(static_cast<double>(i) * 1e18).epsilon(1e-15));
            CHECK(ab == i % 7);
            ++i;
        }
        CHECK(i == 1000);
    }
    const auto refused = [&](const char* name) {
        return message_of<tn::invalid_argument_error>([&] {
            auto it = tn::data::parquet(in + "/nested.parquet", tn::data::columns<std::string>(name)).iterate();
            for (int k = 0; k < 3; ++k) (void)it.next();
        });
    };
    CHECK(contains(refused("place"),
                   "column \"place\" is a struct, whose fields are columns; its columns are \"before\""));
    CHECK(contains(refused("place.country"), "there is no column called \"place.country\""));
    CHECK(contains(refused("place.zip"), "column \"place.zip\" is int32, and the component string"));
    CHECK(contains(refused("place.city"), "row 0 of row group 0, column \"place.city\": it is null"));
}

TEST_CASE("tables of pyarrow with views of texts and lists are read") {
    if (!folder()) return;
    std::int64_t i = 0;
    for (const auto& [text, list] : tn::data::arrow_file(
             std::string(folder()) + "/views.arrow",
             tn::data::columns<std::string, tn::component<std::int32_t, tn::shape<tn::dyn>>>("text", "list"))) {
        CHECK(text == (i % 2 != 0 ? "a text that is longer than twelve bytes " : "short ") + std::to_string(i));
        REQUIRE(list.size() == i % 4);
        for (const std::int32_t v : list.span()) CHECK(v == i);
        ++i;
    }
    CHECK(i == 1000);
}

TEST_CASE("tables of pyarrow's reader are those that were written") {
    if (!folder()) return;
    tn::write_parquet(std::string(folder()) + "/t.parquet", flats(0, 500), {.group_rows = 150});
    tn::write_arrow(std::string(folder()) + "/t.arrow", flats(0, 500), {.group_rows = 150});
    tn::write_parquet(std::string(folder()) + "/s.parquet", placed(70), {.structs = true, .group_rows = 30});
    tn::write_arrow(std::string(folder()) + "/s.arrow", placed(70), {.structs = true, .group_rows = 30});
    const tn::table_write_options lists{.structs = true, .lists = {"path", "ends"}, .group_rows = 30};
    tn::write_parquet(std::string(folder()) + "/l.parquet", walked(70), lists);
    tn::write_arrow(std::string(folder()) + "/l.arrow", walked(70), lists);
}
