#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <net/rpc/peer.hpp>

/// Several tasks that are asked at once.

namespace tenon::net {

/// Waits for all of their answers, and for who asks them. Thread-safe.
class all_answers {
public:
    /// `then` is called once, by the last that came, with those that did not answer and why, sorted.
    explicit all_answers(std::function<void(std::vector<std::string> missing)> then) : then_(std::move(then)) {}

    /// One more is asked.
    void expect() {
        const std::lock_guard lock(guard_);
        ++left_;
    }
    /// One that was asked has answered, or why not; or who asks has asked all.
    void came(const std::string& trouble = {}) {
        {
            const std::lock_guard lock(guard_);
            if (!trouble.empty()) missing_.push_back(trouble);
            if (--left_ > 0) return;
        }
        std::sort(missing_.begin(), missing_.end());
        std::exchange(then_, nullptr)(std::move(missing_));
    }
    void came(const peer& from, const answer& a) {
        came(!a.failed ? std::string() : a.names_peer ? a.message : from.name() + ": " + a.message);
    }

private:
    std::function<void(std::vector<std::string> missing)> then_;
    std::mutex guard_; // of what follows, until all have come
    std::size_t left_ = 1;
    std::vector<std::string> missing_;
};

/// Each on a line of its own, behind what is said of them.
inline std::string in_lines(const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& line : all) text += "\n  " + line;
    return text;
}

} // namespace tenon::net
