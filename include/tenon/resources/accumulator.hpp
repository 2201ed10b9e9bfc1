#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/resources/resources.hpp>

/// Accumulators of gradients (SEMANTICS 41): what the ops of accumulators are made of. Nothing here waits: a take that cannot be
/// served at once is kept, and completed by the thread that makes it possible.

namespace tenon {

struct accumulator_description {
    tensor_type type;  ///< of the average: sizes are numbers
    bool rows = false; ///< gradients are sparse: indices of rows, [n], and those rows, [n, ...]

    friend bool operator==(const accumulator_description&, const accumulator_description&) = default;
};
/// "accumulator of float[784, 300]", "accumulator of rows of float[1000, 64]"
std::string to_string(const accumulator_description& d);

/// A take that waits: its caller's, who keeps it where it is until it is completed, or stopped.
class accumulator_take {
public:
    /// The average, or indices and rows: each index once, in order.
    std::vector<any_array> average;
    /// Whether what is taken can be given back.
    bool keeps = false;

protected:
    accumulator_take() = default;
    ~accumulator_take() = default;
    accumulator_take(accumulator_take&&) = delete;
    /// Called once for each take that was not stopped, on any thread, and not under a lock of the accumulator.
    virtual void completed(std::exception_ptr failure) noexcept = 0;

private:
    friend class accumulator_resource;
    std::int64_t least_ = 0, count_ = 0;       // of gradients: that it waits for, that it has
    std::vector<std::vector<any_array>> sums_; // of those
    bool waits_ = false;
};

/// Thread-safe. It has two uses that do not mix. One is anybody's: apply() adds to a sum, take() gives its average. In the other each
/// replica deposits a gradient under a ticket, and average_of() names the tickets that count (resources/step_ledger.hpp).
class accumulator_resource final : public resource {
public:
    static constexpr const char* kind = "accumulator";

    /// invalid_argument_error, naming it, where gradients of that type cannot be averaged.
    accumulator_resource(std::string name, accumulator_description d);
    ~accumulator_resource() override;
    accumulator_resource(accumulator_resource&&) = delete;

    const accumulator_description& description() const noexcept { return description_; }

    // These throw invalid_argument_error where the gradient is of another type or of other rows; then nothing has changed.

    /// Adds a gradient that was computed in step `local_step`. False where the accumulator is in a later step: it is stale, and dropped.
    bool apply(std::vector<any_array> gradient, std::int64_t local_step);
    /// Waits for `least` gradients, 1 or more, and takes the average of all that are there; the accumulator is in the next step then.
    /// Of rows: their sums divided by the number of gradients, whether or not each has a row. First come, first served.
    void take(accumulator_take& t, std::int64_t least);
    /// Takes it back where it waits. False where it was completed, or is just being.
    bool stop(accumulator_take& t) noexcept;
    /// Of one that keeps what it took, and is done: the gradients are there again, in the step before; or nobody's.
    void give_back(accumulator_take& t) noexcept;
    void let_go(accumulator_take& t) noexcept;

    struct standing {
        std::int64_t step = 0;    ///< earlier gradients are stale
        std::int64_t count = 0;   ///< gradients that are there
        std::int64_t dropped = 0; ///< that were stale, in its life
    };
    standing state() const;
    /// Later, or earlier: gradients that are there stay. invalid_argument_error where there is no such step (step_number.hpp).
    void set_step(std::int64_t step);

    /// Keeps a replica's gradient, in place of what that replica deposited under a smaller ticket; one of a smaller ticket than that
    /// is of the past, and dropped.
    void deposit(std::int64_t replica, std::int64_t ticket, std::int64_t step, std::vector<any_array> gradient);
    /// The average of the gradients of these tickets, added in their order; what was deposited in earlier steps is dropped. aborted_error
    /// where one of them is not there.
    std::vector<any_array> average_of(const std::int64_t* tickets, std::int64_t count, std::int64_t step);

    /// What a take waits for, in words: "accumulator \"w1\" to have 3 gradients; it has 1".
    std::string awaited(std::int64_t least) const;
    void forgotten() noexcept override;
    void describe(resource_info& to) const override;

private:
    struct parts;
    void end(accumulator_take* served, std::exception_ptr failure = nullptr) noexcept;
    void check(const std::vector<any_array>& gradient) const;
    const std::string name_;
    const accumulator_description description_;
    std::unique_ptr<parts> parts_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/resources/accumulator.ipp>
#endif
