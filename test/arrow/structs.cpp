#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <tenon/arrow.hpp>
#include <tenon/data/from.hpp>

#include <arrow/formats.hpp>
#include <arrow/rows.hpp>
#include <messages.hpp>
#include <temporary_folder.hpp>

namespace tn = tenon;
using std::int64_t;

TEST_CASE("fields of structs are columns whose names have points, written and read") {
    for_each_format([](const char*, auto write, auto read) {
        const temporary_folder folder;
        for (const bool structs : {true, false}) { // which are read alike
            write(folder / "t", placed(50), {.structs = structs, .group_rows = 20});
            int64_t i = 0;
            for (const placed_row& r : read(of<placed_row>, {folder / "t"})) {
                const placed_row w = placed_of(i++);
                CHECK(std::tie(r.id, r.city, r.x, r.last) == std::tie(w.id, w.city, w.x, w.last));
                CHECK(r.y.untyped() == w.y.untyped());
            }
            CHECK(i == 50);
        }
        CHECK_ERROR(tn::invalid_argument_error, "column \"a.b\" is a struct of others, too",
                    write(folder / "t", tn::data::zip(tn::data::range(1), tn::data::range(1)),
                          {.columns = {"a", "a.b"}, .structs = true}));
    });
    for_each_format([](const char*, auto write, auto read) {
        const temporary_folder folder;
        for (const bool lists : {true, false}) { // of structs, or structs of lists, which are read alike
            write(folder / "t", walked(50),
                  {.structs = true,
                   .lists = lists ? std::vector<std::string>{"path", "ends"} : std::vector<std::string>{},
                   .group_rows = 20});
            int64_t i = 0;
            for (const walked_row& r : read(of<walked_row>, {folder / "t"})) {
                const walked_row w = walked_of(i++);
                CHECK(r.id == w.id);
                CHECK(r.x.untyped() == w.x.untyped());
                CHECK(r.name.untyped() == w.name.untyped());
                CHECK(r.y.untyped() == w.y.untyped());
                CHECK(r.ends.untyped() == w.ends.untyped());
            }
            CHECK(i == 50);
        }
        const auto refused = [&](const auto& set, tn::table_write_options o) {
            return message_of<tn::invalid_argument_error>([&] { write(folder / "t", set, o); });
        };
        CHECK(
            contains(refused(walked(3), {.structs = true, .lists = {"paths"}}), "there is no struct called \"paths\""));
        CHECK(contains(refused(walked(3), {.lists = {"path"}}), "there is no struct called \"path\""));
        CHECK(contains(refused(placed(3), {.structs = true, .lists = {"place"}}),
                       "column \"place.city\" is a field in lists, and string[] has too few dimensions"));
        const auto uneven = walked(3).map_host([](walked_row r) {
            if (r.id == 2) r.x = tn::array<float, tn::shape<tn::dyn>>{1, 2, 3};
            return r;
        });
        CHECK(contains(refused(uneven, {.structs = true, .lists = {"path"}}),
                       "the fields of \"path\" are float[3] and string[2] in one row; they need one length"));
    });
    CHECK_ERROR(tn::invalid_argument_error, "parquet: 2 names for one component, which is one column",
                tn::data::parquet("t", tn::data::columns<float>({"x", "y"})));
    CHECK_ERROR(tn::invalid_argument_error, "columns<..> names the columns; leave `columns` empty",
                tn::data::parquet("t", tn::data::columns<float>("x"), {.columns = {"x"}}));
}
