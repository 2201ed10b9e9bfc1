#include <net/http/status/stalls.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include <net/link/options.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

std::string in_seconds(double s) {
    char text[32];
    std::snprintf(text, sizeof text, s < 10 ? "%.1f s" : "%.0f s", s);
    return text;
}

const task_row* row_of(const std::vector<task_row>& tasks, const std::string& name) {
    const auto at = std::find_if(tasks.begin(), tasks.end(), [&](const task_row& t) { return t.task == name; });
    return at == tasks.end() ? nullptr : &*at;
}

// As who waits has it, or else whoever has heard of it.
double silence_of(const std::vector<task_row>& tasks, const task_row& waiting, const std::string& name) {
    const auto heard_by = [&](const task_row& t) {
        for (const heard_row& h : t.heard)
            if (h.task == name) return h.silence;
        return -1.0;
    };
    double least = heard_by(waiting);
    if (least >= 0) return least;
    for (const task_row& t : tasks)
        if (const double s = heard_by(t); s >= 0 && (least < 0 || s < least)) least = s;
    return least;
}

std::string words_of(const stall& s) {
    std::string text = "a step on " + s.task + " waits " + in_seconds(s.seconds) + " for ";
    if (s.from.empty()) return text + s.what;
    const std::size_t from = s.what.find(" from "), tensor = s.what.starts_with("tensor ") ? 7 : 0;
    text += from == std::string::npos ? s.what : s.what.substr(tensor, from - tensor) + " from " + s.from;
    return text +
           (s.silence < 0 ? ", which does not answer" : ", which has not been heard of for " + in_seconds(s.silence));
}

} // namespace

std::string awaited_task(const std::string& what) {
    for (const char* const before : {" from ", " on "}) {
        const std::size_t at = what.find(std::string(before) + "/job:");
        if (at == std::string::npos) continue;
        const std::size_t begin = at + std::string(before).size();
        try {
            const device_name name(what.substr(begin, what.find(' ', begin) - begin));
            if (name.task >= 0) return name_of(name.job.str(), name.task);
        } catch (const error&) { // it is part of some name
        }
    }
    return {};
}

std::vector<stall> stalls_of(const std::vector<task_row>& tasks, double patience) {
    // The longest of each session on each task for each other task, and for each queue.
    std::map<std::tuple<std::string, std::uint64_t, std::string>, stall> found;
    for (const task_row& t : tasks)
        for (const step_row& s : t.steps)
            for (const wait_row& w : s.waits) {
                if (w.seconds < patience) continue;
                stall one{t.task, s.session, s.step, w.what, {}, w.seconds, -1, {}};
                if (w.edge >= 0) {
                    one.from = awaited_task(w.what);
                    if (one.from.empty() || one.from == t.task) continue;
                    const task_row* const other = row_of(tasks, one.from);
                    one.silence = silence_of(tasks, t, one.from);
                    if ((!other || other->reached) && one.silence < patience) continue;
                } else if (!w.what.starts_with("queue ")) continue;
                stall& longest = found[{t.task, s.session, one.from.empty() ? w.what : one.from}];
                // Of a part nothing is known but that; a tensor has a name.
                const bool says_more = longest.what.starts_with("its part") && !w.what.starts_with("its part");
                if (longest.task.empty() || says_more ||
                    (longest.seconds < one.seconds &&
                     w.what.starts_with("its part") == longest.what.starts_with("its part")))
                    longest = std::move(one);
            }
    std::vector<stall> all;
    for (auto& [key, s] : found) {
        s.words = words_of(s);
        all.push_back(std::move(s));
    }
    // Silent tasks first: what waits for a queue may wait for what they would put there.
    std::stable_sort(all.begin(), all.end(), [](const stall& a, const stall& b) {
        return std::tuple(a.from.empty(), -a.seconds) < std::tuple(b.from.empty(), -b.seconds);
    });
    return all;
}

} // namespace tenon::net
