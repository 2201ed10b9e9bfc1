#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/arrow.hpp>
#include <tenon/data/from.hpp>
#include <tenon/io/files/compressed.hpp>

#include <arrow/formats.hpp>
#include <arrow/rows.hpp>
#include <messages.hpp>
#include <temporary_folder.hpp>

namespace tn = tenon;
using texts = std::vector<std::string>;
using std::int32_t, std::int64_t;

namespace {

struct some_columns { // of those of flat_row, in another order
    std::string city;
    double rooms = 0;
    static constexpr auto fields() {
        return tn::record_fields("city", &some_columns::city, "rooms", &some_columns::rooms);
    }
};
struct one_more {
    int32_t rooms = 0, floors = 0;
    static constexpr auto fields() { return tn::record_fields("rooms", &one_more::rooms, "floors", &one_more::floors); }
};

template <class Set> std::vector<typename Set::value_type> all_of_set(const Set& set) {
    std::vector<typename Set::value_type> rows;
    for (auto row : set) rows.push_back(std::move(row));
    return rows;
}
// Elements, and errors as texts.
template <class Set, class Text> texts told_by(const Set& set, Text text) {
    texts rows;
    auto it = set.iterate();
    for (;;) {
        try {
            const auto row = it.next();
            if (!row) return rows;
            rows.push_back(text(*row));
        } catch (const tn::error& e) {
            rows.push_back(std::string("!") + name_of(e.code()) + " " + e.what());
        }
    }
}
texts numbers_of(const tn::data_set<int32_t>& set) {
    return told_by(set, [](int32_t v) { return std::to_string(v); });
}

// Written by pyarrow 26 without compression: columns a (int32: 7, null, -9) and b (string: "x", "yz", "").
extern const std::string by_pyarrow;

} // namespace

TEST_CASE("rows come back as they were written, of several files and groups of rows") {
    for_each_format([](const char*, auto write, auto read) {
        const temporary_folder folder;
        write(folder / "a", flats(0, 100), {.group_rows = 30});
        write(folder / "b", flats(100, 101));
        write(folder / "none", flats(0, 0));
        write(folder / "c", flats(101, 250), {.group_rows = 1000, .compressed = tn::table_compression::none});
        int32_t i = 0;
        for (const flat_row& row : read(of<flat_row>, {folder / "a", folder / "b", folder / "none", folder / "c"})) {
            REQUIRE(is_flat(row, i));
            ++i;
        }
        CHECK(i == 250);
    });
}

TEST_CASE("columns are chosen by their names, in any order, and numbers become the component's type where they fit") {
    for_each_format([](const char*, auto write, auto read) {
        const temporary_folder folder;
        const std::string path = folder / "t";
        write(path, flats(0, 20));
        int32_t i = 0;
        for (const auto& row : read(of<some_columns>, {path})) {
            CHECK(row.city == flat_of(i).city);
            CHECK(row.rooms == i++);
        }
        CHECK(i == 20);
        // Without a struct; one column may be two components.
        i = 0;
        for (auto [price, rooms, again] :
             read(of<double, std::uint8_t, std::int64_t>, {path}, {.columns = {"price", "rooms", "rooms"}})) {
            CHECK(price == static_cast<double>(i) * 0.5);
            CHECK(rooms == i);
            CHECK(again == i++);
        }
        CHECK(i == 20);
    });
}

TEST_CASE("lists are arrays: of lists of lists, of one list, and of any length") {
    for_each_format([](const char*, auto write, auto read) {
        const temporary_folder folder;
        const std::string path = folder / "t";
        const auto pairs = tn::data::range(5).map_host([](int64_t n) {
            tn::array<int32_t, tn::shape<tn::dyn, 2>> a(n);
            for (int64_t k = 0; k < a.size(); ++k) a.data()[k] = static_cast<int32_t>(n * 100 + k);
            return a;
        });
        write(path, pairs, {.columns = {"pairs"}, .group_rows = 2});
        int64_t n = 0;
        for (const auto& a : read(of<tn::component<int32_t, tn::shape<tn::dyn, 2>>>, {path})) {
            CHECK(a.extents() == tn::extents{n, 2});
            for (int64_t k = 0; k < a.size(); ++k) CHECK(a.data()[k] == n * 100 + k);
            ++n;
        }
        CHECK(n == 5);

        write(folder / "flat", flats(0, 4));
        // Texts in lists.
        const auto words = tn::data::range(3).map_host([](int64_t i) {
            tn::array<std::string, tn::shape<2>> a;
            a.data()[0] = std::string(static_cast<std::size_t>(i), 'a');
            a.data()[1] = "b";
            return a;
        });
        write(folder / "words", words);
        n = 0;
        for (const auto& a : read(of<tn::component<std::string, tn::shape<2>>>, {folder / "words"})) {
            CHECK(a.data()[0].size() == static_cast<std::size_t>(n++));
            CHECK(a.data()[1] == "b");
        }
        CHECK(n == 3);
    });
}

TEST_CASE("batches are the rows put together, whatever groups, files and decoded rows they lie in") {
    for_each_format([](const char*, auto write, auto read) {
        const temporary_folder folder;
        write(folder / "a", flats(0, 100), {.group_rows = 16});
        write(folder / "b", flats(100, 157), {.group_rows = 100});
        for (const int64_t decoded : {1, 7, 1000})
            for (const int64_t n : {1, 3, 16, 90, 1000})
                for (const bool drop : {false, true}) {
                    const auto rows = read(of<flat_row>, {folder / "a", folder / "b"}, {.decoded_rows = decoded});
                    int32_t i = 0;
                    for (const auto& [rooms, price, city, sold, scores] : rows.batch(n, {.drop_remainder = drop})) {
                        for (int64_t r = 0; r < rooms.size(); ++r, ++i) {
                            const flat_row w = flat_of(i);
                            REQUIRE(rooms.data()[r] == w.rooms);
                            REQUIRE(price.data()[r] == w.price);
                            REQUIRE(city.data()[r] == w.city);
                            REQUIRE(sold.data()[r] == w.sold);
                            for (int64_t k = 0; k < 6; ++k) REQUIRE(scores.data()[r * 6 + k] == w.scores.data()[k]);
                        }
                        if (drop) CHECK(rooms.size() == n);
                    }
                    CHECK(i == (drop ? 157 / n * n : 157));
                }
    });
}

TEST_CASE("a batch within decoded rows shares their memory, and outlives who read it") {
    const temporary_folder folder;
    const std::string path = folder / "t.parquet";
    tn::write_parquet(path, tn::data::range(64), {.columns = {"n"}});
    std::vector<tn::any_array> batches;
    {
        const auto set = tn::data::parquet<int64_t>(path).batch(16);
        for (auto b : set) batches.push_back(std::move(b).untyped());
    }
    REQUIRE(batches.size() == 4);
    const auto* const first = batches[0].data<int64_t>();
    for (int64_t k = 0; k < 64; ++k) CHECK(batches[static_cast<std::size_t>(k / 16)].data<int64_t>()[k % 16] == k);
    for (int64_t b = 1; b < 4; ++b) CHECK(batches[static_cast<std::size_t>(b)].data<int64_t>() == first + 16 * b);
}

TEST_CASE("of large values few rows are decoded together, and a batch is put together from them") {
    const temporary_folder folder;
    const std::string path = folder / "t";
    const auto large = tn::data::range(9).map_host(
        [](int64_t i) { return std::string(std::size_t{20} << 20, static_cast<char>('a' + i)); });
    tn::write_parquet(path, large);
    char wanted = 'a';
    for (const auto& texts_of_batch : tn::data::parquet<std::string>(path).batch(4))
        for (const std::string& s : texts_of_batch.span()) {
            CHECK(s.size() == std::size_t{20} << 20);
            CHECK(s.back() == wanted++);
        }
    CHECK(wanted == 'a' + 9);
}

TEST_CASE("who goes on from a saved state gets the elements that were not given, of rows and of batches") {
    for_each_format([](const char*, auto write, auto read) {
        const temporary_folder folder;
        write(folder / "a", flats(0, 40), {.group_rows = 16});
        write(folder / "b", flats(40, 57), {.group_rows = 5});
        const auto rows = read(of<flat_row>, {folder / "a", folder / "b"}, {.decoded_rows = 6});
        for (int32_t given = 0; given <= 57; ++given) {
            auto it = rows.iterate();
            for (int32_t i = 0; i < given; ++i) REQUIRE(it.next());
            auto on = rows.iterate();
            on.restore(it.save());
            for (int32_t i = given; i < 57; ++i) {
                const auto row = on.next();
                REQUIRE(row);
                REQUIRE(is_flat(*row, i));
            }
            CHECK_FALSE(on.next());
        }
        const auto batches = rows.batch(9);
        for (int32_t given = 0; given <= 7; ++given) {
            auto it = batches.iterate();
            for (int32_t i = 0; i < given; ++i) REQUIRE(it.next());
            auto on = batches.iterate();
            on.restore(it.save());
            for (int32_t i = given * 9; i < 57; i += 9) {
                const auto b = on.next();
                REQUIRE(b);
                CHECK(std::get<0>(*b).data()[0] == i);
                CHECK(std::get<0>(*b).size() == std::min(9, 57 - i));
            }
            CHECK_FALSE(on.next());
        }
    });
}

TEST_CASE("a state is of the same file, and is refused where that has changed") {
    const temporary_folder folder;
    const std::string path = folder / "t";
    tn::write_parquet(path, flats(0, 40), {.group_rows = 16});
    const auto rows = tn::data::parquet<flat_row>(path);
    auto it = rows.iterate();
    for (int i = 0; i < 20; ++i) REQUIRE(it.next());
    const std::string state = it.save();
    tn::write_parquet(path, flats(1, 41), {.group_rows = 16});
    auto on = rows.iterate();
    CHECK_ERROR(tn::data_loss_error, "is not the file that it was", on.restore(state));
    auto damaged = rows.iterate();
    CHECK_THROWS_AS(damaged.restore(state.substr(0, state.size() - 3)), tn::data_loss_error);
}

TEST_CASE("a null is an error that names row and column, or what the default says; the row behind it follows") {
    const temporary_folder folder;
    const std::string path = folder / "nulls.parquet";
    write_bytes(path, by_pyarrow);
    const texts strict = numbers_of(tn::data::parquet<int32_t>(path, {.columns = {"a"}}));
    REQUIRE(strict.size() == 3);
    CHECK(strict[0] == "7");
    CHECK(strict[2] == "-9");
    CHECK(strict[1] == "!invalid_argument parquet: '" + path +
                           "', row 1 of row group 0, column \"a\": it is null, and no default says what that is");
    CHECK(numbers_of(tn::data::parquet<int32_t>(path, {.columns = {"a"}, .defaults = {"42"}})) ==
          texts{"7", "42", "-9"});
    CHECK(all_of_set(tn::data::parquet<std::string>(path, {.columns = {"b"}})) == texts{"x", "yz", ""});

    // In a batch: those before it, and those behind it, are in it.
    auto it = tn::data::parquet<int32_t>(path, {.columns = {"a"}}).batch(3).iterate();
    CHECK_THROWS_AS(it.next(), tn::invalid_argument_error);
    const auto rest = it.next();
    REQUIRE(rest);
    REQUIRE(rest->size() == 2);
    CHECK(rest->data()[0] == 7);
    CHECK(rest->data()[1] == -9);
    CHECK_FALSE(it.next());

    CHECK_ERROR(tn::invalid_argument_error, "parquet: the default of component 0, \"many\", is no int32",
                tn::data::parquet<int32_t>(path, {.columns = {"a"}, .defaults = {"many"}}));
}

TEST_CASE("a value that does not fit is an error that names row, column and value") {
    const temporary_folder folder;
    const std::string path = folder / "t";
    tn::write_arrow(path, tn::data::range(254, 259), {.columns = {"n"}});
    const texts said =
        told_by(tn::data::arrow_file<std::uint8_t>(path), [](std::uint8_t v) { return std::to_string(v); });
    REQUIRE(said.size() == 5);
    CHECK(said[0] == "254");
    CHECK(said[1] == "255");
    CHECK(said[2] == "!invalid_argument arrow_file: '" + path +
                         "', row 2 of record batch 0, column \"n\": the value 256 does not fit uint8");
}

TEST_CASE("columns that are not there, or of other types, are named with what is there; the next file follows") {
    const temporary_folder folder;
    tn::write_parquet(folder / "bad", tn::data::range(3), {.columns = {"rooms"}});
    tn::write_parquet(folder / "good", flats(0, 1));
    const std::string bad = folder / "bad";
    const texts said =
        told_by(tn::data::parquet<some_columns>({bad, folder / "good"}), [](const auto& r) { return r.city; });
    CHECK(said == texts{"!invalid_argument parquet: '" + bad +
                            "': there is no column called \"city\"; its columns are \"rooms\"",
                        "city 0"});
    CHECK(contains(numbers_of(tn::data::parquet<int32_t>(folder / "good", {.columns = {"city"}}))[0],
                   "column \"city\" is string, and the component int32: its values are no int32"));
    CHECK(contains(numbers_of(tn::data::parquet<int32_t>(folder / "good", {.columns = {"price"}}))[0],
                   "column \"price\" is float, and the component int32: its values are no int32"));
    CHECK(contains(numbers_of(tn::data::parquet<int32_t>(folder / "good", {.columns = {"scores"}}))[0],
                   "it holds lists"));
    CHECK(contains(numbers_of(tn::data::parquet<int32_t>(folder / "good"))[0],
                   "it has 5 columns, and an element 1 components: say which they are with {.columns = {..}}"));
    const auto wrong_size =
        told_by(tn::data::parquet<tn::component<float, tn::shape<2, 4>>>(folder / "good", {.columns = {"scores"}}),
                [](const auto&) { return std::string(); });
    CHECK(contains(wrong_size[0], "and the component float[2, 4]: its lists hold 3, not 4"));
    CHECK_ERROR(tn::invalid_argument_error, "parquet: 2 columns for 1 components; give one for each, or none",
                tn::data::parquet<int32_t>("x", {.columns = {"a", "b"}}));
    CHECK_ERROR(tn::invalid_argument_error, "the struct's fields() name the columns",
                tn::data::parquet<one_more>("x", {.columns = {"a", "b"}}));
}

TEST_CASE("without types, components are the columns as the first file has them") {
    const temporary_folder folder;
    const std::string path = folder / "t";
    tn::write_parquet(path, flats(0, 3));
    const auto columns = tn::data::parquet_columns(path);
    texts said;
    for (const auto& c : columns) said.push_back(c.name + " " + to_string(c.type));
    CHECK(said == texts{"rooms int32[]", "price float[]", "city string[]", "sold bool[]", "scores float[2, 3]"});

    const tn::untyped::data_set some = tn::untyped::parquet({path}, {.columns = {"city", "scores"}});
    tn::data_run run(some);
    std::vector<tn::any_array> element;
    for (int32_t i = 0; i < 3; ++i) {
        REQUIRE(run.next(element));
        REQUIRE(element.size() == 2);
        CHECK(*element[0].data<std::string>() == flat_of(i).city);
        CHECK(element[1] == flat_of(i).scores.untyped());
    }
    CHECK_FALSE(run.next(element));
    CHECK(tn::untyped::parquet({path}).components().size() == 5);
    CHECK_ERROR(tn::invalid_argument_error, "there is no column called \"floors\"",
                tn::untyped::parquet({path}, {.columns = {"floors"}}));
    CHECK_THROWS_AS(tn::untyped::arrow_file({}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::arrow_file({path}), tn::data_loss_error);
}

TEST_CASE("what is no such file, is cut off or damaged, is an error that names it, and the next file follows") {
    const temporary_folder folder;
    for_each_format([&](const char* name, auto write, auto read) {
        write(folder / "whole", flats(0, 50), {.group_rows = 10});
        const std::string bytes = read_bytes(folder / "whole");
        const auto said = [&](const std::string& file) {
            return told_by(read(of<flat_row>, {file, folder / "whole"}),
                           [](const flat_row& r) { return std::to_string(r.rooms); });
        };
        const std::string missing = folder / "missing";
        CHECK(contains(said(missing)[0], std::string("!not_found ") + name + ": "));
        CHECK(contains(said(missing)[0], missing));
        CHECK(said(missing).size() == 51);
        const auto ends_whole = [](const texts& lines) { // with the rows of the other file
            bool all = lines.size() >= 50;
            for (std::size_t i = 0; all && i < 50; ++i) all = lines[lines.size() - 50 + i] == std::to_string(i);
            return all;
        };
        CHECK(ends_whole(said(missing)));
        const std::string path = folder / "bad";
        for (const std::string& bad :
             {std::string(), std::string("no table at all, but some text"), bytes.substr(0, bytes.size() / 2),
              bytes.substr(0, bytes.size() - 9), bytes.substr(7)}) {
            write_bytes(path, bad);
            const texts lines = said(path);
            CHECK(ends_whole(lines));
            REQUIRE(lines.size() > 50);
            CHECK(contains(lines[0], "!data_loss " + std::string(name) + ": '" + path + "'"));
        }
        // A damaged byte is noticed, or changes a value.
        for (std::size_t at = 0; at < bytes.size(); at += bytes.size() / 40) {
            std::string damaged = bytes;
            damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
            write_bytes(path, damaged);
            CHECK(ends_whole(said(path)));
        }
    });
}

TEST_CASE("a packed stream of Arrow is read, a packed Parquet file is not") {
    const temporary_folder folder;
    const std::string path = folder / "t.gz";
    if (!TENON_WITH_ZLIB) return;
    tn::write_arrow(folder / "t", flats(0, 3));
    const auto file = tn::packed(tn::file_system_of(path).create(path), path);
    const std::string bytes = read_bytes(folder / "t");
    file->write(bytes.data(), bytes.size());
    file->commit();
    const auto line = [](const flat_row& r) { return std::to_string(r.rooms); };
    CHECK(contains(told_by(tn::data::arrow_file<flat_row>(path), line)[0],
                   "an Arrow file that is packed as a whole, or in a pipe"));
    CHECK(contains(told_by(tn::data::parquet<flat_row>(path), line)[0], "!data_loss parquet: '" + path + "'"));
    // Within an Arrow file stands a stream, behind 8 bytes and before its directory.
    const auto stream = tn::packed(tn::file_system_of(path).create(path), path);
    stream->write(bytes.data() + 8, bytes.size() - 8);
    stream->commit();
    CHECK(told_by(tn::data::arrow_file<flat_row>(path), line) == texts{"0", "1", "2"});
}

TEST_CASE("what cannot be written is an error that says what to do, and leaves no file") {
    const temporary_folder folder;
    const std::string path = folder / "t";
    const auto bytes = tn::data::range(1).map_host([](int64_t) { return std::string("\xff\xfe"); });
    CHECK_ERROR(tn::invalid_argument_error,
                "write_parquet: '" + path + "': a text is no UTF-8: name its column in table_write_options::binary",
                tn::write_parquet(path, bytes, {.columns = {"b"}}));
    CHECK_ERROR(tn::invalid_argument_error, "2 columns for 1 components",
                tn::write_parquet(path, bytes, {.columns = {"a", "b"}}));
    CHECK_ERROR(tn::invalid_argument_error, "there is no column called \"c\"",
                tn::write_parquet(path, bytes, {.binary = {"c"}}));
    CHECK(folder.file_count() == 0);
    tn::write_parquet(path, bytes, {.columns = {"b"}, .binary = {"b"}});
    CHECK(all_of_set(tn::data::parquet<std::string>(path)) == texts{"\xff\xfe"});
}

namespace {
const std::string by_pyarrow(
    "PAR1\025\000\025\034\025\034,\025\006\025\000\025\006\025\006\034\000\000\000\002\000\000\000\003\005\007\000\000"
    "\000\367\377\377\377\025\000\025*\025*,\025\006\025\000\025\006\025\006\034\000\000\000\002\000\000\000\006\001"
    "\001\000\000\000x\002\000\000\000yz\000\000\000\000\025\002\031<5\000\030\006schema\025\004\000\025\002%\002\030"
    "\001a\000\025\014%\002\030\001b%\000L\034\000\000\000\026\006\031\034\031,&\000\034\025\002\031%\006\000\031\030"
    "\001a\025\000\026\006\026B\026B&\010I\034\025\000\025\000\025\002\000<)\006\031&\002\004\000\000\000&\000\034\025"
    "\014\031%\006\000\031\030\001b\025\000\026\006\026P\026P&JI\034\025\000\025\000\025\002\000<\026\006\031\006\031"
    "&\000\006\000\000\000\026\222\001\026\006&\010\026\222\001\000( parquet-cpp-arrow version 26.0.1\031,\034\000\000"
    "\034\000\000\000\271\000\000\000PAR1",
    270);
} // namespace
