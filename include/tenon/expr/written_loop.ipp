#pragma once

#include <map>
#include <mutex>

#include <tenon/expr/written_loop.hpp>

namespace tenon::detail {

struct written_loops {
    static constexpr std::size_t most = 256; // that are kept: a loop that is not any more is interpreted
    std::mutex guard;
    std::map<std::pair<std::string, std::string>, std::pair<loop_part, loop_part>> by_bodies;
};
inline written_loops& table_of_written_loops() {
    static auto& table = *new written_loops;
    return table;
}

TENON_INLINE void enter_written_loop(const std::string& condition, const std::string& body, const written_loop& w,
                                     const std::vector<int> (&operands)[2]) {
    const auto part_of = [&](const written_part& from, const std::vector<int>& beyond) {
        loop_part p;
        if (from.code) p.code = *from.code;
        p.constants = from.given.numbers;
        for (int c = 0; from.code && c < w.carried; ++c) p.operands.push_back(c);
        p.operands.insert(p.operands.end(), beyond.begin(), beyond.end());
        p.results = from.results;
        p.function = from.function;
        return p;
    };
    written_loops& table = table_of_written_loops();
    const std::lock_guard lock(table.guard);
    if (table.by_bodies.size() >= written_loops::most) table.by_bodies.clear();
    table.by_bodies.try_emplace({condition, body},
                                std::pair(part_of(w.uniform, operands[0]), part_of(w.elements, operands[1])));
}

TENON_INLINE bool find_written_loop(const std::string& condition, const std::string& body, loop_program& to) {
    written_loops& table = table_of_written_loops();
    const std::lock_guard lock(table.guard);
    const auto at = table.by_bodies.find({condition, body});
    if (at == table.by_bodies.end()) return false;
    to.uniform = at->second.first;
    to.elements = at->second.second;
    return true;
}

} // namespace tenon::detail
