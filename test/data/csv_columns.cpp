#include <fstream>

#include <tenon/input.hpp>

#include "tests.hpp"

// Columns of CSV without a struct: by name and type, and with types that are found by looking.

namespace {

class table {
public:
    explicit table(const std::string& text) : path(folder / "a.csv") { std::ofstream(path, std::ios::binary) << text; }
    temporary_folder folder;
    std::string path;
};

constexpr const char* flats = "id,price,town,rooms,built,new\n"
                              "007,1200.5,\"Ulm, \"\"old\"\"\",3,1990-05-01,true\n"
                              "012,NA,Köln,2,2001-12-31,FALSE\n"
                              "100,900,,NA,2024-02-29,true\n";

std::string kinds(const tn::data::csv_schema& s) {
    std::string all;
    for (const auto& c : s.columns)
        all +=
            c.name + ":" + tn::name_of(c.element) + (c.dates ? "(dates)" : "") + ":" + std::to_string(c.missing) + " ";
    return all;
}
std::string kinds_of(const std::string& text, const tn::data::infer_options& o = {}) {
    return kinds(tn::data::infer_csv(table(text).path, o));
}

} // namespace

TEST_CASE("columns of CSV by their names, in any order, and several as one tensor") {
    const table file("a,b,c,d\n1,2,3,x\n4,,6,y\n");
    const auto pairs = tn::data::csv(file.path, tn::data::columns<std::string, std::int64_t>("d", "a"));
    std::string seen;
    for (const auto& [d, a] : pairs) seen += d + std::to_string(a);
    CHECK(seen == "x1y4");
    const auto features = tn::data::csv(
        file.path, tn::data::columns<tn::component<float, tn::shape<3>>, std::string>({"c", "a", "b"}, "d"),
        {.defaults = {"-1", "none"}});
    for (const auto& [x, d] : features.batch<2>()) {
        CHECK(x.untyped() == tn::array<float>{{3, 1, 2}, {6, 4, -1}}.untyped());
        CHECK(d(1) == "y");
    }
    // One name of three columns is the first of three that follow one another.
    for (const auto& x :
         tn::data::csv(file.path, tn::data::columns<tn::array<float, tn::shape<2>>>("a"), {.defaults = {"0"}})
             .batch<2>())
        CHECK(x.untyped() == tn::array<float>{{1, 2}, {4, 0}}.untyped());
    // Texts in several columns.
    for (const auto& x :
         tn::data::csv(file.path, tn::data::columns<tn::component<std::string, tn::shape<2>>>({"d", "a"})).batch<2>())
        CHECK(x.untyped() == tn::array<std::string>{{"x", "1"}, {"y", "4"}}.untyped());

    const auto fails = [&](const auto& columns) {
        return message_of<tn::invalid_argument_error>(
            [&] { (void)tn::data::csv(file.path, columns).iterate().next(); });
    };
    CHECK(fails(tn::data::columns<float>("e")) ==
          "csv: '" + file.path + "': there is no column called \"e\"; its first line names \"a\", \"b\", \"c\", \"d\"");
    CHECK(fails(tn::data::columns<float, float>("a", "a")) == "csv: \"a\" is asked for twice");
    CHECK(fails(tn::data::columns<float>("d")) == "csv: " + file.path + ":2: column 4 (d): \"x\" is no float");
    CHECK(fails(tn::data::columns<tn::component<float, tn::shape<3>>>({"a", "b"})) ==
          "csv: float[3] has 2 names; give one, or one for each of its elements");
}

TEST_CASE("types are found by looking: codes, missing fields, quotes, dates, truth") {
    const table file(flats);
    const auto schema = tn::data::infer_csv(file.path);
    CHECK(kinds(schema) == "id:string:0 price:double:1 town:string:1 rooms:double:1 built:string(dates):0 new:bool:0 ");
    CHECK(schema.whole);
    CHECK(schema.rows == 3);
    CHECK(schema.to_text() == "'" + file.path +
                                  "': 6 columns, all 3 rows\n"
                                  "column  type            missing  examples\n"
                                  "id      string          0        \"007\", \"012\", \"100\"\n"
                                  "price   double          1        1200.5, 900\n"
                                  "town    string          1        \"Ulm, \"old\"\", \"Köln\"\n"
                                  "rooms   double          1        3, 2\n"
                                  "built   string (dates)  0        \"1990-05-01\", \"2001-12-31\", \"2024-02-29\"\n"
                                  "new     bool            0        true, FALSE\n"
                                  "tn::data::columns<std::string, double, std::string, double, std::string, bool>"
                                  "(\"id\", \"price\", \"town\", \"rooms\", \"built\", \"new\")\n");
    const std::string odd = tn::data::infer_csv(table("\"size \"\"x\"\"\",a\\b,\"c\nd\"\n1,2,3\n").path).to_text();
    CHECK(odd.find(R"(columns<std::int64_t, std::int64_t, std::int64_t>("size \"x\"", "a\\b", "c\012d"))") !=
          std::string::npos);
    CHECK(kinds_of("1,2\n3,4\n") == "column_1:int64:0 column_2:int64:0 ");
    CHECK(kinds_of("1,2\n3,4\n", {.names = true}) == "1:int64:0 2:int64:0 ");
    CHECK(kinds_of("a,b\nc,d\n", {.names = false}) == "column_1:string:0 column_2:string:0 ");
    CHECK(kinds_of("a,a\nc,d\n") == "column_1:string:0 column_2:string:0 ");
    CHECK(contains(tn::data::infer_csv(table("a,a\nc,d\n").path).to_text(),
                   ": 2 columns, all 2 rows, no names in the first line\n"));
    CHECK(kinds_of(",x,name\n0,1.5,a\n1,2,b\n") == ":int64:0 x:double:0 name:string:0 "); // as pandas writes it
    CHECK(kinds_of("a,,c\n1,2,3\n") == "column_1:string:0 column_2:double:1 column_3:string:0 ");
    CHECK(kinds_of("a\n1\n-2\n1e3\n") == "a:double:0 ");
    CHECK(kinds_of("a\n9223372036854775807\n") == "a:int64:0 ");
    CHECK(kinds_of("a\n9223372036854775808\n") == "a:string:0 ");                // digits would be lost
    CHECK(kinds_of("a,b\n9007199254740993,1\n,2\n") == "a:string:1 b:int64:0 "); // as a double, too
    CHECK(kinds_of("a,b\ntrue,1\n,2\n") == "a:string:1 b:int64:0 ");
    CHECK(kinds_of("a,b\n,1\nNA,2\n") == "a:string:2 b:int64:0 ");
    CHECK(kinds_of("a;b\n?;1\n2;3\n", {.read = {.delimiter = ';', .na_values = {"?"}}}) == "a:double:1 b:int64:0 ");
    CHECK(kinds_of("d\n2024-01-01 12:30:00\n2024-13-01\n") == "d:string:0 ");
    CHECK(kinds_of("d\n2024-01-01T12:30Z\n2024-12-01 01:02:03.5+01:00\n") == "d:string(dates):0 ");
    CHECK(kinds_of("a\n1\n2\nx\n", {.rows = 2}) == "a:int64:0 ");
    CHECK(kinds_of("a,b\n") == "a:string:0 b:string:0 ");
    CHECK(contains(message_of<tn::invalid_argument_error>([] { kinds_of(""); }), "has no rows"));
    const table ragged("a,b\n1,2\n3\n");
    CHECK(message_of<tn::invalid_argument_error>([&] { (void)tn::data::infer_csv(ragged.path); }) ==
          "csv: " + ragged.path + ":3: 1 field, and 2 fields are expected");
}

TEST_CASE("a data set of the types that were found, and of some of its columns") {
    const table file(flats);
    const auto schema = tn::data::infer_csv(file.path);
    const tn::untyped::data_set rows = tn::data::csv(file.path, schema);
    tn::data_run run(rows);
    std::vector<tn::any_array> row;
    REQUIRE(run.next(row));
    CHECK(row.size() == 6);
    CHECK(row[2].data<std::string>()[0] == "Ulm, \"old\"");
    REQUIRE(run.next(row));
    CHECK(std::isnan(row[1].data<double>()[0]));
    const tn::data_set<double, std::string> typed(tn::data::csv(file.path, schema.only({"rooms", "town"})));
    std::string towns;
    double sum = 0;
    for (const auto& [rooms, town] : typed) {
        towns += town + ";";
        if (!std::isnan(rooms)) sum += rooms;
    }
    CHECK(towns == "Ulm, \"old\";Köln;;");
    CHECK(sum == 5);
    CHECK(message_of<tn::not_found_error>([&] { (void)schema.only({"rent"}); }) ==
          "csv: '" + file.path +
              "' has no column \"rent\"; there are \"id\", \"price\", \"town\", \"rooms\", \"built\", \"new\"");

    const table numbered(",x\n4,1.5\n5,2\n");
    std::int64_t numbers = 0;
    for (const auto& [n, x] :
         tn::data_set<std::int64_t, double>(tn::data::csv(numbered.path, tn::data::infer_csv(numbered.path))))
        numbers = 10 * numbers + n;
    for (const auto& n : tn::data::csv(numbered.path, tn::data::columns<std::int64_t>(""))) numbers = 10 * numbers + n;
    CHECK(numbers == 4545);
    CHECK(tn::data::read_csv(numbered.path).column<float>("x")(1) == 2);

    // What is not as the first rows were is said with what was looked at, and the rows behind it follow.
    const table longer("a,b\n1,x\n2,y\nz,z\n,z\n5,u\n");
    const auto first = tn::data::csv(longer.path, tn::data::infer_csv(longer.path, {.rows = 2}));
    tn::data_run it(first);
    REQUIRE(it.next(row));
    REQUIRE(it.next(row));
    const std::string who = "csv (types of the first 2 rows of '" + longer.path + "'): " + longer.path;
    CHECK(message_of<tn::invalid_argument_error>([&] { it.next(row); }) == who + ":4: column 1 (a): \"z\" is no int64");
    CHECK(message_of<tn::invalid_argument_error>([&] { it.next(row); }) ==
          who + ":5: column 1 (a): the field is missing, and has no default");
    REQUIRE(it.next(row));
    CHECK(row[0].data<std::int64_t>()[0] == 5);
}

TEST_CASE("a table in memory, by column") {
    const table file(flats);
    const auto t = tn::data::read_csv(file.path);
    CHECK(t.rows() == 3);
    CHECK(t.column("new").element() == tn::element_type::boolean);
    const auto rooms = t.column<float>("rooms");
    CHECK(rooms(0) == 3);
    CHECK(std::isnan(rooms(2)));
    CHECK(t.missing("rooms")(2));
    CHECK(!t.missing("rooms")(1));
    CHECK(t.column<std::string>("town")(1) == "Köln");
    const auto both = t.columns<double>({"price", "rooms"});
    CHECK(both(0, 0) == 1200.5);
    CHECK(both(1, 1) == 2);
    CHECK(t.to_text(2) == "id     price   town          rooms  built         new\n"
                          "\"007\"  1200.5  \"Ulm, \"old\"\"  3      \"1990-05-01\"  true\n"
                          "\"012\"  -       \"Köln\"        2      \"2001-12-31\"  false\n"
                          "... (3 rows)\n");
    const auto complaint = [&](auto f) { return message_of<tn::invalid_argument_error>(f); };
    CHECK(complaint([&] { (void)t.column<float>("town"); }) ==
          "csv: column \"town\" of '" + file.path + "' is string, not float");
    CHECK(contains(complaint([&] { (void)t.column<std::int32_t>("rooms"); }), "row 2: nan is no int32"));
    const auto small = tn::data::read_csv(table("a\n1\n300\n").path);
    CHECK(small.column<std::int16_t>("a")(1) == 300);
    CHECK(contains(complaint([&] { (void)small.column<std::int8_t>("a"); }), "row 1: 300 is no int8"));
    // Into data sets and models.
    std::int64_t n = 0;
    for (const auto& [x, label] : tn::data::zip(tn::data::slices(both), tn::data::slices(t.column<bool>("new"))))
        n += label + x.size();
    CHECK(n == 8);
    // Types are those of all rows, however many are asked for.
    CHECK(kinds(tn::data::read_csv(table("a\n1\n2\nx\n").path, {.rows = 1}).schema()) == "a:string:0 ");
}
