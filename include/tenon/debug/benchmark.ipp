#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <string_view>
#include <thread>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/text/columns.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/debug/benchmark.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/io/files/file.hpp>
#include <tenon/io/json/json_parse.hpp>
#include <tenon/io/json/json_reader.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/runtime/trace/cost_measurements.hpp>

namespace tenon {

TENON_INLINE benchmark_candidate::benchmark_candidate(std::string called, std::shared_ptr<timed_kernel> k,
                                                      benchmark_work of_one) :
    name(std::move(called)), kernel(std::move(k)), work(of_one) {
    if (!kernel)
        throw invalid_argument_error("benchmark: \"" + name +
                                     "\" is an empty pointer; give it what session::kernel_of() returned");
    if (work.bytes == 0) work.bytes = kernel->bytes();
    if (work.operations == 0) work.operations = kernel->operations();
}

TENON_INLINE void benchmark_candidate::require(bool can_be_called) const {
    if (!can_be_called)
        throw invalid_argument_error("benchmark: \"" + name + "\" is an empty function; give it what can be called");
}

namespace detail {

using benchmark_clock = std::chrono::steady_clock;

inline double seconds_since(benchmark_clock::time_point t) {
    return std::chrono::duration<double>(benchmark_clock::now() - t).count();
}

// Of so many calls, their own time.
inline double time_all(const benchmark_candidate& c, int calls, bool cold) {
    if (c.kernel) return c.kernel->run(calls, cold);
    double all = 0;
    for (int left = calls; left > 0;) {
        if (cold) flush_host_caches(&thread_pool::shared());
        const int together = cold ? 1 : left;
        const auto begin = benchmark_clock::now();
        for (int i = 0; i < together; ++i) c.call();
        all += seconds_since(begin);
        left -= together;
    }
    return all;
}

inline double time_calls(const benchmark_candidate& c, int calls, bool cold) {
    return said_by("benchmark of \"" + c.name + "\"", [&] { return time_all(c, calls, cold); });
}

// "AMD EPYC 9554, 2 threads; NVIDIA H200"
inline std::string machine_of(const std::vector<benchmark_candidate>& candidates) {
    std::string text;
    if (std::FILE* const of_system = std::fopen("/proc/cpuinfo", "r")) {
        constexpr std::string_view wanted = "model name";
        char line[512];
        while (text.empty() && std::fgets(line, sizeof line, of_system))
            if (const std::string_view seen = line; seen.starts_with(wanted))
                if (const std::size_t at = seen.find_first_not_of(" \t:", wanted.size()); at != seen.npos)
                    text = seen.substr(at, seen.find_last_not_of('\n') + 1 - at);
        std::fclose(of_system);
    }
    if (!text.empty()) text += ", " + std::to_string(std::thread::hardware_concurrency()) + " threads";
    std::vector<std::string> cards;
    for (const benchmark_candidate& c : candidates)
        if (c.kernel && c.kernel->on().capability > 0 &&
            std::find(cards.begin(), cards.end(), c.kernel->on().description) == cards.end())
            text += (text.empty() ? "" : "; ") + cards.emplace_back(c.kernel->on().description);
    return without_controls(text);
}

// Runs it for so long; how many calls take `round` seconds, with all that is done around them.
inline int warm_up(const benchmark_candidate& c, const benchmark_options& o, double round) {
    constexpr int most = 1 << 24;
    const auto begin = benchmark_clock::now();
    for (int n = 1;; n = std::min(2 * n, most)) {
        const auto since = benchmark_clock::now();
        (void)time_calls(c, n, o.cold);
        const double took = seconds_since(since);
        if (seconds_since(begin) >= o.warm_up && (took >= round / 4 || n == most))
            return static_cast<int>(std::clamp(round / std::max(took, 1e-9) * n, 1.0, double{most}));
    }
}

inline double part(std::vector<double> all, double share) {
    if (all.empty()) return 0;
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(all.size() - 1) + 0.5);
    std::nth_element(all.begin(), at, all.end());
    return *at;
}

// "12.34 us", of a number and the names of its thousands.
inline std::string scaled(double v, double unit, std::initializer_list<const char*> names) {
    auto name = names.begin();
    for (v /= unit; v >= 999.95 && name + 1 != names.end(); ++name) v /= 1000;
    char text[48];
    std::snprintf(text, sizeof text, "%.4g %s", v, *name);
    return text;
}
inline std::string shown_seconds(double s) { return scaled(s, 1e-9, {"ns", "us", "ms", "s"}); }
inline std::string shown_rate(double r, const char* of) {
    return r > 0 ? scaled(r, 1, {"", "k", "M", "G", "T", "P"}) + of : std::string("-");
}
inline std::string shown_share(double r, double peak) {
    return r > 0 && peak > 0 ? std::to_string(std::lround(100 * r / peak)) + " %" : std::string("-");
}

// Columns as wide as their widest entry, to the right but for the first and those without a heading. A line of one entry is as it is.
inline std::string benchmark_table(std::vector<std::vector<std::string>> lines) {
    std::vector<std::size_t> width(lines.front().size());
    for (auto& line : lines)
        for (std::size_t c = 0; c < line.size(); ++c) {
            line[c] = without_controls(std::move(line[c])); // of names
            if (line.size() > 1) width[c] = std::max(width[c], columns_of(line[c]));
        }
    std::string text;
    for (const auto& line : lines) {
        for (std::size_t c = 0; c < line.size(); ++c) {
            const std::string blanks(line.size() > 1 ? width[c] - columns_of(line[c]) : 0, ' ');
            const bool left = c == 0 || lines.front()[c].empty();
            text += (c == 0 ? "" : "  ") + (left ? line[c] + blanks : blanks + line[c]);
        }
        text.erase(text.find_last_not_of(' ') + 1);
        text += '\n';
    }
    return text;
}

// Of the host, by which calls are judged: in float.
inline device_peak host_peak() {
    const graph own;
    const graph_scope in(own);
    const any_tensor x = untyped::placeholder(element_type::float32, {1});
    const device_scope here("/cpu:0");
    const any_tensor y = untyped::add(x, x);
    session s(own);
    return s.kernel_of(fed_value{x, any_array(element_type::float32, {1})}, y)->peak();
}

inline void require_sense(const std::vector<benchmark_candidate>& candidates, const benchmark_options& o) {
    const auto wrong = [](const std::string& what) { throw invalid_argument_error("benchmark: " + what); };
    if (candidates.empty()) wrong("there is nothing to time; give it a candidate");
    if (!(o.seconds > 0) || o.seconds > 1e6)
        wrong("options.seconds is " + text_of_number(o.seconds) +
              "; give a positive number of seconds, of at most a million");
    if (!(o.warm_up >= 0) || o.warm_up > 1e6)
        wrong("options.warm_up is " + text_of_number(o.warm_up) + "; give seconds from 0 to a million");
    if (o.rounds < 1 || o.rounds > 1'000'000)
        wrong("options.rounds is " + std::to_string(o.rounds) + "; give a number from 1 to a million");
    for (std::size_t a = 0; a < candidates.size(); ++a) {
        const benchmark_work& w = candidates[a].work;
        if (!(w.bytes >= 0 && w.operations >= 0 && std::isfinite(w.bytes) && std::isfinite(w.operations)))
            wrong("\"" + candidates[a].name + "\" is said to take " + text_of_number(w.bytes) + " bytes and " +
                  text_of_number(w.operations) + " operations; give finite numbers from 0 on");
        if (candidates[a].name.empty()) wrong("candidate " + std::to_string(a + 1) + " has no name");
        if (!is_utf8(candidates[a].name))
            wrong("the name of candidate " + std::to_string(a + 1) + " is not UTF-8, which is what a report can hold");
        for (std::size_t b = 0; b < a; ++b)
            if (candidates[a].name == candidates[b].name)
                wrong("two candidates are called \"" + candidates[a].name + "\"; give each its own name");
    }
}

} // namespace detail

TENON_INLINE double benchmark_row::median() const { return detail::part(seconds, 0.5); }
TENON_INLINE std::pair<double, double> benchmark_row::middle_half() const {
    return {detail::part(seconds, 0.25), detail::part(seconds, 0.75)};
}
TENON_INLINE double benchmark_row::bytes_per_second() const { return median() > 0 ? work.bytes / median() : 0; }
TENON_INLINE double benchmark_row::operations_per_second() const {
    return median() > 0 ? work.operations / median() : 0;
}

TENON_INLINE benchmark_report detail::time_in_turns(const std::vector<benchmark_candidate>& candidates,
                                                    const benchmark_options& o) {
    detail::require_sense(candidates, o);
    benchmark_report r;
    r.cold = o.cold;
    r.machine = detail::machine_of(candidates);
    std::vector<int> calls;
    for (const benchmark_candidate& c : candidates) {
        calls.push_back(detail::warm_up(c, o, o.seconds / o.rounds));
        benchmark_row& row = r.rows.emplace_back();
        row.name = c.name;
        row.on = c.kernel ? detail::short_name(c.kernel->on().name) : "host";
        row.work = c.work;
        if (c.kernel) row.launches = c.kernel->launches();
    }
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(o.seed);
    for (int round = 0; round < o.rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : order)
            r.rows[i].seconds.push_back(detail::time_calls(candidates[i], calls[i], o.cold) / calls[i]);
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const benchmark_candidate& c = candidates[i];
        if (o.measurements && c.kernel) c.kernel->tell(*o.measurements, r.rows[i].median());
        if (o.peaks && (c.work.bytes > 0 || c.work.operations > 0))
            r.rows[i].peak = c.kernel ? c.kernel->peak() : detail::host_peak();
    }
    return r;
}

TENON_INLINE std::string benchmark_report::to_text() const {
    std::vector<std::vector<std::string>> lines{{cold ? "caches flushed" : "", "on", "median", "middle half", "speed",
                                                 "bytes/s", "of a copy", "operations/s", "of a product"}};
    for (const benchmark_row& row : rows) {
        const auto [low, high] = row.middle_half();
        char speed[32] = "-";
        if (row.median() > 0) std::snprintf(speed, sizeof speed, "%.3g", rows.front().median() / row.median());
        lines.push_back({row.name, row.on, detail::shown_seconds(row.median()),
                         detail::shown_seconds(low) + " to " + detail::shown_seconds(high), speed,
                         detail::shown_rate(row.bytes_per_second(), "B"),
                         detail::shown_share(row.bytes_per_second(), row.peak.bytes_per_second),
                         detail::shown_rate(row.operations_per_second(), ""),
                         detail::shown_share(row.operations_per_second(), row.peak.operations_per_second)});
    }
    for (const benchmark_row& row : rows)
        for (const launched_kernel& k : row.launches) {
            std::string text = row.name + " launches " + (k.name.empty() ? "a kernel of a library" : k.name) + ": " +
                               std::to_string(k.blocks) + " blocks of " + std::to_string(k.threads) + " threads";
            if (k.registers > 0)
                text += ", " + std::to_string(k.registers) + " registers, " + std::to_string(k.shared_bytes) +
                        " bytes shared by a block, " + std::to_string(k.local_bytes) +
                        " spilled by a thread, occupancy " + std::to_string(std::lround(100 * k.occupancy)) + " %";
            lines.push_back({std::move(text)});
        }
    return detail::benchmark_table(std::move(lines));
}

TENON_INLINE std::string benchmark_report::to_json() const {
    using detail::json_value;
    json_value::list all;
    for (const benchmark_row& row : rows) {
        json_value::list launches;
        for (const launched_kernel& k : row.launches)
            launches.push_back(json_value::object{{"name", k.name},
                                                  {"blocks", k.blocks},
                                                  {"threads", k.threads},
                                                  {"registers", k.registers},
                                                  {"shared_bytes", k.shared_bytes},
                                                  {"local_bytes", k.local_bytes},
                                                  {"occupancy", k.occupancy}});
        all.push_back(json_value::object{{"name", row.name},
                                         {"on", row.on},
                                         {"seconds", json_value::list(row.seconds.begin(), row.seconds.end())},
                                         {"bytes", row.work.bytes},
                                         {"operations", row.work.operations},
                                         {"peak_bytes_per_second", row.peak.bytes_per_second},
                                         {"peak_operations_per_second", row.peak.operations_per_second},
                                         {"launches", std::move(launches)}});
    }
    return detail::json_text(json_value::object{{"format", "tenon benchmark"},
                                                {"version", 1},
                                                {"cold", cold},
                                                {"machine", machine},
                                                {"rows", std::move(all)}},
                             1) +
           "\n";
}

TENON_INLINE benchmark_report benchmark_report::from_json(const std::string& text) {
    constexpr const char* what = "a benchmark's report";
    constexpr std::int64_t most = INT64_MAX / 2;
    const detail::json_value root = detail::parse_json(text, what);
    detail::json_reader all(root, what, "the whole");
    if (const std::string format = all.text("format"); format != "tenon benchmark")
        all.wrong("\"format\" is \"" + format + "\", not \"tenon benchmark\"");
    all.number(all.member("version"), "version", 1, 1);
    benchmark_report r;
    const detail::json_value& cold = all.member("cold");
    if (!cold.get<bool>()) all.wrong("\"cold\" must be true or false, not " + cold.described());
    r.cold = *cold.get<bool>();
    if (const detail::json_value* machine = all.optional("machine")) { // reports were written without
        const auto* const name = machine->get<std::string>();
        if (!name) all.wrong("\"machine\" must be a text, not " + machine->described());
        r.machine = *name;
    }
    for (const detail::json_value& v : all.list("rows")) {
        detail::json_reader e(v, what, "row " + std::to_string(r.rows.size() + 1));
        benchmark_row& row = r.rows.emplace_back();
        row.name = e.text("name");
        row.on = e.text("on");
        for (const detail::json_value& s : e.list("seconds")) row.seconds.push_back(e.real(s, "seconds"));
        if (row.seconds.empty()) e.wrong("\"seconds\" is empty");
        row.work = {e.real("bytes"), e.real("operations")};
        row.peak = {e.real("peak_bytes_per_second"), e.real("peak_operations_per_second")};
        for (const detail::json_value& l : e.list("launches")) {
            detail::json_reader one(l, what, "a launch of row " + std::to_string(r.rows.size()));
            const auto number = [&](const char* name, std::int64_t largest) {
                return one.number(one.member(name), name, 0, largest);
            };
            launched_kernel& k = row.launches.emplace_back();
            const auto* const name = one.member("name").get<std::string>();
            if (!name) one.wrong("\"name\" must be a text");
            k.name = *name;
            k.blocks = number("blocks", most);
            k.threads = static_cast<int>(number("threads", INT32_MAX));
            k.registers = static_cast<int>(number("registers", INT32_MAX));
            k.shared_bytes = static_cast<std::size_t>(number("shared_bytes", most));
            k.local_bytes = static_cast<std::size_t>(number("local_bytes", most));
            k.occupancy = one.real("occupancy");
            one.end();
        }
        e.end();
    }
    all.end();
    return r;
}

TENON_INLINE void benchmark_report::save(const std::string& path) const {
    detail::text_to_file("benchmark_report::save", path, to_json());
}

TENON_INLINE benchmark_report benchmark_report::load(const std::string& path) {
    const std::string text = detail::text_of_file("benchmark_report::load", path);
    return detail::said_by(path, [&] { return from_json(text); });
}

TENON_INLINE std::string compare(const benchmark_report& before, const benchmark_report& now) {
    std::vector<std::vector<std::string>> lines{{"", "before", "now", "speed", ""}};
    const auto find = [](const benchmark_report& in, const std::string& name) {
        const auto at = std::find_if(in.rows.begin(), in.rows.end(), [&](const auto& r) { return r.name == name; });
        return at == in.rows.end() ? nullptr : &*at;
    };
    for (const benchmark_row& row : now.rows) {
        const benchmark_row* const was = find(before, row.name);
        if (!was) {
            lines.push_back({row.name, "-", detail::shown_seconds(row.median()), "-", "new"});
            continue;
        }
        char speed[32] = "-";
        if (row.median() > 0) std::snprintf(speed, sizeof speed, "%.3g", was->median() / row.median());
        const auto [low, high] = row.middle_half();
        const auto [low_then, high_then] = was->middle_half();
        const char* verdict = high < low_then ? "faster" : low > high_then ? "slower" : "the same";
        lines.push_back(
            {row.name, detail::shown_seconds(was->median()), detail::shown_seconds(row.median()), speed,
             was->on == row.on ? verdict : std::string(verdict) + ", on " + row.on + " and not " + was->on});
    }
    for (const benchmark_row& row : before.rows)
        if (!find(now, row.name)) lines.push_back({row.name, detail::shown_seconds(row.median()), "-", "-", "gone"});
    std::string text = detail::benchmark_table(std::move(lines));
    if (before.cold != now.cold)
        text += std::string("The caches were flushed ") + (now.cold ? "now" : "before") +
                " alone: this compares two things.\n";
    if (before.machine != now.machine && !before.machine.empty() && !now.machine.empty())
        text +=
            detail::without_controls("Two machines: " + before.machine + " before, " + now.machine + " now.") + '\n';
    return text;
}

} // namespace tenon
