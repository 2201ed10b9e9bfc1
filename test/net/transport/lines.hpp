#pragma once

#include "peers.hpp"

namespace net_test {

inline constexpr const char* is_used = "large payloads go through shared memory";
inline constexpr std::int64_t large = 100'000; // numbers, of 4 bytes: more than what makes a ring

// Lines of a log.
class lines {
public:
    std::function<void(const std::string&)> log() {
        return [this](const std::string& line) {
            const std::lock_guard lock(guard_);
            all_.push_back(line);
            changed_.notify_all();
        };
    }
    /// Until so many have these words.
    bool wait_for(const std::string& words, std::size_t count = 1) {
        std::unique_lock lock(guard_);
        return changed_.wait_for(lock, long_enough, [&] { return counted(words) >= count; });
    }
    std::size_t count(const std::string& words) {
        const std::lock_guard lock(guard_);
        return counted(words);
    }

private:
    std::size_t counted(const std::string& words) const {
        return static_cast<std::size_t>(std::count_if(
            all_.begin(), all_.end(), [&](const std::string& l) { return l.find(words) != std::string::npos; }));
    }
    std::mutex guard_;
    std::condition_variable changed_;
    std::vector<std::string> all_;
};

} // namespace net_test
