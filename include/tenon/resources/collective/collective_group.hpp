#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/fault.hpp>

/// Processes that run one program and compute something together: sums of gradients, say. What the ops of collectives
/// (ops/collective/collective.hpp) start; ways to do it derive from collective_group.

namespace tenon {

enum class collective_kind : std::uint8_t {
    sum,       ///< of all values, in the order of ranks
    mean,      ///< the sum of values times weights, by the sum of the weights; of floating types
    gather,    ///< values one after another by dimension 0, in the order of ranks
    broadcast, ///< rank 0's value
};
inline constexpr int collective_kinds = 4;
const char* name_of(collective_kind k) noexcept;

/// What all processes of a group must mean by one collective.
struct collective_signature {
    collective_kind kind = collective_kind::sum;
    std::string name; ///< of the node that asks for it
    tensor_type type; ///< of a gather: dimension 0 is 0, since it may differ
    friend bool operator==(const collective_signature&, const collective_signature&) = default;
};
/// "mean all_reduce_2 (float[784, 300])"
std::string to_string(const collective_signature& s);
/// Throws invalid_argument_error where the kind does not fit the type.
void check_collective(const collective_signature& s);

/// One collective of this process, from begin() until it is completed or stopped: its caller's, who keeps it where it is.
class collective {
public:
    collective_signature what;
    double weight = 1; ///< of a mean
    any_array value;   ///< one's own; when it is completed, the result

    /// The group has given it its number: in the order of numbers, under a lock of the group's, before completed().
    virtual void numbered() noexcept {}
    /// Once, on any thread, under no lock of the group's. nullptr: it is there.
    virtual void completed(std::exception_ptr failure) noexcept = 0;

protected:
    collective() = default;
    collective(collective&&) = delete;
    ~collective() = default;
};

/// Where a collective stands among those of its step: `number` of `of`. All processes number them alike.
struct collective_turn {
    std::uint64_t step = 0; ///< step::id()
    int number = 0, of = 1;
};

/// Processes 0 .. size-1, of which this is `rank`. Collectives are numbered in the order of their steps, and in these of their turns,
/// whenever their values are there; number k of one process meets number k of all others, and what they mean by it is compared: where
/// they do not agree, all fail with an invalid_argument_error that names both.
///
/// A group ends with the first failure, for all its processes: where one is lost (unavailable_error, which names it), where a step
/// that has begun with its collectives is stopped or fails, where they do not agree. What is under way then, and what is begun later,
/// fails with that. So nobody waits for what will not come, and no process goes on with other values than the others.
///
/// Results are the same bits on every process. Thread-safe.
class collective_group {
public:
    virtual ~collective_group();
    collective_group(collective_group&&) = delete;

    /// By which nodes of graphs refer to it: no other group of this process has it.
    const std::string& name() const noexcept { return name_; }
    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }
    /// "/job:worker/task:1 (127.0.0.1:2223)", "rank 1 (on node7)"
    virtual std::string member(int rank) const = 0;
    /// Which way this is, and why: a line for people.
    const std::string& explained() const noexcept { return explained_; }
    void explain(std::string line) { explained_ = std::move(line); } ///< by who makes it, before others have it

    /// Begins, or waits for those before it in its step. What it throws is its failure, and nothing was begun: failed_precondition_error
    /// where another step is not through with its own (no two processes would mix them alike), or the error that the group ended with.
    void begin(collective& c, collective_turn t);
    /// True where completed() will not be called: false where it was, is just being, or nothing was begun. Ends the group, if the step
    /// has begun with its collectives.
    bool stop(collective& c) noexcept;
    /// Ends it, for all.
    void abort(error_code code, const std::string& why) noexcept;
    /// Throws what it ended with, if it has.
    void check() const;
    /// For messages: "mean all_reduce_2 (float[300]), number 7 of group worker, to which /job:worker/task:1 (..) has not come".
    std::string awaited(const collective& c) const;

    /// Enters it by its name. already_exists_error where another one that lives has it.
    static void enter(const std::shared_ptr<collective_group>& g);
    /// nullptr where this process has none of this name.
    static std::shared_ptr<collective_group> called(const std::string& name);

protected:
    collective_group(std::string name, int rank, int size);

    /// Begins number `sequence`; several threads may, not in the order of the numbers. The value is this process's to read until it is
    /// finished, and by whoever shares it after that. Throws what ends the group.
    virtual void issue(std::uint64_t sequence, const collective_signature& what, double weight, any_array value) = 0;
    /// Has the others know that it has ended here, and drops what is under way. Once, under no lock; of this process's own ending
    /// `tells`, else of what another one has told. What waits has been completed.
    virtual void end(error_code code, const std::string& why, error_reason reason, bool tells) noexcept = 0;
    /// To which ranks one waits in number `sequence`, in words; "": it is not known.
    virtual std::string missing(std::uint64_t sequence) const = 0;

    /// Number `sequence` has this result.
    void finish(std::uint64_t sequence, any_array result) noexcept;
    /// It has ended, here or elsewhere. False: it had before.
    bool fail(error_code code, const std::string& why, error_reason reason, bool tells) noexcept;
    bool has_ended() const noexcept;

private:
    struct progress; // kept apart: a model that is compiled pays for no lock

    const std::string name_;
    const int rank_, size_;
    std::string explained_;
    const std::unique_ptr<progress> progress_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/resources/collective/collective_group.ipp>
#endif
