#include <io/sources.hpp>

#include "tests.hpp"

using namespace std::string_literals;
using strings = std::vector<std::string>;
using tn::record_kind;

namespace {

const tn::record_format lines{.kind = record_kind::text_lines};
const tn::record_format csv{.kind = record_kind::csv_lines};

tn::record_format with_limit(tn::record_format f, std::int64_t limit, bool ignore = false) {
    f.largest_record = limit;
    f.ignore_errors = ignore;
    return f;
}

// The rows of a text as its grammar has them, one character after another.
struct naive_row {
    std::string text;
    std::uint64_t line;
};
std::vector<naive_row> naive_rows(std::string text, bool csv_rows, std::int64_t skip) {
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    std::vector<naive_row> rows;
    std::string row;
    std::uint64_t line = 1, first = 1;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"' && csv_rows) quoted = !quoted;
        if (text[i] == '\n') ++line;
        if (text[i] == '\n' && !quoted) {
            if (row.ends_with('\r')) row.pop_back();
            rows.push_back({row, first});
            row.clear();
            first = line;
        } else row += text[i];
    }
    if (!row.empty()) rows.push_back({row, first});
    rows.erase(rows.begin(), rows.begin() + std::min<std::ptrdiff_t>(skip, static_cast<std::ptrdiff_t>(rows.size())));
    return rows;
}

} // namespace

TEST_CASE("SEMANTICS 35: text lines come without their ends; the last one may have none") {
    CHECK(all_of("a\nbc\n", lines) == strings{"a", "bc"});
    CHECK(all_of("a\r\nbc", lines) == strings{"a", "bc"});
    CHECK(all_of("\n\r\n\n", lines) == strings{"", "", ""});
    CHECK(all_of("", lines).empty());
    CHECK(all_of("a\0b\rc\n\0"s, lines) == strings{"a\0b\rc"s, "\0"s});
    CHECK(all_of("a\r", lines) == strings{"a\r"}); // no line end
}

TEST_CASE("a byte order mark is left out, header lines are skipped, and lines keep their numbers") {
    tn::record_format f = lines;
    CHECK(all_of("\xEF\xBB\xBF"
                 "a\n",
                 f) == strings{"a"});
    CHECK(all_of("\xEF\xBB\xBF", f).empty());
    CHECK(all_of("\xEF\xBB", f) == strings{"\xEF\xBB"});
    f.skip_header_lines = 2;
    CHECK(all_of("\xEF\xBB\xBFh1\nh2\na\nb\n", f) == strings{"a", "b"});
    CHECK(all_of("h1\nh2", f).empty());
    CHECK(all_of("h1", f).empty());
    const auto source = source_of("h1\nh2\na\n", f);
    std::string_view r;
    CHECK(source->number() == 0);
    CHECK(source->next(r));
    CHECK(source->number() == 3);
    CHECK(source->position() == tn::record_position{8, 1, 3});
    CHECK_FALSE(source->next(r));
    CHECK(source->number() == 3);
}

TEST_CASE("csv_lines: a line ends outside of quotes only, and its number is that of its first line") {
    CHECK(all_of("a,b\n\"x\ny\",2\r\n\"\"\"\n\",3\n", csv) == strings{"a,b", "\"x\ny\",2", "\"\"\"\n\",3"});
    const auto source = source_of("\"a\nb\nc\"\nd", csv);
    std::string_view r;
    CHECK(source->next(r));
    CHECK(source->number() == 1);
    CHECK(source->position() == tn::record_position{8, 1, 3});
    CHECK(source->next(r));
    CHECK(source->number() == 4);
    tn::record_format f = csv;
    f.skip_header_lines = 1;
    CHECK(all_of("\"a\nb\",c\nd", f) == strings{"d"});
}

TEST_CASE("csv_lines, forgiving: every end of a line counts as one, of either kind, inside of quotes too") {
    tn::record_format f = with_limit(csv, 7);
    f.forgiving = true;
    for (const std::size_t buffer : {1U, 3U, 100U}) {
        const auto source = source_of("\"a\nb\",c\r\nd\re\"\rf\"\r\n\r\ng", f, buffer);
        std::string_view r;
        for (const auto& [row, line] : {std::pair("\"a\nb\",c", 1U), {"d", 3U}, {"e\"\rf\"", 4U}, {"g", 7U}}) {
            CHECK(source->next(r));
            CHECK(r == row);
            CHECK(source->number() == line);
        }
        CHECK_FALSE(source->next(r));
    }
}

TEST_CASE("a quote that never ends is named with its line; what came before is given") {
    const strings r = all_of("a\n\"b\"\"\n\",c\nd,\"e\nf\n\"\"g\n", csv);
    REQUIRE(r.size() == 3);
    CHECK(r[1] == "\"b\"\"\n\",c");
    CHECK(contains(r[2], "!data_loss read: 'it': a quote that begins in line 4 never ends"));
    CHECK(contains(r[2], "(line 4, which begins at byte 11)"));
    for (const std::size_t buffer : {3U, 100U}) // closed in line 2 and opened again
        CHECK(contains(all_of("\"a\nb\",\"c\nd", csv, buffer).at(0), "a quote that begins in line 2 never ends"));
    const auto ignoring = source_of("a\n\"b", with_limit(csv, 100, true));
    CHECK(all_of(*ignoring) == strings{"a"});
    CHECK(ignoring->ignored() == 1);
}

TEST_CASE("a line over the limit is refused without being held, and the next one follows") {
    const std::string text = "abcd\n" + std::string(100'000, 'x') + "\r\nefgh\r\n" + std::string(5, 'y');
    for (const std::size_t buffer : {1U, 7U, 64U, 1U << 18}) {
        const strings r = all_of(text, with_limit(lines, 4), buffer);
        REQUIRE(r.size() == 4);
        CHECK(r[0] == "abcd");
        CHECK(contains(r[1], "!resource_exhausted read: 'it': a line of more than 4 bytes"));
        CHECK(contains(r[1], "(line 2, which begins at byte 5)"));
        CHECK(r[2] == "efgh");
        CHECK(contains(r[3], "line 4, which begins at byte 100013"));
        const auto ignoring = source_of(text, with_limit(lines, 4, true), buffer);
        CHECK(all_of(*ignoring) == strings{"abcd", "efgh"});
        CHECK(ignoring->ignored() == 2);
    }
    const strings r = all_of("a\nb,\"" + std::string(100, '\n') + "\"\nc\n", with_limit(csv, 20));
    REQUIRE(r.size() == 3);
    CHECK(contains(r[1], "a quote that begins in line 2 has not ended so far"));
    CHECK(r[2] == "c");
}

TEST_CASE("what cannot be read ends the file with its error, after the lines before it") {
    auto file = std::make_unique<test_file>("ab\ncd\nef\n");
    file->good = 7;
    tn::record_format plain = lines;
    plain.compressed = tn::compression::none;
    const strings r = all_of(*source_of(std::move(file), plain, 4));
    REQUIRE(r.size() == 3);
    CHECK(r[1] == "cd");
    CHECK(r[2] == "!data_loss read: 'it': the disk is broken (line 3, which begins at byte 6)");
}

TEST_CASE("random texts: rows, numbers and places are those of a reader of one character at a time") {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        const bool csv_rows = random() % 2;
        std::string text = random() % 4 == 0 ? "\xEF\xBB\xBF" : "";
        const std::size_t size = random() % 200;
        for (std::size_t i = 0; i < size; ++i) text += "ab,\"\n\n\r\0x"[random() % 9];
        if (csv_rows && std::count(text.begin(), text.end(), '"') % 2) text += "\"";
        tn::record_format f = csv_rows ? csv : lines;
        f.skip_header_lines = random() % 3;
        const auto wanted = naive_rows(text, csv_rows, f.skip_header_lines);
        auto file = std::make_unique<test_file>(text);
        file->at_once = 1 + random() % 20;
        file->pipe = random() % 4 == 0;
        const bool pipe = file->pipe;
        const auto source = source_of(std::move(file), f, 1 + random() % 40);
        std::vector<tn::record_position> places{source->position()};
        std::string_view r;
        for (const naive_row& row : wanted) {
            REQUIRE(source->next(r));
            CHECK(r == row.text);
            CHECK(source->number() == row.line);
            places.push_back(source->position());
        }
        CHECK_FALSE(source->next(r));
        CHECK_FALSE(source->next(r));
        for (int i = 0; i < 10 && !pipe; ++i) {
            std::size_t at = random() % places.size();
            source->go_to(places[at]);
            CHECK(source->position() == places[at]);
            for (std::size_t n = random() % 3; at < wanted.size() && n < 3; ++at, ++n) {
                REQUIRE(source->next(r));
                CHECK(r == wanted[at].text);
                CHECK(source->number() == wanted[at].line);
                CHECK(source->position() == places[at + 1]);
            }
        }
    }
}

TEST_CASE("a place behind the end of a file that became shorter is out_of_range_error") {
    const auto source = source_of("a\nb\n", lines, 2);
    CHECK_ERROR(tn::out_of_range_error, "read: 'it' is shorter than 5 bytes, where record 4 was",
                source->go_to({5, 3, 3}));
    source->go_to({4, 2, 2});
    CHECK(all_of(*source).empty());
    source->go_to({0, 0, 0});
    CHECK(all_of(*source) == strings{"a", "b"});
}
