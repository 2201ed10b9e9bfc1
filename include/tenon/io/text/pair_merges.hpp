#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include <tenon/core/config.hpp>

/// Putting pairs of tokens together, as byte-pair encoders do. Read by .ipp files only.

namespace tenon::detail {

/// What a pair of tokens becomes: the smallest rank is put together first.
struct pair_merge {
    std::int32_t rank = -1, token = -1; ///< -1: the pair is none
};

/// Puts pairs in `tokens` together until none is left, each time the one of the smallest rank, of several the first. `found(left, right)`
/// gives the pair_merge. n log n steps of n tokens.
template <class F> void merge_pairs(std::vector<std::int32_t>& tokens, const F& found) {
    constexpr std::size_t end = static_cast<std::size_t>(-1);
    struct place {
        std::size_t before, behind;
    };
    struct candidate {
        pair_merge made;
        std::size_t at;
        bool operator<(const candidate& b) const { // the queue's first is its largest
            return std::pair(made.rank, at) > std::pair(b.made.rank, b.at);
        }
    };
    std::vector<place> places(tokens.size());
    std::priority_queue<candidate> open;
    const auto look = [&](std::size_t at) {
        if (at == end || places[at].behind == end) return;
        if (const pair_merge m = found(tokens[at], tokens[places[at].behind]); m.rank >= 0) open.push({m, at});
    };
    for (std::size_t i = 0; i < tokens.size(); ++i)
        places[i] = {i == 0 ? end : i - 1, i + 1 < tokens.size() ? i + 1 : end};
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) look(i);
    while (!open.empty()) {
        const candidate c = open.top();
        open.pop();
        // What stood there may have become something else.
        const std::size_t behind = tokens[c.at] < 0 ? end : places[c.at].behind;
        if (behind == end || found(tokens[c.at], tokens[behind]).token != c.made.token) continue;
        tokens[c.at] = c.made.token;
        tokens[behind] = -1;
        places[c.at].behind = places[behind].behind;
        if (places[c.at].behind != end) places[places[c.at].behind].before = c.at;
        look(places[c.at].before);
        look(c.at);
    }
    tokens.erase(std::remove(tokens.begin(), tokens.end(), -1), tokens.end());
}

} // namespace tenon::detail
