#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/runtime/device/device.hpp>

/// Memory for what runs one after another.

namespace tenon::runtime {

/// Arenas that the segments of a step take in turn, each for as long as it runs: of each device as much as the largest of them needs. What
/// a segment hands on lies elsewhere. Thread-safe.
class shared_arenas {
public:
    struct set {
        std::vector<device_memory> memory; ///< by device
        std::vector<std::size_t> bytes;
    };

    explicit shared_arenas(std::vector<device*> devices) : devices_(std::move(devices)), needed_(devices_.size()) {}

    /// Somebody will need so much.
    void need(std::size_t device, std::size_t bytes) {
        const std::lock_guard lock(guard_);
        needed_[device] = std::max(needed_[device], bytes);
    }
    /// Throws what allocating throws.
    std::unique_ptr<set> take() {
        auto made = std::make_unique<set>();
        std::unique_ptr<set> old; // ends after the lock does
        {
            const std::lock_guard lock(guard_);
            if (!spare_.empty()) {
                old = std::move(spare_.back());
                spare_.pop_back();
                if (old->bytes == needed_) return old;
                forget(*old); // somebody needs more since
            }
            made->bytes = needed_;
            spare_.reserve(spare_.size() + ++sets_); // so that giving takes no memory
            for (const std::size_t b : needed_) bytes_ += b;
        }
        try {
            made->memory.resize(devices_.size());
            for (std::size_t d = 0; d < devices_.size(); ++d)
                if (made->bytes[d] > 0) made->memory[d] = device_memory(*devices_[d], made->bytes[d]);
        } catch (...) {
            const std::lock_guard lock(guard_);
            forget(*made);
            throw;
        }
        return made;
    }
    void give(std::unique_ptr<set> s) noexcept {
        const std::lock_guard lock(guard_);
        spare_.push_back(std::move(s));
    }
    /// Of all sets that there are.
    std::size_t bytes() const {
        const std::lock_guard lock(guard_);
        return bytes_;
    }

private:
    void forget(const set& s) noexcept {
        for (const std::size_t b : s.bytes) bytes_ -= b;
        --sets_;
    }

    const std::vector<device*> devices_;
    mutable std::mutex guard_; // of what follows
    std::vector<std::size_t> needed_;
    std::vector<std::unique_ptr<set>> spare_; // taken last first: its pages were touched last
    std::size_t sets_ = 0, bytes_ = 0;
};

} // namespace tenon::runtime
