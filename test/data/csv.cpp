#include <tenon/data/csv.hpp>
#include <tenon/input.hpp>

#include "tests.hpp"

namespace {

using texts = std::vector<std::string>;

struct pair_of_texts {
    std::string a, b;
    static constexpr auto fields() { return tn::record_fields("a", &pair_of_texts::a, "b", &pair_of_texts::b); }
};

// Rows of two texts as "a|b", errors as "!".
texts rows_of(const std::string& path, const tn::data::csv_read_options& o) {
    texts rows;
    auto it = tn::data::csv<std::string, std::string>(path, o).iterate();
    for (;;) {
        try {
            const auto row = it.next();
            if (!row) return rows;
            rows.push_back(std::get<0>(*row) + "|" + std::get<1>(*row));
        } catch (const tn::error&) {
            rows.push_back("!");
        }
    }
}

// The same as one would write it who has the whole text, and time.
class naive_reader {
public:
    naive_reader(std::string text, char comment) : text_(std::move(text)), comment_(comment) {}
    texts rows() {
        texts all;
        while (at_ < text_.size()) {
            std::size_t first = at_;
            while (first < text_.size() && (text_[first] == ' ' || text_[first] == '\t')) ++first;
            if (first == text_.size()) break;
            const bool is_comment = comment_ != 0 && text_[first] == comment_;
            if (is_comment || is_end(first)) {
                while (first < text_.size() && !is_end(first)) ++first;
                at_ = behind_end(first);
                continue;
            }
            bool quoted = false;
            std::size_t end = at_;
            for (; end < text_.size() && (quoted || !is_end(end)); ++end) quoted = quoted != (text_[end] == '"');
            if (quoted) {
                all.push_back("!"); // a quote that never ends
                break;
            }
            all.push_back(row(text_.substr(at_, end - at_)));
            at_ = behind_end(end);
        }
        return all;
    }

private:
    bool is_end(std::size_t i) const { return text_[i] == '\n' || text_[i] == '\r'; }
    std::size_t behind_end(std::size_t i) const { return text_.compare(i, 2, "\r\n") == 0 ? i + 2 : i + 1; }
    static std::string row(const std::string& record) {
        texts fields;
        std::size_t at = 0;
        const auto pass_spaces = [&](std::size_t i) {
            while (i < record.size() && (record[i] == ' ' || record[i] == '\t')) ++i;
            return i;
        };
        for (;;) {
            std::string field;
            std::size_t i = pass_spaces(at);
            if (i < record.size() && record[i] == '"') {
                for (++i;; ++i) {
                    if (i >= record.size()) return "!";
                    if (record[i] == '"' && record.compare(i, 2, "\"\"") != 0) break;
                    if (record[i] == '"') ++i;
                    field += record[i];
                }
                i = pass_spaces(i + 1);
                if (i < record.size() && record[i] != ',') return "!";
            } else {
                for (i = at; i < record.size() && record[i] != ','; ++i) {
                    if (record[i] == '"') return "!";
                    field += record[i];
                }
            }
            fields.push_back(field);
            if (i >= record.size()) break;
            at = i + 1;
        }
        return fields.size() == 2 ? fields[0] + "|" + fields[1] : "!";
    }

    const std::string text_;
    const char comment_;
    std::size_t at_ = 0;
};

} // namespace

TEST_CASE_FIXTURE(in_folder, "csv, forgiving: blank lines, comments, lone carriage returns and spaces beside quotes") {
    const std::string path = folder / "a.csv";
    write_bytes(
        path,
        "\xEF\xBB\xBF# people\r\r  \na,b\r\n  # \"a quote\n1, \"x, y\" \r\"2\"\t,\"two\r\rlines\"\r\n\n3, \" \"\"\"");
    CHECK(rows_of(path, {.forgiving = true}) == texts{"a|b", "1|x, y", "2|two\r\rlines", "3| \""});
    // By names, of which the first line that is one says the columns.
    texts named;
    for (const pair_of_texts& row : tn::data::csv<pair_of_texts>(path, {.forgiving = true})) named.push_back(row.b);
    CHECK(named == texts{"x, y", "two\r\rlines", " \""});
    // The place in messages counts all lines.
    write_bytes(path, "# one\r\n\r1,2\rx,2\n");
    auto it = tn::data::csv<int, int>(path, {.forgiving = true}).iterate();
    CHECK(std::get<1>(*it.next()) == 2);
    CHECK_ERROR(tn::invalid_argument_error, "a.csv:4: column 1", it.next());
    // Another comment, or none.
    write_bytes(path, "#1,2\n;3,4\n");
    CHECK(rows_of(path, {.forgiving = true, .comment = ';'}) == texts{"#1|2"});
    CHECK(rows_of(path, {.forgiving = true, .comment = 0}) == texts{"#1|2", ";3|4"});
    // Where tabs delimit, a line of tabs is a row.
    write_bytes(path, "\t\n \"a\" \t \"b\" \n  \n");
    CHECK(rows_of(path, {.delimiter = '\t', .defaults = {"", ""}, .forgiving = true}) == texts{"|", "a|b"});
    CHECK_THROWS_AS((void)tn::data::csv<int>(path, {.forgiving = true, .comment = '"'}), tn::invalid_argument_error);
    // They are not counted among the lines to skip; line numbers count them.
    write_bytes(path, "\n# c\nname,val\n\na,1\nb,x\n");
    CHECK(rows_of(path, {.skip_header_lines = 1, .forgiving = true}) == texts{"a|1", "b|x"});
    CHECK(rows_of(path, {.skip_header_lines = 2, .forgiving = true}) == texts{"b|x"});
    CHECK(rows_of(path, {.skip_header_lines = 9, .forgiving = true}) == texts{});
    auto skipped = tn::data::csv<std::string, int>(path, {.skip_header_lines = 1, .forgiving = true}).iterate();
    CHECK(std::get<1>(*skipped.next()) == 1);
    CHECK_ERROR(tn::invalid_argument_error, "a.csv:6: column 2", skipped.next());
    CHECK(rows_of(path, {.skip_header_lines = 2}) == texts{"name|val", "!", "a|1", "b|x"});
    // A line of names that is none is named too.
    write_bytes(path, "\n# c\na,\"b\" x\n");
    auto broken = tn::data::csv<pair_of_texts>(path, {.forgiving = true}).iterate();
    CHECK_ERROR(tn::invalid_argument_error, "a.csv:3: column 2", broken.next());
    // All of it is refused, or a row, where nobody asked for it.
    write_bytes(path, "# c,\n\n1, \"2\"\n3,4\n");
    CHECK(rows_of(path, {.defaults = {"", ""}}) == texts{"# c|", "!", "!", "3|4"});
}

TEST_CASE("csv, forgiving: random bytes, beside a naive reader, in one piece, in batches and from any place") {
    const temporary_folder folder;
    const std::string path = folder / "a.csv";
    std::mt19937 random(3);
    const std::string characters = "ab,,\"\"  \t\r\r\n\n#";
    for (int round = 0; round < 3000; ++round) {
        std::string text;
        for (auto n = random() % 40; n > 0; --n) text += characters[random() % characters.size()];
        write_bytes(path, text);
        CAPTURE(round);
        CAPTURE(text);
        const char comment = random() % 2 == 0 ? '#' : '\0';
        const auto skip = static_cast<std::ptrdiff_t>(random() % 3);
        const tn::data::csv_read_options o{
            .skip_header_lines = skip, .defaults = {"", ""}, .forgiving = true, .comment = comment};
        texts expected = naive_reader(text, comment).rows();
        expected.erase(expected.begin(), expected.begin() + std::min(skip, std::ssize(expected)));
        REQUIRE(rows_of(path, o) == expected);
        if (round % 10 != 0) continue;
        const auto set = tn::data::csv<std::string, std::string>(path, o);
        const auto all = [](auto& it, std::size_t most) {
            texts rows;
            while (rows.size() < most) {
                try {
                    const auto row = it.next();
                    if (!row) break;
                    rows.push_back(std::get<0>(*row) + "|" + std::get<1>(*row));
                } catch (const tn::error&) {
                    rows.push_back("!");
                }
            }
            return rows;
        };
        auto first = set.iterate();
        texts parts = all(first, random() % (expected.size() + 1));
        auto second = set.iterate();
        second.restore(first.save());
        for (const std::string& row : all(second, expected.size() + 1)) parts.push_back(row);
        REQUIRE(parts == expected);
    }
}

TEST_CASE_FIXTURE(in_folder, "csv: UTF-16 and UTF-32 are refused in words, and the next file follows") {
    const auto wide = [](const std::string& text, bool big) {
        std::string bytes;
        for (const char c : text)
            (bytes += big ? std::string(1, '\0') + c : std::string(1, c)) += big ? "" : std::string(1, '\0');
        return bytes;
    };
    write_bytes(folder / "good.csv", "1,2\n");
    int count = 0;
    for (const std::string& bytes : {"\xFF\xFE" + std::string("\0\0"
                                                              "1\0\0\0",
                                                              6),
                                     std::string("\0\0\xFE\xFF\0\0\0"
                                                 "1",
                                                 8)}) {
        write_bytes(folder / "wide.csv", bytes);
        auto it = tn::data::csv<int, int>(folder / "wide.csv").iterate();
        CHECK_ERROR(tn::invalid_argument_error, "the file is UTF-32, not UTF-8; convert it: iconv -f UTF-32 -t UTF-8",
                    it.next());
    }
    for (const std::string& bytes : {"\xFF\xFE" + wide("1,2\n", false), "\xFE\xFF" + wide("1,2\n", true),
                                     wide("1,2\n3,4\n", false), wide("1,2\n3,4\n", true)}) {
        CAPTURE(count);
        const std::string path = folder / std::to_string(count++);
        write_bytes(path, bytes);
        for (const bool forgiving : {false, true}) {
            auto it = tn::data::csv<int, int>({path, folder / "good.csv"}, {.forgiving = forgiving}).iterate();
            CHECK_ERROR(tn::invalid_argument_error, "the file is UTF-16", it.next());
            CHECK(std::get<1>(*it.next()) == 2);
            CHECK(!it.next());
        }
    }
}

TEST_CASE_FIXTURE(in_graph, "csv: infinities with and without a sign, and one name for a row of several columns") {
    const temporary_folder folder;
    write_bytes(folder / "a.csv", "+inf,-inf,INF,+Infinity,1\n");
    const auto rows = tn::data::csv<tn::component<float, tn::shape<4>>, int>(folder / "a.csv");
    const auto [x, one] = *rows.iterate().next();
    CHECK((x(0) > 0 && x(1) < 0 && x(2) > 0 && x(3) > 0 && x(0) - x(0) != 0));
    const auto [decoded, last] = tn::decode_csv<tn::component<float, tn::shape<4>>, std::int32_t>(
        tn::constant(" \"+inf\" ,\"-inf\",inf, 3 ,7"), tn::csv_options{.forgiving = true});
    tn::session s(g);
    const auto values = s.run(decoded);
    CHECK((values(0) > 0 && values(0) - values(0) != 0 && values(1) < 0 && values(3) == 3));
}

TEST_CASE("csv: batches of a size that types say are whole, and names in quotes may hold the delimiter") {
    const temporary_folder folder;
    const std::string path = folder / "a.csv";
    write_bytes(path, "1,2\n3,4\n5,6\n7,8\n9,0\n");
    std::vector<int> firsts;
    for (const auto& [a, b] : tn::data::csv<int, int>(path).batch<2>()) firsts.insert(firsts.end(), a.begin(), a.end());
    CHECK(firsts == std::vector<int>{1, 3, 5, 7}); // the last row fills none
    write_bytes(path, "\"x,y\",b,a\n1,2,3\n");
    CHECK(tn::data::csv<pair_of_texts>(path).iterate().next()->b == "2");
}
