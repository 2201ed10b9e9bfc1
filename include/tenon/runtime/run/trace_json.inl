#pragma once

// A part of run/trace.ipp: a trace as Chrome and Perfetto draw it.

#include <cctype>
#include <set>

#include <tenon/graph/json_value.hpp>
#include <tenon/runtime/run/packed_rows.hpp>

namespace tenon {

namespace detail {

// Names as a person orders them: "thread 2" before "thread 10".
struct by_numbers {
    bool operator()(const std::string& a, const std::string& b) const {
        const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
        std::size_t i = 0, j = 0;
        while (i < a.size() && j < b.size()) {
            if (is_digit(a[i]) && is_digit(b[j])) {
                std::size_t k = i, l = j;
                while (k < a.size() && is_digit(a[k])) ++k;
                while (l < b.size() && is_digit(b[l])) ++l;
                if (k - i != l - j) return k - i < l - j;
                if (const int order = a.compare(i, k - i, b, j, l - j)) return order < 0;
                i = k;
                j = l;
            } else if (a[i] != b[j]) return a[i] < b[j];
            else ++i, ++j;
        }
        return a.size() - i < b.size() - j;
    }
};

// Whatever a name is made of, the text is JSON.
inline std::string json_name(std::string text) {
    if (!is_utf8(text))
        for (char& c : text)
            if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    return json_text(text);
}

inline std::string microseconds(std::int64_t nanoseconds) {
    char text[40];
    const std::int64_t whole = nanoseconds / 1000, rest = nanoseconds % 1000;
    std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(whole), static_cast<long long>(rest));
    return text;
}

} // namespace detail

TENON_INLINE std::string trace::state::picture() const {
    using detail::json_name;
    using detail::microseconds;
    const auto values = crossings();
    std::vector<shown> all = aligned(values);
    std::vector<std::int64_t> partners(all.size(), -1);
    const std::vector<shown> as_traced = all;
    for (const auto& [which, c] : values) {
        if (c.send < 0 || c.receive < 0) continue;
        const auto send = static_cast<std::size_t>(c.send), receive = static_cast<std::size_t>(c.receive);
        partners[send] = c.receive;
        partners[receive] = c.send;
        // What is not sent yet is waited for by all that is to come later: that is no row each.
        shown& r = all[receive];
        r.end = std::max(r.end, all[send].begin); // where clocks are not known that well
        r.begin = std::max(r.begin, all[send].begin);
    }
    // Viewers find a moment in an event that lasts beyond it.
    const auto lasts_until = [&](std::size_t i) { return all[i].end + (partners[i] >= 0); };

    std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    const char* separator = "\n";
    const auto write = [&](const std::string& event) {
        text += separator;
        text += event;
        separator = ",\n";
    };
    std::int64_t start = all.empty() ? 0 : all.front().begin, last = start;
    for (const shown& a : all) start = std::min(start, a.begin), last = std::max(last, a.end);

    // Processes: this program first.
    std::map<std::string, std::map<std::string, std::vector<std::size_t>, detail::by_numbers>, detail::by_numbers>
        tasks;
    for (std::size_t i = 0; i < all.size(); ++i)
        tasks[this->text(all[i].of->e.task)][this->text(all[i].of->e.row)].push_back(i);
    const auto task_name = [](const std::string& task) { return task.empty() ? std::string("this program") : task; };
    std::vector<std::pair<int, int>> place(all.size()); // process and thread
    std::string about;
    int process = 0, threads = 0; // of all processes: no number twice
    for (const auto& [task, rows] : tasks) {
        ++process;
        const auto say = [&](const char* what, int thread, const std::string& args) {
            write("{\"name\":\"" + std::string(what) + "\",\"ph\":\"M\",\"pid\":" + std::to_string(process) +
                  ",\"tid\":" + std::to_string(thread) + ",\"args\":{" + args + "}}");
        };
        say("process_name", 0, "\"name\":" + json_name(task_name(task)));
        say("process_sort_index", 0, "\"sort_index\":" + std::to_string(process));
        std::int64_t error = 0;
        bool is_elsewhere = false;
        for (const auto& [row, events_of_row] : rows) {
            std::vector<detail::time_span> spans;
            for (const std::size_t i : events_of_row) {
                spans.push_back({all[i].begin, lasts_until(i)});
                error = std::max(error, all[i].error);
                is_elsewhere = is_elsewhere || all[i].of->e.clock != 0;
            }
            const std::vector<int> lines = detail::packed_rows(spans);
            const int needed = *std::max_element(lines.begin(), lines.end()) + 1;
            for (int line = 0; line < needed; ++line) {
                const int thread = threads + line + 1;
                say("thread_name", thread,
                    "\"name\":" + json_name(line == 0 ? row : row + " (" + std::to_string(line + 1) + ")"));
                say("thread_sort_index", thread, "\"sort_index\":" + std::to_string(thread));
            }
            for (std::size_t n = 0; n < spans.size(); ++n) place[events_of_row[n]] = {process, threads + lines[n] + 1};
            threads += needed;
        }
        if (!is_elsewhere) continue;
        const std::string within = "within " + microseconds(error) + " us";
        say("process_labels", 0, "\"labels\":\"clock aligned " + within + "\"");
        about += (about.empty() ? "" : ",") + json_name("clock of " + task) + ":\"aligned " + within + "\"";
    }

    std::int64_t arrow = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const detail::trace_record::event& e = all[i].of->e;
        const auto head = [&](const char* kind, std::int64_t at) {
            return "{\"name\":" + json_name(this->text(e.name)) + ",\"ph\":\"" + kind +
                   "\",\"ts\":" + microseconds(at - start) + ",\"pid\":" + std::to_string(place[i].first) +
                   ",\"tid\":" + std::to_string(place[i].second);
        };
        const std::int64_t partner = partners[i];
        const bool sends = e.goes == trace_event::way::send;
        std::string between;
        if (e.goes != trace_event::way::none) between = ",\"bytes\":" + std::to_string(e.bytes);
        if (partner >= 0) {
            const std::string here = task_name(this->text(e.task)),
                              there = task_name(this->text(all[static_cast<std::size_t>(partner)].of->e.task));
            between += ",\"from\":" + json_name(sends ? here : there) + ",\"to\":" + json_name(sends ? there : here);
        }
        std::string args = "\"op\":" + json_name(this->text(e.op)) + between;
        if (e.goes == trace_event::way::receive)
            args += ",\"waited_us\":" + microseconds(as_traced[i].end - as_traced[i].begin);
        write(head("X", all[i].begin) + ",\"dur\":" + microseconds(lasts_until(i) - all[i].begin) +
              ",\"cat\":" + json_name(this->text(e.op)) + ",\"args\":{" + args + "}}");
        if (!sends || partner < 0) continue;
        const std::string id = ",\"cat\":\"value\",\"id\":" + std::to_string(++arrow),
                          said = ",\"args\":{" + between.substr(1) + "}}";
        write(head("s", all[i].begin) + id + said);
        const auto to = static_cast<std::size_t>(partner);
        write("{\"name\":" + json_name(this->text(e.name)) + ",\"ph\":\"f\",\"bp\":\"e\",\"ts\":" +
              microseconds(all[to].end - start) + ",\"pid\":" + std::to_string(place[to].first) +
              ",\"tid\":" + std::to_string(place[to].second) + id + said);
    }
    if (dropped > 0) {
        const std::string more = std::to_string(dropped) + " more events were not kept";
        write("{\"name\":\"" + more + "\",\"ph\":\"i\",\"s\":\"g\",\"ts\":" + microseconds(last - start) +
              ",\"pid\":1,\"tid\":0}");
        about += (about.empty() ? "" : ",") + ("\"dropped\":\"" + more + ": see trace_options\"");
    }
    return text + "\n],\"otherData\":{" + about + "}}";
}

} // namespace tenon
