#include <sstream>

#include <net/http/status/metrics.hpp>

#include "comma_locale.hpp"
#include "tests.hpp"

// Read back as Prometheus reads it: a parser that knows the format, and nothing of who wrote it.

using namespace tenon::net;

namespace {

struct parsed {
    std::map<std::string, std::string> types, helps;
    std::map<std::string, double> series; // by name and labels, as they are written but unescaped
    std::string wrong;
};

bool is_name(const std::string& text) {
    if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
    return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:") ==
           std::string::npos;
}

// A line "name{label="value",...} number".
void parse_series(const std::string& line, parsed& to) {
    std::size_t at = line.find_first_of("{ ");
    std::string key = line.substr(0, at);
    if (!is_name(key)) to.wrong = "no name: " + line;
    std::string family = key;
    for (const char* suffix : {"_bucket", "_sum", "_count"})
        if (!to.types.contains(family) && key.ends_with(suffix))
            family = key.substr(0, key.size() - std::string(suffix).size());
    if (!to.types.contains(family)) to.wrong = "no type before: " + line;
    if (at != std::string::npos && line[at] == '{') {
        ++at;
        while (at < line.size() && line[at] != '}') {
            const std::size_t equals = line.find("=\"", at);
            if (equals == std::string::npos || !is_name(line.substr(at, equals - at))) {
                to.wrong = "no label: " + line;
                return;
            }
            std::string value;
            std::size_t i = equals + 2;
            for (; i < line.size() && line[i] != '"'; ++i) {
                if (line[i] != '\\') value += line[i];
                else if (++i < line.size() && (line[i] == '\\' || line[i] == '"')) value += line[i];
                else if (i < line.size() && line[i] == 'n') value += '\n';
                else to.wrong = "no escape: " + line;
            }
            key += "|" + line.substr(at, equals - at) + "=" + value;
            at = i + 1;
            if (at < line.size() && line[at] == ',') ++at;
        }
        ++at;
    }
    if (at >= line.size() || line[at] != ' ') {
        to.wrong = "no value: " + line;
        return;
    }
    char* end = nullptr;
    const double value = std::strtod(line.c_str() + at + 1, &end);
    if (*end != 0) to.wrong = "no number: " + line;
    if (!to.series.emplace(key, value).second) to.wrong = "twice: " + line;
}

parsed parse(const std::string& text) {
    parsed p;
    if (text.empty() || text.back() != '\n') p.wrong = "the last line has no end";
    std::istringstream lines(text);
    std::set<std::string> done;
    std::string open;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string hash, what, name, rest;
        if (line[0] != '#') {
            parse_series(line, p);
            if (line.rfind(open, 0) != 0) p.wrong = "not of " + open + ": " + line;
            continue;
        }
        words >> hash >> what >> name;
        std::getline(words, rest);
        if (what == "HELP") {
            if (!p.helps.emplace(name, rest).second) p.wrong = "helped twice: " + name;
            if (!done.insert(name).second) p.wrong = "not together: " + name;
            open = name;
        } else if (what == "TYPE") p.types[name] = rest.substr(1);
        else p.wrong = "neither help nor type: " + line;
    }
    return p;
}

task_row some_task() {
    task_row r;
    r.task = "/job:worker/task:0";
    r.version = "1.2";
    r.seconds = 12.5;
    r.heard = {{"/job:ps/task:0", 2, 0.25, 1000, 2000}, {"", 3, -1, 10, 20}, {"/job:ps/task:1", 0, -1, 0, 0}};
    r.holders = {{"say \"hi\"\\\n(1.2.3.4:5)", 77}};
    r.resources = {{"", "w", "variable", "/device:CPU:0", "float[2]", 8, 42},
                   {"", "jobs", "queue", "/device:CPU:0", "5 of 100 elements of (float[2])", 0, 0},
                   {"", "odd", "queue", "/device:CPU:0", "what no queue says", 0, 0}};
    return r;
}

} // namespace

TEST_CASE("metrics are read back: names, types, labels that others chose, histograms that add up") {
    step_counts steps;
    steps.add(step_outcome::ok, std::chrono::microseconds(50));
    steps.add(step_outcome::ok, std::chrono::milliseconds(5));
    steps.add(step_outcome::late, std::chrono::seconds(2));
    steps.add(step_outcome::lost, std::chrono::hours(1));
    task_totals t{.steps = steps.total()};
    staleness_counts stale;
    stale.add(0);
    stale.add(3);
    t.stale = stale.total();
    t.called.refused = 3;
    t.memory = {.in_use = 1u << 20, .peak = 0, .limit = 1u << 30};
    const parsed p = parse(metrics_text(some_task(), t));
    CHECK(p.wrong == "");
    for (const auto& of : p.types) {
        const std::string &name = of.first, &type = of.second;
        CAPTURE(name);
        CHECK(p.helps.contains(name));
        CHECK(name.starts_with("tenon_"));
        CHECK((type == "counter") == name.ends_with("_total"));
        CHECK((type == "counter" || type == "gauge" || type == "histogram"));
    }
    const auto is = [&](const std::string& series, double value) {
        CAPTURE(series);
        REQUIRE(p.series.contains(series));
        CHECK(p.series.at(series) == value);
    };
    is("tenon_build_info|version=1.2|task=/job:worker/task:0", 1);
    is("tenon_uptime_seconds", 12.5);
    is("tenon_steps_total|outcome=ok", 2);
    is("tenon_steps_total|outcome=cancelled", 0);
    is("tenon_steps_total|outcome=late", 1);
    is("tenon_steps_total|outcome=lost", 1);
    is("tenon_step_seconds_bucket|le=0.0001", 1);
    is("tenon_step_seconds_bucket|le=0.0025", 1);
    is("tenon_step_seconds_bucket|le=0.01", 2);
    is("tenon_step_seconds_bucket|le=600", 3);
    is("tenon_step_seconds_bucket|le=+Inf", 4);
    is("tenon_step_seconds_count", 4);
    CHECK(p.series.at("tenon_step_seconds_sum") == doctest::Approx(3602.00505));
    is("tenon_step_staleness_bucket|le=1", 1);
    is("tenon_step_staleness_bucket|le=4", 2);
    is("tenon_step_staleness_sum", 3);
    is("tenon_step_parts_total|outcome=ok", 0);
    is("tenon_peer_sent_bytes_total|peer=/job:ps/task:0", 1000);
    is("tenon_peer_received_bytes_total|peer=clients", 20);
    is("tenon_peer_silence_seconds|peer=/job:ps/task:0", 0.25);
    CHECK_FALSE(p.series.contains("tenon_peer_silence_seconds|peer=/job:ps/task:1")); // never heard of
    CHECK_FALSE(p.series.contains("tenon_peer_silence_seconds|peer=clients"));
    is("tenon_handshakes_refused_total", 3);
    is("tenon_variable_updates_total|variable=w|container=|device=/device:CPU:0", 42);
    is("tenon_queue_elements|queue=jobs|container=|device=/device:CPU:0", 5);
    is("tenon_queue_capacity_elements|queue=jobs|container=|device=/device:CPU:0", 100);
    is("tenon_client_memory_bytes|client=say \"hi\"\\\n(1.2.3.4:5)", 77);
    is("tenon_memory_limit_bytes", 1u << 30);
    is("tenon_series_left_out", 0);
}

TEST_CASE("metrics: names that cannot be told apart, are no text or are too many spoil nothing") {
    task_row r = some_task();
    r.resources = {{"", "a\x01", "variable", "", "", 0, 1},
                   {"", "a\x02", "variable", "", "", 0, 2},
                   {"", "\xff\xfe", "variable", "", "", 0, 3}};
    parsed p = parse(metrics_text(r, {}));
    CHECK(p.wrong == "");
    CHECK(p.series.at("tenon_variable_updates_total|variable=a |container=|device=") == 1);
    CHECK(p.series.at("tenon_variable_updates_total|variable=??|container=|device=") == 3);

    r.resources.clear();
    for (std::size_t i = 0; i < most_series + 10; ++i)
        r.resources.push_back({"", "v" + std::to_string(i), "variable", "", "", 0, 1});
    p = parse(metrics_text(r, {}));
    CHECK(p.wrong == "");
    CHECK(p.series.at("tenon_series_left_out") == 10);
    CHECK(p.series.size() < most_series + 100);
}

TEST_CASE("metrics have a decimal point, whatever the server's language") {
    const std::string as_ever = metrics_text(some_task(), {});
    const comma_locale here;
    if (here.is_there) CHECK(metrics_text(some_task(), {}) == as_ever);
}
