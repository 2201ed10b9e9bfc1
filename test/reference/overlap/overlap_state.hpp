#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "reference/overlap/overlap.hpp"

/// What steps that overlap have come to, and what is tried next.

namespace reference {

struct step_state {
    std::vector<char> effects;             // 0: not begun, 1: waits, 2: done, 3: failed
    std::vector<int> made;                 // by place: values
    std::vector<std::vector<int>> moments; // by segment: the variables
    int error = -1;
    bool cut = false; // it ended before its time
    int updated = 0;  // bits of variables
};

struct machine {
    world all;
    std::vector<int> at; // by lane: the step
    std::vector<step_state> steps;
    bool late = false; // a limit was met
};

/// Answers that are given in turn: all of them.
class choices {
public:
    int choose(int of) {
        if (next_ == path_.size()) path_.emplace_back(0, of);
        return path_[next_++].first;
    }
    bool advance() {
        next_ = 0;
        while (!path_.empty() && path_.back().first + 1 == path_.back().second) path_.pop_back();
        if (path_.empty()) return false;
        ++path_.back().first;
        return true;
    }

private:
    std::vector<std::pair<int, int>> path_;
    std::size_t next_ = 0;
};

} // namespace reference
