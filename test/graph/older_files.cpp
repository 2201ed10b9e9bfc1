#include <fstream>
#include <sstream>
#include <nlohmann/json.hpp>

#include <tenon/ops/text/strings.hpp>

#include "project_file.hpp"
#include "tests.hpp"

// Graph files that earlier versions wrote are read, run, and written as today's are. test/graph/files has one for each change of the
// format; they are never made anew.

namespace {

std::string older(const std::string& name) {
    std::ifstream file(project_file("test/graph/files/" + name), std::ios::binary);
    REQUIRE(file);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// A graph of before, as it is read, and as it is when it has been written and read again.
struct read_twice {
    explicit read_twice(const std::string& name) :
        once(tn::graph_from_json(older(name))), again(tn::graph_from_json(tn::to_json(once))) {}
    const tn::graph once, again;
};

struct running {
    explicit running(const tn::graph& from) : g(from), scope(g), s(g) {}
    tn::any_tensor at(const std::string& collection, std::size_t i = 0) const { return g.collection(collection)[i]; }
    void feed(const std::string& name, tn::any_array value) { fed.emplace_back(g.tensor(name), std::move(value)); }
    std::vector<tn::any_array> run(const std::vector<tn::any_tensor>& fetches,
                                   const std::vector<tn::operation>& targets = {}) {
        std::vector<tn::fed_value> feeds;
        for (auto& [t, v] : fed) feeds.push_back({t, v.share()});
        return s.run_untyped(std::move(feeds), fetches, targets);
    }
    // Of one fetch.
    template <class T> std::vector<T> values(const tn::any_tensor& t) {
        const std::vector<tn::any_array> all = run({t});
        return {all[0].data<T>(), all[0].data<T>() + all[0].elements()};
    }

    const tn::graph g;
    const tn::graph_scope scope;
    tn::session s;
    std::vector<std::pair<tn::any_tensor, tn::any_array>> fed;
};

void check_near(const std::vector<float>& found, const std::vector<double>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(static_cast<double>(found[i]) == doctest::Approx(expected[i]).epsilon(1e-5));
}

// The names of instructions, and of attributes by op.
std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> all;
    const auto graph = nlohmann::json::parse(text);
    for (const auto& n : graph.at("nodes"))
        if (n.contains("attributes"))
            for (const auto& [name, value] : n.at("attributes").items()) {
                all.push_back(n.at("op").get<std::string>() + "." + name);
                if (value.is_object() && value.contains("tape"))
                    for (const auto& line : value.at("tape").at("code")) all.push_back(line[0].get<std::string>());
            }
    return all;
}
bool has(const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

} // namespace

TEST_CASE("a graph of the first version: instructions have their names of today, and it trains as it did") {
    const std::string text = older("instructions.json");
    for (const char* was : {"power", "modulo", "remainder"}) CHECK(has(words_of(text), was));
    const read_twice read("instructions.json");
    const std::vector<std::string> today = words_of(tn::to_json(read.once));
    for (const char* was : {"power", "modulo", "remainder"}) CHECK(!has(today, was));
    for (const char* is : {"pow", "mod", "fmod"}) CHECK(has(today, is));
    CHECK(tn::to_json(read.once) == tn::to_json(read.again));

    const std::vector<double> x{-2.5, -0.75, 0.5, 3}, y{1.5, 0.5, 2, 0.75};
    for (const tn::graph* g : {&read.once, &read.again}) {
        running r(*g);
        r.feed("x", tn::array<float>({-2.5f, -0.75f, 0.5f, 3.0f}).untyped().share());
        r.feed("y", tn::array<float>({1.5f, 0.5f, 2.0f, 0.75f}).untyped().share());
        std::vector<double> pow, mod, fmod, in_x, in_y;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double base = std::fabs(x[i]) + 0.5, sign = x[i] < 0 ? -1 : 1;
            pow.push_back(std::pow(base, y[i]));
            mod.push_back(x[i] - std::floor(x[i] / y[i]) * y[i]);
            fmod.push_back(std::fmod(x[i], y[i]));
            in_x.push_back(y[i] * std::pow(base, y[i] - 1) * sign + 1 + 1);
            in_y.push_back(pow.back() * std::log(base) - std::floor(x[i] / y[i]) - std::trunc(x[i] / y[i]));
        }
        check_near(r.values<float>(r.at("pow")), pow);
        check_near(r.values<float>(r.at("mod")), mod);
        check_near(r.values<float>(r.at("fmod")), fmod);
        check_near(r.values<float>(r.at("slope_in_x")), in_x);
        check_near(r.values<float>(r.at("slope_in_y")), in_y);

        // Two steps of gradient descent on a line, rate 0.1.
        r.s.run(tn::initialize_variables());
        double slope = 0.5, offset = 0.25;
        for (int step = 0; step < 2; ++step) {
            double loss = 0, of_slope = 0, of_offset = 0;
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double off = slope * x[i] + offset - y[i];
                loss += off * off / 4;
                of_slope += 2 * off * x[i] / 4;
                of_offset += 2 * off / 4;
            }
            const auto got = r.run({r.at("loss")}, {r.at("train").operation()});
            CHECK(static_cast<double>(*got[0].data<float>()) == doctest::Approx(loss).epsilon(1e-5));
            slope -= 0.1 * of_slope;
            offset -= 0.1 * of_offset;
        }
        check_near(r.values<float>(r.g.tensor("slope")), {slope});
        check_near(r.values<float>(r.g.tensor("offset")), {offset});
        CHECK(r.values<std::int64_t>(r.g.tensor("global_step"))[0] == 2);

        r.fed.clear();
        r.feed("i", tn::array<std::int32_t>({-7, -1, 4, 8}).untyped().share());
        CHECK(r.values<std::int32_t>(r.at("integers_mod")) == std::vector<std::int32_t>{2, 2, 1, 2});
        CHECK(r.values<std::int32_t>(r.at("integers_fmod")) == std::vector<std::int32_t>{-1, -1, 1, 2});
    }
}

TEST_CASE("a graph whose dequeues say how many as `count`, and what the types say of it as `size`") {
    CHECK(has(words_of(older("queues.json")), "dequeue_many.size"));
    const read_twice read("queues.json");
    CHECK(!has(words_of(tn::to_json(read.once)), "dequeue_many.size"));
    CHECK(has(words_of(tn::to_json(read.once)), "dequeue_up_to.n"));
    for (const tn::graph* g : {&read.once, &read.again}) {
        running r(*g);
        const auto put = [&](std::int32_t i) {
            const auto f = static_cast<float>(i);
            r.fed.clear();
            r.feed("image", tn::array<float>({f, f + 0.5f, -f}).untyped().share());
            r.feed("label", tn::array<std::int32_t>(i).untyped().share());
            (void)r.run({}, {r.at("enqueue").operation()});
            r.fed.clear();
        };
        for (const std::int32_t i : {1, 2, 3, 4, 5}) put(i);
        CHECK(r.values<std::int64_t>(r.at("size")) == std::vector<std::int64_t>{5});
        CHECK(r.at("two", 1).extents() == tn::extents{2});
        CHECK(to_string(r.at("named").extents()) == "[batch, 3]");
        CHECK(to_string(r.at("rest").extents()) == "[?, 3]");
        const auto two = r.run({r.at("two", 0), r.at("two", 1)});
        CHECK(two[0].data<float>()[4] == 2.5f);
        CHECK(std::vector(two[1].data<std::int32_t>(), two[1].data<std::int32_t>() + 2) ==
              std::vector<std::int32_t>{1, 2});
        CHECK(r.values<std::int32_t>(r.at("named", 1)) == std::vector<std::int32_t>{3, 4});
        (void)r.run({}, {r.at("close").operation()});
        CHECK(r.values<std::int32_t>(r.at("rest", 1)) == std::vector<std::int32_t>{5});
    }
}

TEST_CASE("a graph whose pools say nothing of a dilation") {
    CHECK(!has(words_of(older("pools.json")), "max_pool2d.dilation_h"));
    const read_twice read("pools.json");
    for (const char* op : {"max_pool2d", "average_pool2d", "pool2d_gradient"})
        CHECK(has(words_of(tn::to_json(read.once)), op + std::string(".dilation_w")));
    constexpr int height = 5, width = 4, channels = 2;
    std::vector<double> wanted; // of windows of 2 x 2 the last is the largest; those of 3 x 3 lie around each pixel
    for (int i = 0; i < height; ++i)
        for (int j = 0; j < width; ++j) {
            double g = i % 2 == 1 && j % 2 == 1 ? 1 : 0;
            const auto seen = [](int at, int n) { return at == 0 || at == n - 1 ? 2 : 3; };
            for (int u = std::max(i - 1, 0); u <= std::min(i + 1, height - 1); ++u)
                for (int v = std::max(j - 1, 0); v <= std::min(j + 1, width - 1); ++v)
                    g += 1.0 / (seen(u, height) * seen(v, width));
            wanted.insert(wanted.end(), channels, g);
        }
    for (const tn::graph* g : {&read.once, &read.again}) {
        running r(*g);
        tn::any_array x(tn::element_type::float32, tn::extents{1, height, width, channels});
        for (std::int64_t k = 0; k < x.elements(); ++k) x.data<float>()[k] = static_cast<float>(k);
        r.feed("x", x.share());
        check_near(r.values<float>(r.g.tensor("dx")), wanted);
    }
}

TEST_CASE("a graph whose regex_replace says `all`") {
    CHECK(has(words_of(older("regex.json")), "regex_replace.all"));
    const read_twice read("regex.json");
    CHECK(has(words_of(tn::to_json(read.once)), "regex_replace.replace_global"));
    for (const tn::graph* g : {&read.once, &read.again}) {
        running r(*g);
        r.feed("text", tn::array<std::string>({"abac", "b", "aaa"}).untyped().share());
        std::vector<std::string> every, first;
        try {
            every = r.values<std::string>(r.at("every"));
            first = r.values<std::string>(r.at("first"));
        } catch (const tn::unimplemented_error&) { // a build without RE2
            continue;
        }
        CHECK(every == std::vector<std::string>{"<b><c>", "b", "<a>a"});
        CHECK(first == std::vector<std::string>{"<b>ac", "b", "<a>a"});
    }
}

// Variables weights [3, 2], bias [] and count [], with the nodes of a saver that saved and restored them.
TEST_CASE("a graph of a saver whose files were read name by name; its checkpoint is of version 1") {
    CHECK(has(words_of(older("saver.json")), "restore_shard.names"));
    const read_twice read("saver.json");
    CHECK(!has(words_of(tn::to_json(read.once)), "restore_shard.names"));
    const std::string folder = project_file("test/graph/files/");
    const std::vector<float> weights{1.5f, -2.0f, 0.25f, 8.0f, 3.0f, -0.5f};
    const auto manifest = nlohmann::json::parse(older("checkpoint/model-12.json"));
    CHECK(manifest.at("version") == 1);
    for (const tn::graph* g : {&read.once, &read.again}) {
        running r(*g);
        const auto check_values = [&] {
            CHECK(r.values<float>(r.g.tensor("weights")) == weights);
            CHECK(r.values<float>(r.g.tensor("bias")) == std::vector<float>{0.125f});
            CHECK(r.values<std::int64_t>(r.g.tensor("count")) == std::vector<std::int64_t>{7});
        };
        // By its own nodes.
        const auto shard = manifest.at("shards")[0];
        const std::string file = folder + "checkpoint/" + shard.at("file").get<std::string>();
        tn::any_array files(tn::element_type::string, {3}), checks(tn::element_type::int64, {3, 2});
        for (int i = 0; i < 3; ++i) {
            files.data<std::string>()[i] = file;
            checks.data<std::int64_t>()[2 * i] = shard.at("bytes").get<std::int64_t>();
            checks.data<std::int64_t>()[2 * i + 1] =
                static_cast<std::int64_t>(std::stoull(shard.at("hash").get<std::string>().substr(6), nullptr, 16));
        }
        r.feed("checkpoint/files", std::move(files));
        r.feed("checkpoint/checks", std::move(checks));
        std::vector<tn::operation> assigns;
        for (std::int64_t n = 0; n < r.g.size(); ++n)
            if (const tn::node* at = r.g.at(n);
                std::string(at->op->name) == "assign" && at->inputs[1].node->name == "checkpoint/restore")
                assigns.emplace_back(const_cast<tn::node*>(at));
        REQUIRE(assigns.size() == 3);
        (void)r.run({}, assigns);
        r.fed.clear();
        check_values();
        // And by a saver of today, in a session that has nothing yet.
        running other(*g);
        tn::saver saver(folder + "checkpoint/model");
        CHECK(saver.restore(other.s).step == 12);
        CHECK(other.values<float>(other.g.tensor("weights")) == weights);
    }
}

TEST_CASE("a claim of a file from before it could be renewed renews nothing") {
    const read_twice read("claim.json");
    const temporary_folder folder;
    for (const tn::graph* g : {&read.once, &read.again}) {
        running r(*g);
        r.feed("path", tn::array<std::string>((folder.path() / "claimed").string()).untyped().share());
        r.feed("who", tn::array<std::string>("me").untyped().share());
        r.feed("seconds", tn::array<double>(5.0).untyped().share());
        CHECK(r.values<std::string>(r.g.tensor("claim")) == std::vector<std::string>{"me"});
        CHECK(r.g.tensor("claim").node()->attributes.find("renews") != nullptr);
    }
}

TEST_CASE("a word that no version had is refused as ever") {
    std::string text = older("instructions.json");
    for (std::size_t at; (at = text.find("[\"modulo\",")) != std::string::npos;) text.replace(at, 10, "[\"modula\",");
    CHECK_ERROR(tn::invalid_argument_error, "\"modula\" is no instruction", tn::graph_from_json(text));
    text = older("queues.json");
    const std::size_t at = text.find("\"size\":");
    REQUIRE(at != std::string::npos);
    text.replace(at, 7, "\"sise\":");
    CHECK_ERROR(tn::invalid_argument_error, "dequeue", tn::graph_from_json(text));
}
