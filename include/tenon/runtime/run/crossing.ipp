#pragma once

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <tenon/runtime/run/crossing.hpp>
#include <tenon/runtime/trace/trace.hpp>

namespace tenon {

TENON_INLINE const char* name_of(bytes_known k) noexcept {
    switch (k) {
    case bytes_known::exactly: return "exactly";
    case bytes_known::last_step: return "as in the last step";
    case bytes_known::at_most: return "at most";
    case bytes_known::not_yet: return "not yet";
    }
    return "";
}

namespace detail {

TENON_INLINE std::string shown_bytes(std::int64_t bytes, bytes_known known, const char* unit) {
    if (known == bytes_known::not_yet && bytes == 0) return std::string("as many") + unit + " as the step tells";
    return (known == bytes_known::at_most ? "at most " : "") + std::to_string(bytes) + unit +
           (known == bytes_known::last_step ? ", as in the last step" : "");
}

TENON_INLINE void sort_crossings(std::vector<crossing>& all) {
    std::sort(all.begin(), all.end(), [](const crossing& a, const crossing& b) {
        return std::tie(a.from, a.to, a.tensor) < std::tie(b.from, b.to, b.tensor);
    });
}

} // namespace detail

TENON_INLINE std::vector<crossing> crossings(const trace& of) {
    // A link's row is "CPU:0 to GPU:0"; one where something waits "CPU:0 waits".
    const auto device = [](const std::string& task, const std::string& row) { return task + "/device:" + row; };
    constexpr const char* between = " to ";
    using ends = std::tuple<std::string, std::string, std::string>; // tensor, from, to
    struct sum {
        std::int64_t bytes = 0, steps = 0;
    };
    std::map<ends, sum> all;
    const auto add = [&](ends e, std::uint64_t bytes) {
        if (bytes == 0) return;
        sum& s = all[std::move(e)];
        s.bytes += static_cast<std::int64_t>(bytes);
        ++s.steps;
    };
    std::map<std::pair<std::uint64_t, std::int64_t>, std::string> sent; // by step and edge: from where
    of.each([&](const trace_event& e) {
        if (e.goes == trace_event::way::send) sent[{e.step, e.edge}] = device(e.task, e.row.substr(0, e.row.find(' ')));
    });
    of.each([&](const trace_event& e) {
        const std::size_t at = e.row.find(between);
        if (e.goes == trace_event::way::receive) {
            if (const auto from = sent.find({e.step, e.edge}); from != sent.end())
                add({e.name, from->second, device(e.task, e.row.substr(0, e.row.find(' ')))}, e.bytes);
        } else if (e.goes == trace_event::way::none && at != std::string::npos)
            add({e.name, device(e.task, e.row.substr(0, at)), device(e.task, e.row.substr(at + 4))}, e.bytes);
    });
    std::vector<crossing> result;
    for (const auto& [e, s] : all)
        result.push_back({.tensor = std::get<0>(e),
                          .from = std::get<1>(e),
                          .to = std::get<2>(e),
                          .bytes = s.bytes / s.steps,
                          .steps = s.steps});
    detail::sort_crossings(result);
    return result;
}

TENON_INLINE std::int64_t crossing_bytes(const std::vector<crossing>& all) {
    std::int64_t sum = 0;
    for (const crossing& c : all) sum += c.bytes;
    return sum;
}

TENON_INLINE std::string to_text(const std::vector<crossing>& all) {
    const std::string head[] = {"tensor", "from", "to"};
    std::size_t wide[] = {head[0].size(), head[1].size(), head[2].size()};
    for (const crossing& c : all) {
        wide[0] = std::max(wide[0], c.tensor.size());
        wide[1] = std::max(wide[1], c.from.size());
        wide[2] = std::max(wide[2], c.to.size());
    }
    std::string text;
    const auto line = [&](const std::string& a, const std::string& b, const std::string& c, const std::string& bytes) {
        text += a + std::string(wide[0] - a.size() + 2, ' ') + b + std::string(wide[1] - b.size() + 2, ' ') + c +
                std::string(wide[2] - c.size() + 2, ' ') + bytes + '\n';
    };
    line(head[0], head[1], head[2], "bytes a step");
    bytes_known least = bytes_known::exactly;
    for (const crossing& c : all) {
        line(c.tensor, c.from, c.to, detail::shown_bytes(c.bytes, c.known, ""));
        least = std::max(least, c.known);
    }
    line("all", "", "", detail::shown_bytes(crossing_bytes(all), least, ""));
    return text;
}

} // namespace tenon
