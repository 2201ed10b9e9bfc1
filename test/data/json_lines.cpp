#include <fstream>
#include <nlohmann/json.hpp>

#include <tenon/input.hpp>

#include "tests.hpp"

namespace {

struct sample {
    std::string text;
    tn::array<float, tn::shape<2, 2>> scores;
    bool good = false;
    static constexpr auto fields() {
        return tn::record_fields("text", &sample::text, "scores", &sample::scores, "good", &sample::good);
    }
};

class lines {
public:
    explicit lines(const std::string& text, const std::string& name = "a.jsonl") : path(folder / name) {
        std::ofstream(path, std::ios::binary) << text;
    }
    temporary_folder folder;
    std::string path;
};

} // namespace

TEST_CASE("json_lines: a struct's members, wherever they stand and whatever is beside them") {
    const lines file("\xEF\xBB\xBF{\"good\":true,\"text\":\"a\\u00e9\\n\",\"scores\":[[1,2.5],[-3e2,4]]}\r\n"
                     "\n"
                     "  {\"scores\": [[1, 2], [3, 4]], \"more\": {\"text\": [1]}, \"text\": \"\", \"good\": false}");
    std::vector<std::string> texts;
    std::vector<float> last;
    for (const sample& s : tn::data::json_lines<sample>(file.path)) {
        texts.push_back(s.text + (s.good ? "+" : "-"));
        last.push_back(s.scores(1, 0));
    }
    CHECK(texts == std::vector<std::string>{"a\u00e9\n+", "-"});
    CHECK(last == std::vector<float>{-300, 3});
}

TEST_CASE("json_lines: lists of any length, also of pairs, as texts and where they are missing") {
    const lines file("{\"ids\":[1,2,3],\"pairs\":[[1,2]]}\n"
                     "{\"pairs\":[],\"ids\":null,\"words\":[\"a\",\"b\\n\"]}\n"
                     "{\"ids\":[" +
                     [] {
                         std::string many;
                         for (int i = 0; i < 1000; ++i) many += std::to_string(i) + (i < 999 ? " , " : "");
                         return many;
                     }() +
                     "],\"pairs\":[[1,2],[3,4],[5,6e0]],\"\\u0077ords\":[\"x\"]}\n"
                     "{\"ids\":[1,[2]],\"pairs\":[]}\n{\"ids\":7,\"pairs\":[]}\n{\"ids\":[],\"pairs\":[[1,2],[3]]}\n"
                     "{\"ids\":[9],\"pairs\":[[8,7]],\"words\":[]}");
    using namespace tn;
    const auto set =
        data::json_lines(file.path,
                         data::columns<component<std::int32_t, shape<dyn>>, component<float, shape<dyn, 2>>,
                                       component<std::string, shape<dyn>>>("ids", "pairs", "words"),
                         {.defaults = {"0", std::nullopt, ""}});
    std::vector<std::string> sizes, faults;
    std::int64_t sum = 0;
    auto it = set.iterate();
    for (bool more = true; more;) {
        try {
            const auto x = it.next();
            more = x.has_value();
            if (!more) break;
            const auto& [ids, pairs, words] = *x;
            sizes.push_back(std::to_string(ids.size()) + " " + std::to_string(pairs.size()) + " " +
                            std::to_string(words.size()));
            for (const std::int32_t i : ids) sum += i;
            if (words.size() == 2) CHECK(words(1) == "b\n");
            if (pairs.size() == 6) CHECK(pairs(2, 1) == 6);
        } catch (const invalid_argument_error& e) {
            faults.push_back(e.what());
        }
    }
    CHECK(sizes == std::vector<std::string>{"3 2 0", "0 0 2", "1000 6 1", "1 2 0"});
    CHECK(sum == 6 + 999 * 500 + 9);
    REQUIRE(faults.size() == 3);
    CHECK(contains(faults[0], "a.jsonl:4: member \"ids\": a list, and one int32 is expected"));
    CHECK(contains(faults[1], "a.jsonl:5: member \"ids\": 7, and a list is expected"));
    CHECK(contains(faults[2], "a.jsonl:6: member \"pairs\": a list of 1, and 2 are expected"));
    const auto ids =
        data::json_lines(file.path, data::columns<component<std::int32_t, shape<dyn>>>("ids"), {.defaults = {"0"}});
    for (const auto& b : ids.take(2).padded_batch(2))
        CHECK(b.untyped() == array<std::int32_t>{{1, 2, 3}, {0, 0, 0}}.untyped());
    CHECK_THROWS_AS((void)ids.take(2).batch(2).iterate().next(), invalid_argument_error);
}

TEST_CASE("json_lines: members by name, defaults, several of them as one tensor, batches") {
    const lines file(
        "{\"a\":1,\"b\":2,\"c\":3,\"n\":\"x\"}\n{\"c\":6,\"b\":null,\"a\":4}\n{\"b\":8,\"a\":7,\"c\":9,\"n\":null}\n");
    const auto set = tn::data::json_lines(
        file.path, tn::data::columns<tn::component<float, tn::shape<3>>, std::string>({"c", "a", "b"}, "n"),
        {.defaults = {"-1", "nobody"}});
    std::vector<std::vector<float>> rows;
    std::string names;
    for (const auto& [x, n] : set) {
        rows.push_back({x(0), x(1), x(2)});
        names += n + " ";
    }
    CHECK(rows == std::vector<std::vector<float>>{{3, 1, 2}, {6, 4, -1}, {9, 7, 8}});
    CHECK(names == "x nobody nobody ");
    for (const auto& [x, n] : set.batch<3>()) {
        CHECK(x.untyped() == tn::array<float>{{3, 1, 2}, {6, 4, -1}, {9, 7, 8}}.untyped());
        CHECK(n(2) == "nobody");
    }
}

TEST_CASE("json_lines: what is wrong says file, line, member and text, and the next line follows") {
    const lines file("{\"x\":1}\n{\"x\":\"many\"}\nx\n{\"x\":4}\n{\"y\":4}\n");
    const auto set = tn::data::json_lines(file.path, tn::data::columns<std::int32_t>("x"));
    auto it = set.iterate();
    const auto complaint = [&] { return message_of<tn::invalid_argument_error>([&] { (void)it.next(); }); };
    CHECK(it.next() == 1);
    CHECK(complaint() == "json_lines: " + file.path + ":2: member \"x\": \"many\" is no int32");
    CHECK(complaint().find("json_lines: " + file.path + ":3: it is no JSON at byte 1") == 0);
    CHECK(it.next() == 4);
    CHECK(complaint() == "json_lines: " + file.path + ":5: member \"x\": it is missing, and has no default");
    CHECK(!it.next());
    std::vector<std::int32_t> good;
    for (const auto x : set.ignore_errors().batch(2)) good.insert(good.end(), x.begin(), x.end());
    CHECK(good == std::vector<std::int32_t>{1, 4});
    const auto made = [](auto f) { return message_of<tn::invalid_argument_error>(f); };
    CHECK(made([&] { (void)tn::data::json_lines(file.path, tn::data::columns<float, float>("x", "x")); }) ==
          "json_lines: \"x\" is asked for twice");
    CHECK(made([&] {
              (void)tn::data::json_lines(file.path, tn::data::columns<float>("x"), {.defaults = {"1", "2"}});
          }) == "json_lines: 2 defaults for 1 components; give one for each, or none");
    CHECK(made([&] {
              (void)tn::data::json_lines(file.path, tn::data::columns<tn::component<float, tn::shape<3>>>({"x", "y"}));
          }) == "json_lines: float[3] has 2 names; give one, or one for each of its elements");
}

TEST_CASE_FIXTURE(in_folder, "json_lines: batches anywhere in several files are saved and gone on with") {
    std::vector<std::string> files;
    std::vector<std::int64_t> expected;
    for (int f = 0; f < 3; ++f) {
        files.push_back(folder / (std::to_string(f) + ".jsonl"));
        std::ofstream out(files.back());
        for (int i = 0; i < 7 * f; ++i) {
            expected.push_back(100 * f + i);
            out << "{\"v\": " << expected.back() << "}\n" << (i % 3 ? "\n" : "");
        }
    }
    const auto set = tn::data::json_lines(files, tn::data::columns<std::int64_t>("v")).batch(4);
    for (int before = 0; before < 8; ++before) {
        auto first = set.iterate();
        std::vector<std::int64_t> got;
        const auto take = [&](auto& it) {
            auto b = it.next();
            if (b) got.insert(got.end(), b->begin(), b->end());
            return b.has_value();
        };
        for (int i = 0; i < before; ++i) take(first);
        auto second = set.iterate();
        second.restore(first.save());
        while (take(second)) {
        }
        CHECK(got == expected);
    }
}
