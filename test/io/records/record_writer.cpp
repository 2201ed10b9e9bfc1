#include <charconv>

#include <tenon/io/records/record_source.hpp>
#include <tenon/io/records/record_writer.hpp>
#include <io/sources.hpp>

#include "tests.hpp"

using namespace std::string_literals;
using strings = std::vector<std::string>;

TEST_CASE_FIXTURE(in_folder, "TFRecords are read as they were written, packed by the file's name") {
    strings records{"", "a", std::string(300'000, 'x')};
    std::mt19937 random(1);
    for (int i = 0; i < 1000; ++i) {
        std::string r(random() % 500, '\0');
        for (char& c : r) c = static_cast<char>(random());
        records.push_back(r);
    }
    for (const char* name : {"a", "a.gz", "a.zlib"}) {
        if (!TENON_WITH_ZLIB && name != "a"s) continue;
        tn::tfrecord_writer out(folder / name);
        for (const std::string& r : records) out.write(r);
        CHECK_FALSE(std::filesystem::exists(folder / name));
        out.commit();
        CHECK(all_of(*tn::open_records("read", folder / name, {.kind = tn::record_kind::tfrecord})) == records);
        CHECK_THROWS_AS(out.write("more"), tn::failed_precondition_error);
        CHECK_THROWS_AS(out.commit(), tn::failed_precondition_error);
    }
    // As TensorFlow writes "first".
    tn::tfrecord_writer out(folder / "b");
    out.write("first");
    out.commit();
    CHECK(read_bytes(folder / "b") == "\x05\0\0\0\0\0\0\0\xea\xb2\x04\x3e"
                                      "first\x55\xff\x23\xe5"s);
}

TEST_CASE_FIXTURE(in_folder, "a writer without commit() leaves nothing behind, nor does one that cannot write") {
    {
        tn::text_writer out(folder / "a");
        out.write(std::string(1 << 20, 'a'));
    }
    CHECK(folder.file_count() == 0);
    CHECK(contains(message_of<tn::not_found_error>([&] { tn::text_writer out(folder / "no/a"); }),
                   "text_writer: '" + (folder / "no/a") + "': No such file"));
    CHECK_THROWS_AS(tn::csv_writer("nosuch://a"), tn::not_found_error);
}

TEST_CASE_FIXTURE(in_folder, "lines of text that would be read as others are refused") {
    tn::text_writer out(folder / "a");
    for (const char* line : {"a", "", "b\rc"}) out.write(line);
    CHECK_THROWS_AS(out.write("a\nb"), tn::invalid_argument_error);
    CHECK_THROWS_AS(out.write("a\r"), tn::invalid_argument_error);
    out.commit();
    CHECK(all_of(*tn::open_records("read", folder / "a", {})) == strings{"a", "", "b\rc"});
}

TEST_CASE_FIXTURE(in_folder, "CSV: fields that need quotes get them (RFC 4180)") {
    const auto written = [&](const tn::csv_writer_options& o, auto... fields) {
        tn::csv_writer out(folder / "a", {}, o);
        out.row(fields...);
        out.commit();
        return read_bytes(folder / "a");
    };
    CHECK(written({}, "a", "b c", "") == "a,b c,\n");
    CHECK(written({}, "a,b", "\"q\"", "l\nm", "r\r") == "\"a,b\",\"\"\"q\"\"\",\"l\nm\",\"r\r\"\n");
    CHECK(written({.delimiter = ';', .crlf = true}, "a,b", "c;d") == "a,b;\"c;d\"\r\n");
    CHECK(written({.delimiter = '.'}, 1.5, 2) == "\"1.5\".2\n");
    CHECK(written({}, "") == "\"\"\n");
    CHECK(written({}, "\xEF\xBB\xBF", "\xEF\xBB\xBF") == "\"\xEF\xBB\xBF\",\xEF\xBB\xBF\n");
    CHECK(written({}, true, false, 'c' - 'a', std::int8_t{-5}, std::uint64_t{18446744073709551615U}) ==
          "true,false,2,-5,18446744073709551615\n");
}

TEST_CASE_FIXTURE(in_folder, "CSV: numbers are read as they were written") {
    std::mt19937_64 random(5);
    std::vector<double> doubles{0.1, -0.0, 1e308, 5e-324, 1.0 / 3};
    std::vector<float> floats{0.1F, 16777216.0F, 1e-45F, 3.4028235e38F, 0};
    while (doubles.size() < 1000) {
        const double d = std::bit_cast<double>(random());
        const float f = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        if (d - d != 0 || f - f != 0) continue; // no number
        doubles.push_back(d);
        floats.push_back(f);
    }
    tn::csv_writer out(folder / "a", {"d", "f", "h"});
    const double negative =
        std::copysign(std::numeric_limits<double>::quiet_NaN(), -1.0); // of a NaN the sign says nothing
    out.row(negative, static_cast<float>(negative), tn::half(static_cast<float>(negative)));
    for (std::size_t i = 0; i < doubles.size(); ++i) out.row(doubles[i], floats[i], tn::half(floats[i]));
    out.commit();
    const strings lines = all_of(*tn::open_records("read", folder / "a", {.skip_header_lines = 2}));
    REQUIRE(lines.size() == doubles.size());
    CHECK(read_bytes(folder / "a").starts_with("d,f,h\nnan,nan,nan\n"));
    for (std::size_t i = 0; i < lines.size(); ++i) {
        double d = 0;
        float f = 0;
        const char* const end = lines[i].data() + lines[i].size();
        const char* const comma = std::from_chars(lines[i].data(), end, d).ptr;
        std::from_chars(comma + 1, end, f);
        CHECK(std::bit_cast<std::uint64_t>(d) == std::bit_cast<std::uint64_t>(doubles[i]));
        CHECK(std::bit_cast<std::uint32_t>(f) == std::bit_cast<std::uint32_t>(floats[i]));
    }
}

TEST_CASE_FIXTURE(in_folder, "CSV: a table's rows are its elements along dimension 0, below its header") {
    tn::csv_writer out(folder / "a", {"x", "the \"y\""});
    out.rows(tn::array<std::int32_t>{{1, 2}, {-3, 4}});
    out.rows(tn::array<std::string>{{"a", "b,c"}});
    out.commit();
    CHECK(read_bytes(folder / "a") == "x,\"the \"\"y\"\"\"\n1,2\n-3,4\na,\"b,c\"\n");
}

TEST_CASE_FIXTURE(in_folder, "CSV: a row of another length is refused, and a row that has not ended") {
    tn::csv_writer out(folder / "a", {"x", "y"});
    CHECK_ERROR(tn::invalid_argument_error, "row 2 has 1 fields where the first has 2", out.row(1));
    tn::csv_writer open(folder / "b");
    open.field("a");
    CHECK_ERROR(tn::invalid_argument_error, "row 1 has not ended", open.commit());
    CHECK_THROWS_AS(tn::csv_writer(folder / "c", {}, {.delimiter = '"'}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::csv_writer(folder / "c").rows(tn::array<float>(1.0F)), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_folder, "CSV: random fields come back, rows with line ends among them") {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        strings fields;
        tn::csv_writer out(folder / "a");
        for (int i = 0; i < 30; ++i) {
            std::string f;
            for (std::size_t n = random() % 6; n > 0; --n) f += "ab,\"\n\r \0"[random() % 8];
            fields.push_back(f);
            out.row(f);
        }
        out.commit();
        const strings rows = all_of(*tn::open_records("read", folder / "a", {.kind = tn::record_kind::csv_lines}));
        REQUIRE(rows.size() == fields.size());
        for (std::size_t i = 0; i < rows.size(); ++i) { // one field: quotes around it, and doubled ones in it
            std::string f = rows[i];
            if (f.starts_with('"')) {
                f = f.substr(1, f.size() - 2);
                for (std::size_t at = 0; (at = f.find("\"\"", at)) != std::string::npos; ++at) f.erase(at, 1);
            }
            CHECK(f == fields[i]);
        }
    }
}
