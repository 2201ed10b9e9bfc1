#pragma once

// A part of run/trace.ipp: a trace as Chrome and Perfetto draw it.

#include <cctype>

#include <tenon/io/json/json_value.hpp>
#include <tenon/runtime/trace/packed_rows.hpp>

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

// Its text grows event by event: those that name processes and rows, then all others.
class trace::state::drawing {
public:
    explicit drawing(const state& of) : of_(of), values_(of.crossings()), all_(of.aligned(values_)) {
        partners_.assign(all_.size(), -1);
        places_.resize(all_.size());
        for (const shown& a : all_) waited_.push_back(a.end - a.begin);
        for (const auto& [which, c] : values_) {
            if (c.send < 0 || c.receive < 0) continue;
            partners_[static_cast<std::size_t>(c.send)] = c.receive;
            partners_[static_cast<std::size_t>(c.receive)] = c.send;
            // What is not sent yet is waited for by all that is to come later: that is no row each.
            shown& r = all_[static_cast<std::size_t>(c.receive)];
            const std::int64_t sent = all_[static_cast<std::size_t>(c.send)].begin;
            r.end = std::max(r.end, sent); // where clocks are not known that well
            r.begin = std::max(r.begin, sent);
        }
        if (!all_.empty()) start_ = end_ = all_.front().begin;
        for (const shown& a : all_) start_ = std::min(start_, a.begin), end_ = std::max(end_, a.end);
    }

    std::string text() {
        add_tasks();
        for (std::size_t i = 0; i < all_.size(); ++i) add_event(i);
        if (of_.dropped > 0) {
            const std::string more = std::to_string(of_.dropped) + " more events were not kept";
            add("{\"name\":\"" + more + "\",\"ph\":\"i\",\"s\":\"g\",\"ts\":" + time(end_) + ",\"pid\":1,\"tid\":0}");
            say("dropped", more + ": see trace_options");
        }
        return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" + events_ + "\n],\"otherData\":{" + about_ + "}}";
    }

private:
    using rows = std::map<std::string, std::vector<std::size_t>, detail::by_numbers>; // events, by their row's name
    struct place {
        int process = 0, thread = 0;
    };

    void add(const std::string& event) {
        events_ += events_.empty() ? "\n" : ",\n";
        events_ += event;
    }
    void add_name(const char* what, place at, const std::string& args) {
        add("{\"name\":\"" + std::string(what) + "\",\"ph\":\"M\"" + text_of(at) + ",\"args\":{" + args + "}}");
    }
    // Of the whole trace.
    void say(const std::string& what, const std::string& value) {
        about_ += (about_.empty() ? "" : ",") + detail::json_name(what) + ":" + detail::json_name(value);
    }
    std::string time(std::int64_t at) const { return detail::microseconds(at - start_); }
    static std::string text_of(place at) {
        return ",\"pid\":" + std::to_string(at.process) + ",\"tid\":" + std::to_string(at.thread);
    }
    const detail::trace_record::event& event(std::size_t i) const { return all_[i].of->e; }
    // Viewers find a moment in an event that lasts beyond it.
    std::int64_t lasts_until(std::size_t i) const { return all_[i].end + (partners_[i] >= 0); }
    static std::string task_name(const std::string& task) { return task.empty() ? "this program" : task; }

    void add_tasks() {
        std::map<std::string, rows, detail::by_numbers> tasks; // this program first
        for (std::size_t i = 0; i < all_.size(); ++i)
            tasks[of_.text(event(i).task)][of_.text(event(i).row)].push_back(i);
        int process = 0;
        for (const auto& [task, of_task] : tasks) {
            const place whole{++process, 0};
            add_name("process_name", whole, "\"name\":" + detail::json_name(task_name(task)));
            add_name("process_sort_index", whole, "\"sort_index\":" + std::to_string(process));
            std::int64_t error = 0;
            bool is_elsewhere = false;
            for (const auto& [row, of_row] : of_task) {
                add_row(process, row, of_row);
                for (const std::size_t i : of_row) {
                    error = std::max(error, all_[i].error);
                    is_elsewhere = is_elsewhere || event(i).clock != 0;
                }
            }
            if (!is_elsewhere) continue;
            const std::string aligned = "aligned within " + detail::microseconds(error) + " us";
            add_name("process_labels", whole, "\"labels\":\"clock " + aligned + "\"");
            say("clock of " + task, aligned);
        }
    }

    void add_row(int process, const std::string& name, const std::vector<std::size_t>& of_row) {
        std::vector<detail::time_span> spans;
        for (const std::size_t i : of_row) spans.push_back({all_[i].begin, lasts_until(i)});
        const std::vector<int> lines = detail::packed_rows(spans);
        const int needed = *std::max_element(lines.begin(), lines.end()) + 1;
        for (int line = 0; line < needed; ++line) {
            const place at{process, threads_ + line + 1};
            const std::string shown_name = line == 0 ? name : name + " (" + std::to_string(line + 1) + ")";
            add_name("thread_name", at, "\"name\":" + detail::json_name(shown_name));
            add_name("thread_sort_index", at, "\"sort_index\":" + std::to_string(at.thread));
        }
        for (std::size_t n = 0; n < spans.size(); ++n) places_[of_row[n]] = {process, threads_ + lines[n] + 1};
        threads_ += needed;
    }

    void add_event(std::size_t i) {
        const detail::trace_record::event& e = event(i);
        const std::string name = "{\"name\":" + detail::json_name(of_.text(e.name)),
                          op = detail::json_name(of_.text(e.op));
        const bool sends = e.goes == trace_event::way::send, has_partner = partners_[i] >= 0;
        const auto other = static_cast<std::size_t>(has_partner ? partners_[i] : 0);
        std::string value;
        if (e.goes != trace_event::way::none) value = "\"bytes\":" + std::to_string(e.bytes);
        if (has_partner)
            value += ",\"from\":" + detail::json_name(task_name(of_.text(event(sends ? i : other).task))) +
                     ",\"to\":" + detail::json_name(task_name(of_.text(event(sends ? other : i).task)));
        std::string args = "\"op\":" + op + (value.empty() ? "" : "," + value);
        if (e.goes == trace_event::way::receive) args += ",\"waited_us\":" + detail::microseconds(waited_[i]);
        add(name + ",\"cat\":" + op + ",\"ph\":\"X\",\"ts\":" + time(all_[i].begin) + ",\"dur\":" +
            detail::microseconds(lasts_until(i) - all_[i].begin) + text_of(places_[i]) + ",\"args\":{" + args + "}}");
        if (!sends || !has_partner) return;
        const std::string arrow =
            name + ",\"cat\":\"value\",\"id\":" + std::to_string(++arrows_) + ",\"args\":{" + value + "}";
        add(arrow + ",\"ph\":\"s\",\"ts\":" + time(all_[i].begin) + text_of(places_[i]) + "}");
        add(arrow + ",\"ph\":\"f\",\"bp\":\"e\",\"ts\":" + time(all_[other].end) + text_of(places_[other]) + "}");
    }

    const state& of_;
    const std::map<std::pair<std::uint64_t, std::int64_t>, crossing> values_;
    std::vector<shown> all_;             // as they are drawn
    std::vector<std::int64_t> waited_;   // by event: how long it took before that
    std::vector<std::int64_t> partners_; // of what sends, what receives, and the reverse; -1: none
    std::vector<place> places_;
    std::int64_t start_ = 0, end_ = 0;
    int threads_ = 0; // of all processes: no number twice
    std::int64_t arrows_ = 0;
    std::string events_, about_;
};

TENON_INLINE std::string trace::state::picture() const { return drawing(*this).text(); }

} // namespace tenon
