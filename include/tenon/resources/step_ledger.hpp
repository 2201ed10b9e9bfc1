#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/intrusive_list.hpp>
#include <tenon/core/array/memory_payer.hpp>
#include <tenon/resources/resources.hpp>

/// Who has computed what of a step that replicas take together (SEMANTICS 41). Replicas deposit gradients in accumulators, on several
/// tasks; a step ledger, on one, says when a replica's gradients are all there, which of them a step averages, and when it is over.
///
/// A gradient is accepted in the step in which its replica took its last token, or else dropped: what it was computed of is no older.
/// Each gradient has a ticket, a number that grows, under which its parts are deposited; it counts once its replica has committed the
/// ticket, which it does when all parts are there, and until its next. Who applies a step is whoever asks for it, one at a time: where
/// he is lost before he has ended it, the next who asks is given the same tickets. Applying them again must change nothing
/// (train/replicated/sync_replicas.hpp).

namespace tenon {

struct step_ledger_description {
    std::int64_t aggregate = 0; ///< gradients that a step averages; 0: one of each replica that takes part
    std::int64_t total = 1;     ///< replicas are numbered from 0, and are fewer
    std::string parts;          ///< what is trained, in lines, the same for all replicas

    friend bool operator==(const step_ledger_description&, const step_ledger_description&) = default;
};
/// Why two replicas do not train the same, in words: "aggregate 2 gradients a step, and 3".
std::string difference(const step_ledger_description& one, const step_ledger_description& other);

/// A gradient that is being computed.
struct replica_turn {
    std::int64_t replica = 0;
    std::int64_t ticket = 0;
    std::int64_t step = 0; ///< of its replica's last token; -1: it is not known how old its variables are
};

/// Something that a replica waits for: its caller's, who keeps it where it is until it is completed, or stopped.
class ledger_attempt {
public:
    std::int64_t step = 0;             ///< of the token; or to be applied
    bool counted = false;              ///< whether the replica's last gradient was in a step
    std::vector<std::int64_t> tickets; ///< to be applied, by replica

protected:
    ledger_attempt() = default;
    ~ledger_attempt() = default;
    ledger_attempt(ledger_attempt&&) = delete;
    /// Called once for each attempt that was not stopped, on any thread, and not under a lock of the ledger.
    virtual void completed(std::exception_ptr failure) noexcept = 0;

private:
    friend class step_ledger;
    enum class kind { token, apply, pause, attend };
    kind what_ = kind::token;
    std::int64_t replica_ = 0, process_ = 0;
    bool waits_ = false;
    detail::list_links<ledger_attempt> links_; // of those that wait, or are done
    std::exception_ptr failure_;
};

/// Thread-safe. Each replica names its process by a number, so that a second one under its number is told from it: the newer
/// one is the replica, and the older one's calls are aborted_error.
class step_ledger final : public resource {
public:
    static constexpr const char* kind = "step_ledger";

    /// invalid_argument_error, naming it, where the description makes no sense. Its texts count as this thread's payer's, as long as
    /// it lives; resource_exhausted_error where there is no room for them.
    step_ledger(std::string name, step_ledger_description d);
    ~step_ledger() override;
    step_ledger(step_ledger&&) = delete;
    const step_ledger_description& description() const noexcept { return description_; }

    // These throw invalid_argument_error where there is no such replica or step (step_number.hpp), aborted_error where it is
    // another process now. `known`: a step that has begun.

    /// The replica takes part; it computes nothing of variables that it has read before.
    void join(std::int64_t replica, std::int64_t process, std::int64_t known);
    /// Completed at once. One that has joined takes part until abandon(), and from then on no more; else until it leaves.
    void attend(ledger_attempt& a, std::int64_t replica, std::int64_t process);
    /// The ticket of the gradient that it computes now; its earlier ones are void.
    replica_turn begin(std::int64_t replica, std::int64_t process, std::int64_t known);
    /// All of it is deposited. Dropped where the step is over, or its replica has begun another.
    void commit(const replica_turn& turn);
    /// The token, of a later step than the replica's last one, once there is one.
    void await(ledger_attempt& a, std::int64_t replica, std::int64_t process);
    /// Enough tickets of a step, when nobody else applies one. Until advance(), or until abandon().
    void apply(ledger_attempt& a, std::int64_t replica, std::int64_t process, std::int64_t known);
    /// Nobody applies from when it is completed, which is between two steps, until abandon().
    void pause(ledger_attempt& a);
    /// Takes back what waits. False where it was completed, or is just being.
    bool stop(ledger_attempt& a) noexcept;
    /// Who was to apply a step has failed to, and the next one is to; the pause is over; or who attended is gone.
    void abandon(ledger_attempt& a) noexcept;
    /// Steps before this one are over: tokens for it are given. invalid_argument_error where there is no such step.
    void advance(std::int64_t step);
    /// Does not take part any more, nor waits to apply; a step that it applies it ends. Where there is a reason it fails with that when it waits. One that has finished will not come
    /// again: where too few are left for a step, those fail that wait for it, with end_of_data_error.
    void leave(std::int64_t replica, std::int64_t process, const std::string& reason = {}, bool finished = false);
    /// All tickets are void, as after a loss of variables: replicas go on with new ones. `step`: where there is one, which is taken
    /// next, a later one or an earlier one, as when variables are restored; -1: there is none.
    void discard(std::int64_t step = -1);

    struct standing {
        std::int64_t step = 0;
        std::int64_t present = 0; ///< replicas that take part
        std::int64_t counted = 0; ///< gradients that were in steps
        std::int64_t dropped = 0; ///< that were not: stale, or left by their replicas
    };
    standing state() const;
    /// The last of these by replica, `total` of them.
    std::vector<std::int64_t> dropped() const;
    /// What an attempt waits for, in words.
    std::string awaited(const ledger_attempt& a) const;
    void forgotten() noexcept override;
    void describe(resource_info& to) const override;

private:
    struct book;
    const std::string name_;
    const step_ledger_description description_;
    memory_charge of_texts_;
    std::unique_ptr<book> book_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/resources/step_ledger.ipp>
#endif
