#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include <tenon/core/array/any_array.hpp>

/// Where the parts of a step meet that run on different tasks: one sends a value, the other receives it, whoever comes first.

namespace tenon {

/// What is to be received, once.
class arrival {
public:
    /// When it has come. What is_unique() is the receiver's; of others the memory lives as long as the step.
    any_array value;

protected:
    arrival() = default;
    ~arrival() = default;
    arrival(arrival&&) = delete;
    /// Once, by the thread that received or the one that sent, and under no lock of the rendezvous.
    virtual void arrived() noexcept = 0;

private:
    friend class local_rendezvous;
};

/// Of one step. Edges have numbers, each is sent and received once. Thread-safe.
class rendezvous {
public:
    virtual ~rendezvous() = default;
    /// May keep it until flush(), so that others go with it.
    virtual void send(std::int64_t edge, any_array value) = 0;
    /// Who sends has nothing more to send at this moment. Not `all`: it goes on with what will be sent, and what is little may wait
    /// for that.
    virtual void flush(bool all) { (void)all; }
    virtual void receive(std::int64_t edge, arrival& a) = 0;
    /// Takes back what is to be received: true where arrived() will not be called.
    virtual bool stop(std::int64_t edge, arrival& a) noexcept = 0;
};

/// Between tasks of one process.
class local_rendezvous final : public rendezvous {
public:
    explicit local_rendezvous(std::int64_t edges) : edges_(static_cast<std::size_t>(edges)) {}
    void send(std::int64_t edge, any_array value) override;
    void receive(std::int64_t edge, arrival& a) override;
    bool stop(std::int64_t edge, arrival& a) noexcept override;
    /// For the next step. The one before has ended.
    void clear() noexcept;

private:
    struct slot {
        any_array value{};
        bool sent = false;
        arrival* waiting = nullptr;
    };
    std::mutex guard_; // of what follows
    std::vector<slot> edges_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/resources/rendezvous.ipp>
#endif
