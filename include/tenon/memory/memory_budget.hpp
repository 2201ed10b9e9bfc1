#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/core/array/memory_payer.hpp>
#include <tenon/memory/memory_account.hpp>

/// One limit for the host's memory that a server takes, whatever for, by the client who has it taken: variables, steps, constants,
/// elements of queues, what is received.

namespace tenon {

class memory_budget;

/// A client's part of a budget. It lives as long as somebody holds it, or what was taken in its name; so does the budget.
class memory_client final : public memory_payer {
public:
    void take(std::size_t bytes) override;
    void give(std::size_t bytes) noexcept override;
    /// Before something is put where it stays, such as an element in a queue: throws resource_exhausted_error where so little would be
    /// left that no step could take it out again. Of another payer nothing is known.
    static void require_room_for_steps(memory_payer* who);
    std::size_t bytes() const noexcept { return held_.load(std::memory_order_relaxed) >> 1; }
    std::string name() const;
    void rename(std::string name);

private:
    friend class memory_budget;
    memory_client(std::shared_ptr<memory_budget> of, std::string name) : of_(std::move(of)), name_(std::move(name)) {}
    void end() noexcept;

    const std::shared_ptr<memory_budget> of_;
    std::string name_;                 // under the budget's guard
    std::atomic<std::size_t> held_{1}; // twice the bytes, and 1 for those that hold it
};

class memory_budget : public std::enable_shared_from_this<memory_budget> {
public:
    /// limit: bytes; 0: none.
    static std::shared_ptr<memory_budget> make(std::size_t limit) {
        return std::shared_ptr<memory_budget>(new memory_budget(limit));
    }
    memory_budget(memory_budget&&) = delete;

    /// One more: several may have the same name.
    std::shared_ptr<memory_client> client(std::string name);

    /// Of all clients, and of nobody. False where the limit would be passed. Memory that the process keeps for further arrays is
    /// given back to the system where both together would pass the limit.
    bool take(std::size_t bytes);
    void give(std::size_t bytes) noexcept { account_.give(bytes); }
    void when_short(bool (*give_back)(void* context), void* context) noexcept {
        account_.when_short(give_back, context);
    }
    memory_info info() const noexcept { return account_.info(); }
    /// Who has some, the largest first; those that have gone, too, while what they had taken is there.
    std::vector<memory_holder> holders() const;
    /// "67108864 bytes are too many: of the 200000000 that may be used (--memory-limit) 150000000 are in use, most by:\n ..."
    std::string refusal(std::size_t bytes) const { return refusal(std::to_string(bytes) + " bytes are too many"); }

private:
    std::string refusal(std::string text) const;
    friend class memory_client;
    explicit memory_budget(std::size_t limit) : account_(limit) {}

    memory_account account_;
    mutable std::mutex guard_; // of what follows
    std::vector<memory_client*> clients_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/memory/memory_budget.ipp>
#endif
