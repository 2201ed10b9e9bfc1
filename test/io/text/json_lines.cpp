#include <nlohmann/json.hpp>

#include <tenon/io/text/json_lines.hpp>

#include "tests.hpp"

using namespace tenon;

namespace {

const std::vector<json_column> columns{{"id", element_type::int32, {}, {}},
                                       {"scores", element_type::float32, {2, 2}, "0.5"},
                                       {"name", element_type::string, {}, "nobody"},
                                       {"good", element_type::boolean, {}, "1"}};

struct results {
    any_array id{element_type::int32, extents{1}}, scores{element_type::float32, extents{1, 2, 2}},
        name{element_type::string, extents{1}}, good{element_type::boolean, extents{1}};
    explicit results(const std::string& record) {
        void* out[] = {id.data(), scores.data(), name.data(), good.data()};
        json_row_decoder("json", columns).decode(record, {"data.json", 3}, out, 0);
    }
    std::vector<float> all_scores() const { return {scores.data<float>(), scores.data<float>() + 4}; }
};

std::string complaint(const std::string& record) {
    return message_of<invalid_argument_error>([&] { results r(record); });
}

} // namespace

TEST_CASE("json_lines: members by name, lists of lists, defaults, and members that are passed over") {
    const results r(
        R"({"other":{"id":[1,{"scores":2}]},"scores":[[1,2.5],[-3e2,4]],"id":7,"name":"a\u00e9\"","good":false,"x":[[]]})");
    CHECK(r.id.data<std::int32_t>()[0] == 7);
    CHECK(r.all_scores() == std::vector<float>{1, 2.5, -300, 4});
    CHECK(r.name.data<std::string>()[0] == "a\u00e9\"");
    CHECK(!r.good.data<bool>()[0]);

    const results little(R"( { "id" : -1 , "name" : null , "scores" : null } )");
    CHECK(little.id.data<std::int32_t>()[0] == -1);
    CHECK(little.all_scores() == std::vector<float>{0.5, 0.5, 0.5, 0.5});
    CHECK(little.name.data<std::string>()[0] == "nobody");
    CHECK(little.good.data<bool>()[0]);
}

TEST_CASE("json_lines: what is wrong is named with line, member and value") {
    CHECK(complaint("{}") == "json: data.json:3: member \"id\": it is missing, and has no default");
    CHECK(complaint(R"({"id":null})") == "json: data.json:3: member \"id\": it is null, and has no default");
    CHECK(complaint(R"({"id":1.5})") == "json: data.json:3: member \"id\": 1.5 is no int32");
    CHECK(complaint(R"({"id":"1"})") == "json: data.json:3: member \"id\": \"1\" is no int32");
    CHECK(complaint(R"({"id":3000000000})") ==
          "json: data.json:3: member \"id\": 3000000000 is out of the range of int32");
    CHECK(complaint(R"({"id":18446744073709551615})") ==
          "json: data.json:3: member \"id\": 18446744073709551615 is out of the range of int32");
    CHECK(complaint(R"({"id":[1]})") == "json: data.json:3: member \"id\": a list, and one int32 is expected");
    CHECK(complaint(R"({"id":{}})") == "json: data.json:3: member \"id\": an object, and one int32 is expected");
    CHECK(complaint(R"({"id":1,"id":2})") == "json: data.json:3: member \"id\": it is there twice");
    CHECK(complaint(R"({"good":1})") == "json: data.json:3: member \"good\": 1 is no bool");
    CHECK(complaint(R"({"scores":1})") == "json: data.json:3: member \"scores\": 1, and a list of 2 is expected");
    CHECK(complaint(R"({"scores":[[1,2]]})") ==
          "json: data.json:3: member \"scores\": a list of 1, and 2 are expected");
    CHECK(complaint(R"({"scores":[[1,2],[3,4],[5,6]]})") ==
          "json: data.json:3: member \"scores\": a list of more than the 2 that are expected");
    CHECK(complaint(R"({"scores":[[1,2],[3,null]]})") == "json: data.json:3: member \"scores\": null in a list");
    CHECK(complaint(R"({"scores":[[1,2],[3,true]]})") == "json: data.json:3: member \"scores\": a bool is no float");
    CHECK(complaint(R"({"scores":[[1,2],[3,1e39]]})").find("is out of the range of float") != std::string::npos);
    CHECK(complaint("[1]") == "json: data.json:3: it is no JSON object");
    CHECK(complaint("7") == "json: data.json:3: it is no JSON object");
    for (const char* text : {"", "{\"id\":1", "{\"id\":1}x", "{\"id\" 1}", "{\"id\":01}", "{\"name\":\"\xff\"}"})
        CHECK(complaint(text).find("json: data.json:3: it is no JSON at byte ") == 0);
    CHECK(complaint("{\"a\":1e999}") == "json: data.json:3: the number 1e999 at byte 10 is out of range");
    CHECK(contains(complaint("{\"x\":" + std::string(200000, '[')), "it is no JSON at byte 20000"));
}

TEST_CASE("json_lines: columns that make no sense") {
    const auto made = [](std::vector<json_column> c) {
        return message_of<invalid_argument_error>([&] { json_row_decoder("json", std::move(c)); });
    };
    CHECK(made({{"a"}, {"a"}}) == "json: member \"a\" is asked for twice");
    CHECK(made({{"a", element_type::int8, {}, "300"}}) ==
          "json: member \"a\": its default, \"300\", is out of the range of int8");
    CHECK(made({}) == "json: no members are asked for");
    CHECK(made({{"a", element_type::int8, {dynamic_extent}, {}}}) != "nothing was thrown");
}

TEST_CASE("json_lines: random objects say what they were made of") {
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        nlohmann::json object;
        std::vector<float> scores;
        for (int i = 0; i < 4; ++i) scores.push_back(static_cast<float>(static_cast<std::int32_t>(random())) / 4096);
        object["id"] = static_cast<std::int32_t>(random());
        object["scores"] = {{scores[0], scores[1]}, {scores[2], scores[3]}};
        object[std::to_string(random())] = {{"id", 3}, {"list", {1, nullptr, {{"scores", "x"}}}}};
        std::string name;
        for (std::uint64_t n = random() % 5; n > 0; --n) name += static_cast<char>(random() % 128);
        object["name"] = name;
        const results r(object.dump());
        CHECK(r.id.data<std::int32_t>()[0] == object["id"].get<std::int32_t>());
        CHECK(r.all_scores() == scores);
        CHECK(r.name.data<std::string>()[0] == name);
    }
}

// Escapes, surrogates, characters of several bytes, spaces everywhere, numbers of all forms: what one reads at once says what a parser of trees
// says of the same text, which nlohmann's library is.
TEST_CASE("json_lines: random texts, and what they become when a byte changes, are read as a tree is") {
    const std::vector<json_column> wanted{{"a", element_type::float64, {}, "0.25"},
                                          {"b", element_type::int64, {}, "5"},
                                          {"c", element_type::string, {}, "none"},
                                          {"d", element_type::float64, {3}, "0"}};
    const json_row_decoder decoder("json", wanted);
    std::mt19937_64 random(7);
    const auto below = [&](std::uint64_t n) { return static_cast<std::size_t>(random() % n); };
    const auto one_of = [&](const std::vector<std::string>& all) { return all[below(all.size())]; };
    const std::vector<std::string> spaces{"", "", "", " ", "\t ", "\r\n"};
    const std::vector<std::string> numbers{"0",
                                           "-0",
                                           "1",
                                           "-17",
                                           "12345678901",
                                           "0.5",
                                           "-1.25e3",
                                           "1E-7",
                                           "3.14159265358979312",
                                           "9007199254740993",
                                           "1e22",
                                           "123456.789",
                                           "2.2250738585072014e-308",
                                           "7e+2"};
    const std::vector<std::string> parts{"x",
                                         "plain words of some length",
                                         "\\n",
                                         "\\\"",
                                         "\\\\",
                                         "\\u00e9",
                                         "\\ud83d\\ude00",
                                         "\xC3\xA9",
                                         "\xE2\x82\xAC",
                                         "\xF0\x9F\x98\x80",
                                         "\\/",
                                         "\\b\\f\\r\\t",
                                         "'",
                                         "\x7f"};
    const std::vector<std::string> others{"null",        "true",  "[1, {\"a\": \"]\"}, []]", "{}", "{\"b\":[{}]}",
                                          "\"\\u0041\"", "-3.5e1"};
    int read = 0, refused = 0;
    for (int round = 0; round < 20000; ++round) {
        const auto text = [&] {
            std::string t = "\"";
            for (std::size_t n = below(4); n > 0; --n) t += one_of(parts);
            return t + "\"";
        };
        std::vector<std::string> members;
        const auto member = [&](const std::string& name, const std::string& value) {
            members.push_back("\"" + name + "\"" + one_of(spaces) + ":" + one_of(spaces) + value);
        };
        if (below(8)) member("a", below(9) ? one_of(numbers) : "null");
        if (below(8))
            member("b", one_of({"0", "-0", "42", "-9223372036854775808", "9223372036854775807", "100000000"}));
        if (below(8)) member("c", text());
        if (below(8))
            member("d", "[" + one_of(numbers) + one_of(spaces) + "," + one_of(spaces) + one_of(numbers) + "," +
                            one_of(numbers) + one_of(spaces) + "]");
        for (std::size_t n = below(3); n > 0; --n)
            member("other" + std::to_string(n), below(2) ? one_of(others) : text());
        std::shuffle(members.begin(), members.end(), random);
        std::string line = one_of(spaces) + "{" + one_of(spaces);
        for (std::size_t i = 0; i < members.size(); ++i)
            line += (i ? "," + one_of(spaces) : "") + members[i] + one_of(spaces);
        line += "}" + one_of(spaces);
        if (below(3) == 0)
            line[below(line.size())] = static_cast<char>(below(4) ? "{}[]\",:\\0123e.-+ ut"[below(19)] : below(256));
        CAPTURE(line);

        double a = 0, d[3] = {};
        std::int64_t b = 0;
        std::string c;
        void* const out[] = {&a, &b, &c, d};
        bool good = true;
        try {
            decoder.decode(line, {}, out, 0);
        } catch (const invalid_argument_error&) {
            good = false;
        }
        nlohmann::json tree;
        try {
            tree = nlohmann::json::parse(line);
        } catch (const nlohmann::json::exception&) {
        }
        const auto is = [&](const char* name, auto holds) {
            return !tree.contains(name) || tree[name].is_null() || holds(tree[name]);
        };
        const bool fits =
            tree.is_object() && is("a", [](const auto& v) { return v.is_number(); }) &&
            is("b",
               [](const auto& v) {
                   return v.is_number_integer() &&
                          (!v.is_number_unsigned() || v.template get<std::uint64_t>() <= INT64_MAX);
               }) &&
            is("c", [](const auto& v) { return v.is_string(); }) && is("d", [](const auto& v) {
                return v.is_array() && v.size() == 3 && v[0].is_number() && v[1].is_number() && v[2].is_number();
            });
        // A tree keeps the last of two members with one name, where a row has none.
        if (!good && fits)
            CHECK(contains(message_of<invalid_argument_error>([&] { decoder.decode(line, {}, out, 0); }), "twice"));
        if (good) REQUIRE(fits);
        (good ? read : refused)++;
        if (!good) continue;
        const auto given = [&](const char* name, auto otherwise) {
            return tree.contains(name) && !tree[name].is_null() ? tree[name].get<decltype(otherwise)>() : otherwise;
        };
        CHECK(a == given("a", 0.25));
        CHECK(b == given("b", std::int64_t{5}));
        CHECK(c == given("c", std::string("none")));
        CHECK(std::vector<double>(d, d + 3) == given("d", std::vector<double>(3)));
    }
    CHECK(read > 10000);
    CHECK(refused > 1000);
}
