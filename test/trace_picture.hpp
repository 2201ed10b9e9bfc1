#pragma once

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <tenon/runtime/trace/trace.hpp>

/// What viewers of traces make of one.

namespace trace_test {

/// What a trace's JSON says: events of processes and rows by their names, and arrows.
struct picture {
    explicit picture(const tenon::trace& t) : all(nlohmann::json::parse(t.to_json())) {
        for (const auto& e : all.at("traceEvents")) {
            if (e.at("name") == "process_name") processes[e.at("pid")] = e.at("args").at("name");
            if (e.at("name") == "thread_name") rows[e.at("tid")] = e.at("args").at("name");
        }
    }
    std::vector<nlohmann::json> of_kind(const std::string& ph) const {
        std::vector<nlohmann::json> found;
        for (const auto& e : all.at("traceEvents"))
            if (e.at("ph") == ph) found.push_back(e);
        return found;
    }
    std::string task_of(const nlohmann::json& e) const { return processes.at(e.at("pid")); }
    std::string row_of(const nlohmann::json& e) const { return rows.at(e.at("tid")); }

    nlohmann::json all;
    std::map<int, std::string> processes, rows;
};

inline std::vector<nlohmann::json> named(const std::vector<nlohmann::json>& events, const std::string& name) {
    std::vector<nlohmann::json> found;
    for (const auto& e : events)
        if (e.at("name") == name) found.push_back(e);
    return found;
}

/// That each arrow begins in an event of its process and row, ends in another one, and goes forward.
inline void check_arrows(const picture& p, std::size_t expected) {
    const auto starts = p.of_kind("s"), ends = p.of_kind("f"), spans = p.of_kind("X");
    CHECK(starts.size() == expected);
    REQUIRE(starts.size() == ends.size());
    const auto is_in_one = [&](const nlohmann::json& e, const std::string& op) {
        for (const auto& s : spans)
            if (s.at("pid") == e.at("pid") && s.at("tid") == e.at("tid") && s.at("cat") == op &&
                s.at("ts").get<double>() <= e.at("ts").get<double>() &&
                e.at("ts").get<double>() < s.at("ts").get<double>() + s.at("dur").get<double>())
                return true;
        return false;
    };
    for (const auto& s : starts) {
        std::size_t partners = 0;
        for (const auto& f : ends) {
            if (f.at("id") != s.at("id")) continue;
            ++partners;
            CHECK(f.at("ts").get<double>() >= s.at("ts").get<double>());
            CHECK(f.at("pid") != s.at("pid"));
            CHECK(f.at("bp") == "e");
            CHECK(f.at("args") == s.at("args"));
            CHECK(s.at("args").at("from") == p.task_of(s));
            CHECK(s.at("args").at("to") == p.task_of(f));
            CHECK(is_in_one(f, "receive"));
        }
        CHECK(partners == 1);
        CHECK(is_in_one(s, "send"));
    }
}

} // namespace trace_test
