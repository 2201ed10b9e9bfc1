#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/resources/collective/participants.hpp>

namespace tenon {

namespace detail {

struct open_gatherings {
    std::mutex guard;
    std::map<std::pair<std::uint64_t, std::int64_t>, std::vector<std::optional<participant>>>
        all;                                  // by step and meeting
    static constexpr std::size_t most = 1024; // steps that were stopped leave theirs open
    static open_gatherings& get() {
        static auto& m = *new open_gatherings;
        return m;
    }
};

inline std::uint64_t number_of_step(const step* in) {
    if (!in) throw internal_error("a meeting of several devices needs a step, which this kernel was run without");
    return in->id();
}

} // namespace detail

TENON_INLINE std::vector<participant> join_participants(const step* in, std::int64_t meeting, int number, int all,
                                                        const participant& p) {
    detail::open_gatherings& open = detail::open_gatherings::get();
    const std::pair key(detail::number_of_step(in), meeting);
    const std::lock_guard lock(open.guard);
    while (open.all.size() >= detail::open_gatherings::most && open.all.begin()->first != key)
        open.all.erase(open.all.begin());
    auto at = open.all.try_emplace(key).first;
    at->second.resize(static_cast<std::size_t>(all));
    std::optional<participant>& place = at->second[static_cast<std::size_t>(number)];
    if (place)
        throw internal_error("number " + std::to_string(number) + " of " + std::to_string(all) +
                             " came to a meeting of devices twice in one step");
    place = p;
    for (const std::optional<participant>& other : at->second)
        if (!other) return {};
    std::vector<participant> met;
    for (const std::optional<participant>& other : at->second) met.push_back(*other);
    open.all.erase(at);
    return met;
}

TENON_INLINE void require_all_joined(const step* in, std::int64_t meeting) {
    detail::open_gatherings& open = detail::open_gatherings::get();
    const std::pair key(detail::number_of_step(in), meeting);
    const std::lock_guard lock(open.guard);
    const auto at = open.all.find(key);
    if (at == open.all.end()) return;
    std::size_t came = 0;
    for (const std::optional<participant>& p : at->second) came += p.has_value();
    throw internal_error(std::to_string(came) + " of " + std::to_string(at->second.size()) +
                         " devices came to a meeting; all must be of one process, and all CPUs or all GPUs");
}

} // namespace tenon
