#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace tenon::emulator {

/// What functions of a library are told to answer, without doing anything.
template <class Status> class planned_faults {
public:
    /// From call number `after` + 1 on, for `times` calls.
    void plan(const std::string& function, Status answer, std::uint64_t after, std::uint64_t times) {
        const std::lock_guard lock(guard_);
        all_[function] = {answer, after, times};
    }
    /// What this call is to answer; none: it does its work.
    std::optional<Status> of_call(const char* function) {
        const std::lock_guard lock(guard_);
        const auto at = all_.find(function);
        if (at == all_.end()) return {};
        const std::uint64_t call = at->second.calls++;
        if (call < at->second.after || call - at->second.after >= at->second.times) return {};
        return at->second.answer;
    }
    void clear() {
        const std::lock_guard lock(guard_);
        all_.clear();
    }

private:
    struct fault {
        Status answer;
        std::uint64_t after, times, calls = 0;
    };
    std::mutex guard_;
    std::map<std::string, fault> all_;
};

} // namespace tenon::emulator

// In a function of the library, where its `faults` are known.
#define TENON_REFUSE(function) \
    if (const auto planned = faults.of_call(#function)) return *planned
