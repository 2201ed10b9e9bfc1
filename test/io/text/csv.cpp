#include <tenon/io/text/csv.hpp>

#include "tests.hpp"

using namespace tenon;

namespace {

constexpr element_type f32 = element_type::float32, i32 = element_type::int32, text = element_type::string;

// What one record gives, as texts of the elements: floats by %.9g.
std::vector<std::string> decoded(const csv_row_decoder& d, const std::vector<csv_column>& columns,
                                 const std::string& record) {
    std::vector<any_array> outputs;
    std::vector<void*> out;
    for (const csv_column& c : columns) {
        if (c.element == element_type::none) continue;
        out.push_back(outputs.emplace_back(c.element, extents{c.fields}).data());
    }
    d.decode(record, {"data.csv", 17}, out.data(), 0);
    std::vector<std::string> all;
    for (const any_array& a : outputs)
        for (std::int64_t i = 0; i < a.elements(); ++i) {
            char number[40] = {};
            switch (a.element()) {
            case element_type::float32: std::snprintf(number, sizeof number, "%.9g", a.data<float>()[i]); break;
            case element_type::float64: std::snprintf(number, sizeof number, "%.17g", a.data<double>()[i]); break;
            case element_type::int32: std::snprintf(number, sizeof number, "%d", a.data<std::int32_t>()[i]); break;
            case element_type::boolean: std::snprintf(number, sizeof number, "%d", a.data<bool>()[i]); break;
            default: all.push_back(a.data<std::string>()[i]); continue;
            }
            all.push_back(number);
        }
    return all;
}
std::vector<std::string> decoded(const std::vector<csv_column>& columns, const std::string& record,
                                 const csv_options& o = {}) {
    return decoded(csv_row_decoder("csv", columns, o), columns, record);
}
using row = std::vector<std::string>;

std::string complaint(const std::vector<csv_column>& columns, const std::string& record, const csv_options& o = {}) {
    return message_of<invalid_argument_error>([&] { decoded(columns, record, o); });
}

const std::vector<csv_column> three{{f32, "5"}, {f32, "6"}, {i32, "7"}};
const std::vector<csv_column> texts{{text, "none", 3}};

} // namespace

TEST_CASE("SEMANTICS 36: missing fields get the default, spaces around numbers are allowed") {
    CHECK(decoded(three, "1.,,44") == row{"1", "6", "44"});
    CHECK(decoded(three, " 1 ,\t,  44\t") == row{"1", "6", "44"});
    CHECK(decoded(three, ",,") == row{"5", "6", "7"});
    CHECK(decoded(three, "\"\",\" \",\"44\"") == row{"5", "6", "44"});
    CHECK(decoded(three, "\" 1 \",2,\"3\"") == row{"1", "2", "3"});
    CHECK(decoded({{element_type::boolean, "1"}, {element_type::boolean, "0"}}, " ,true") == row{"1", "1"});
    CHECK(decoded({{f32, "5"}}, "") == row{"5"});
    CHECK(decoded(three, "1,2,3\r") == row{"1", "2", "3"});
    CHECK(decoded(three, "1,2,\r\n") == row{"1", "2", "7"});
}

TEST_CASE("SEMANTICS 36: quotes by RFC 4180") {
    CHECK(decoded(texts, R"("a,b","say ""no""",c)") == row{"a,b", "say \"no\"", "c"});
    CHECK(decoded(texts, "\"two\r\nlines\",\"\"\"\",\"\"\"\"\"\"") == row{"two\r\nlines", "\"", "\"\""});
    CHECK(decoded(texts, ",\"\", ") == row{"none", "none", " "});
    CHECK(decoded(texts, std::string("a\0b,\"\0\",c", 9)) == row{std::string("a\0b", 3), std::string(1, '\0'), "c"});
    CHECK(decoded(texts, "5\" pipe,\",x", {.quotes = false}) == row{"5\" pipe", "\"", "x"});
}

TEST_CASE("csv: other delimiters, NA values, fields that are passed over") {
    CHECK(decoded(three, "1;;44", {.delimiter = ';'}) == row{"1", "6", "44"});
    CHECK(decoded(three, "1\t\t44", {.delimiter = '\t'}) == row{"1", "6", "44"});
    CHECK(decoded(three, "1  44", {.delimiter = ' '}) == row{"1", "6", "44"});
    CHECK(decoded(three, "NA, NA ,-999", {.na_values = {"NA", "-999"}}) == row{"5", "6", "7"});
    CHECK(decoded(three, "nan,\"nan\",1", {.na_values = {"nan"}}) == row{"5", "6", "1"});
    CHECK(decoded(texts, "NA, NA,\"NA\"", {.na_values = {"NA"}}) == row{"none", " NA", "none"});
    CHECK(decoded({{f32, {}}, {element_type::none, {}, 2}, {i32, {}}}, "1,\"a,\n\",what,3") == row{"1", "3"});
    CHECK(decoded({{f32, "9", 3}, {i32, {}}}, "1,,3,4") == row{"1", "9", "3", "4"});
}

TEST_CASE("csv: a row is written where it belongs, or nowhere") {
    const csv_row_decoder d("csv", {{f32, {}, 2}, {i32, {}}, {text, {}}});
    any_array pairs = any_array::zeros(f32, {3, 2}), words = any_array::zeros(text, {3});
    void* out[] = {pairs.data(), nullptr, words.data()};
    d.decode("1,2,3,x", {}, out, 2);
    d.decode("4,5,6,y", {}, out, 0);
    const float expected[] = {4, 5, 0, 0, 1, 2};
    CHECK(std::equal(expected, expected + 6, pairs.data<float>()));
    CHECK(words.data<std::string>()[2] == "x");
    CHECK(words.data<std::string>()[0] == "y");
    CHECK_THROWS_AS(d.decode("4,5,six,y", {}, out, 0), invalid_argument_error); // what is not wanted is read, too
}

TEST_CASE("SEMANTICS 36: what is wrong is named with line, column and text") {
    const csv_options named{.header = {"area", "rooms", "year"}};
    CHECK(complaint(three, "1,2,12x") == "csv: data.csv:17: column 3: \"12x\" is no int32");
    CHECK(complaint(three, "1,1e999,12", named) ==
          "csv: data.csv:17: column 2 (rooms): \"1e999\" is out of the range of float");
    CHECK(complaint(three, "1,2,2147483648") ==
          "csv: data.csv:17: column 3: \"2147483648\" is out of the range of int32");
    CHECK(complaint({{f32, {}}, {f32, {}}}, "1, ") ==
          "csv: data.csv:17: column 2: the field is missing, and has no default");
    CHECK(complaint(texts, "a,b") == "csv: data.csv:17: 2 fields, and 3 fields are expected");
    CHECK(complaint(three, "") == "csv: data.csv:17: the record is empty, and 3 fields are expected");
    CHECK(complaint(three, "1,2,3,4,") == "csv: data.csv:17: 5 fields, and 3 are expected");
    CHECK(complaint(texts, "a,\"b,c") == "csv: data.csv:17: column 2: a quote that never ends: \"\"b,c\"");
    CHECK(contains(complaint(texts, "a,\"b\"\""), "never ends"));
    CHECK(contains(complaint(texts, "\"a\"b,c,d"), "column 1: text after a closing quote: \"\"a\"b,c,d\""));
    CHECK(contains(complaint(three, "1,\"2\"3,4"), "column 2: text after a closing quote"));
    CHECK(contains(complaint(texts, "a,b\"c,d"), "column 2: a quote in a field that does not begin with one"));
    CHECK(contains(complaint(texts, "a,b\nc,d"), "column 2: a line ends in a field without quotes"));
    CHECK(complaint(three, std::string("1,2\0,3", 6)) == "csv: data.csv:17: column 2: \"2\\x00\" is no float");
    CHECK(complaint(three, std::string(100000, 'x')).size() < 200);
}

TEST_CASE("csv: options and columns that make no sense") {
    const auto made = [](std::vector<csv_column> c, csv_options o) {
        return message_of<invalid_argument_error>([&] { csv_row_decoder("csv", std::move(c), std::move(o)); });
    };
    for (const char c : {'"', '\n', '\r', '7', 'e', '-', '.'}) {
        csv_options o;
        o.delimiter = c;
        CHECK(made(three, o).find("csv: fields cannot be delimited by") == 0);
    }
    CHECK(made({{i32, "1.5"}}, {}) == "csv: the default of column 1, \"1.5\", is no int32");
    CHECK(made({{f32, {}, 2}, {element_type::int8, "300"}}, {}) ==
          "csv: the default of column 3, \"300\", is out of the range of int8");
    CHECK(made({}, {}) == "csv: there are no columns");
    CHECK(made({{f32, {}, 0}}, {}) == "csv: column 1 has 0 fields");
}

TEST_CASE("csv: records that Python's csv module wrote, and reads so") {
    const struct {
        std::string record;
        row fields;
    } written[] = {
        {"aa,ba,\" ,;\012\"\015\012", {"aa", "ba", " ,;\012"}},
        {"\011;,\"b\303\251\012\015\",\"\"\"\012,\"\015\012", {"\011;", "b\303\251\012\015", "\"\012,"}},
        {" b\011,\",\011;\",\"\015\"\015\012", {" b\011", ",\011;", "\015"}},
        {"\"\303\251\"\"\011 a\",\"\012\015 ,\",\"\"\",\015\"\015\012", {"\303\251\"\011 a", "\012\015 ,", "\",\015"}},
        {"\";\303\251a,\011\",\"\011;\015\",\"b,;,\303\251\"\015\012",
         {";\303\251a,\011", "\011;\015", "b,;,\303\251"}},
        {" ,x,\",\"\"\012\011a\"\015\012", {" ", "x", ",\"\012\011a"}},
        {"\"\012\"\"\015 \",\303\251;bb,\"\015,,\"\" \"\015\012", {"\012\"\015 ", "\303\251;bb", "\015,,\" "}},
        {" ,\"b\015;;\",a\011\015\012", {" ", "b\015;;", "a\011"}},
        {"\011a,\"a\015\",\"b\012b;\012\"\015\012", {"\011a", "a\015", "b\012b;\012"}},
        {"\" ;\"\"\", ,\"\015\012\"\015\012", {" ;\"", " ", "\015\012"}},
        {"x,\" b \015;\",\"\011\015\"\015\012", {"x", " b \015;", "\011\015"}},
        {"x,\" \012ba\",\",\015\"\015\012", {"x", " \012ba", ",\015"}},
    };
    for (const auto& w : written) {
        CAPTURE(w.record);
        CHECK(decoded(texts, w.record) == w.fields);
    }
}

// A reader of RFC 4180 that looks at one character after another, and a library's strtof: nothing is shared with what is tested.
namespace {

struct plain_field {
    std::string text;
    bool wrong = false;
};
std::vector<plain_field> plain_fields(const std::string& record, char delimiter) {
    enum { begin, unquoted, quoted, quote_in_quotes } at = begin;
    std::vector<plain_field> all(1);
    for (const char c : record) {
        plain_field& f = all.back();
        switch (at) {
        case begin:
        case unquoted:
            if (c == delimiter) all.emplace_back(), at = begin;
            else if (c == '"' && at == begin) at = quoted;
            else {
                f.wrong = f.wrong || c == '"' || c == '\n' || c == '\r';
                f.text += c, at = unquoted;
            }
            break;
        case quoted:
            if (c == '"') at = quote_in_quotes;
            else f.text += c;
            break;
        case quote_in_quotes:
            if (c == '"') f.text += c, at = quoted;
            else if (c == delimiter) all.emplace_back(), at = begin;
            else f.wrong = true, f.text += c, at = unquoted;
            break;
        }
    }
    if (at == quoted) all.back().wrong = true;
    return all;
}

} // namespace

TEST_CASE("csv: random records, right and wrong, are read as by a plain reader") {
    for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
        std::mt19937_64 random(seed);
        const auto below = [&](std::uint64_t n) { return random() % n; };
        const char delimiter = ",;\t|"[below(4)];
        csv_options o;
        o.delimiter = delimiter;
        std::vector<csv_column> columns;
        std::vector<element_type> types;
        for (std::uint64_t n = 1 + below(5); n > 0; --n) {
            const element_type e = below(2) ? f32 : text;
            const std::int64_t fields = 1 + static_cast<std::int64_t>(below(3));
            columns.push_back({e, e == f32 ? "-1.5" : "none", fields});
            types.insert(types.end(), static_cast<std::size_t>(fields), e);
        }
        const csv_row_decoder d("csv", columns, o);
        for (int records = 0; records < 10; ++records) {
            std::string record;
            const std::size_t fields =
                types.size() + (below(20) == 0 ? 1 : 0) - (types.size() > 1 && below(20) == 0 ? 1 : 0);
            for (std::size_t i = 0; i < fields; ++i) {
                if (i > 0) record += delimiter;
                std::string field;
                if ((i < types.size() ? types[i] : f32) == f32) {
                    if (below(5) != 0)
                        field = std::to_string(below(100000)) + (below(2) ? "." + std::to_string(below(1000)) : "");
                    field.insert(0, below(3), ' ');
                    field.append(below(3), ' ');
                    if (below(60) == 0) field += 'x';
                    if (below(5) == 0) field = "\"" + field + "\"";
                } else {
                    const bool quoted = below(2) != 0;
                    for (std::uint64_t k = below(6); k > 0; --k) {
                        const char c = "ab \"\n;,"[below(quoted ? 7 : 3)];
                        field += c == '"' ? "\"\"" : std::string(1, c == delimiter && !quoted ? 'c' : c);
                    }
                    if (quoted) field = "\"" + field + (below(40) == 0 ? "" : "\"") + (below(40) == 0 ? "x" : "");
                    else if (below(60) == 0) field += '"';
                }
                record += field;
            }
            INFO("seed " << seed << ", record " << record);
            const std::vector<plain_field> plain = plain_fields(record, delimiter);
            bool right = plain.size() == types.size();
            row expected;
            for (std::size_t i = 0; i < plain.size() && right; ++i) {
                right = !plain[i].wrong;
                const std::string& t = plain[i].text;
                if (types[i] == text) expected.push_back(t.empty() ? "none" : t);
                else {
                    char* end = nullptr;
                    float v = std::strtof(t.c_str(), &end);
                    if (t.find_first_not_of(' ') == std::string::npos) v = -1.5f;
                    else right = right && std::string(end).find_first_not_of(' ') == std::string::npos;
                    char number[40];
                    std::snprintf(number, sizeof number, "%.9g", static_cast<double>(v));
                    expected.push_back(number);
                }
            }
            if (right) REQUIRE(decoded(d, columns, record) == expected);
            else REQUIRE_THROWS_AS(decoded(d, columns, record), invalid_argument_error);
        }
    }
}
