#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <net/wire/calls.hpp>
#include <tenon/core/error.hpp>
#include <tenon/resources/collective/collective_group.hpp>

/// Collectives by messages between the processes of a group, whatever carries these.

namespace tenon::net {

/// What comes before this process has come itself: a faulty peer could send it for ever.
inline constexpr std::size_t most_early_bytes = std::size_t{64} << 20;

/// To the other members of a group. Thread-safe; nothing blocks, but flush().
class collective_channel {
public:
    virtual ~collective_channel() = default;
    // Arrive once and whole; small ones may overtake large ones. Throw what ends the group.
    virtual void send(int to, const collective_here& m) = 0;
    virtual void send(int to, const collective_part& m) = 0;
    virtual void send(int to, const collective_end& m) = 0;
    virtual std::string member(int rank) const = 0;
    /// Waits until all that was sent has arrived, so many seconds at most.
    virtual void flush(double seconds) noexcept = 0;
};

/// Each says to each that it has come to a collective, and what it means by it; a small value goes with that, and everybody adds all of
/// them up. Of a large one each process adds up a part: others send it theirs as soon as it has come, in pieces, and are sent the
/// result of each piece at once. So a process sends and receives 2 (n - 1) / n of the bytes, the least that is possible, as in a ring;
/// but sums are taken in the order of ranks, nothing waits for a neighbour's neighbour, and it is known who has not come. Values that
/// are gathered or broadcast go straight from who has them to where they belong.
///
/// Sums are computed by the thread that brings the last piece they need. Thread-safe.
class exchange_group final : public collective_group {
public:
    /// `number` stands for the group in messages.
    exchange_group(std::string name, int rank, int size, std::uint64_t number,
                   std::unique_ptr<collective_channel> channel);
    ~exchange_group() override;

    std::string member(int rank) const override { return channel_->member(rank); }

    // What comes from another member. What is wrong with it ends the group.
    void came(int from, collective_here&& m) noexcept;
    void came(int from, collective_part&& m) noexcept;
    void came(int from, const collective_end& m) noexcept;
    /// Memory for the value of a part, where it is known to belong somewhere; or none.
    any_array place(int from, const collective_part& head, const tensor_type& type);
    /// A member is lost: all ends with an unavailable_error, but what it has seen through before it left.
    void lost(int rank, const std::string& why) noexcept;
    /// Takes no part any more. Waits until the others leave, too, or so many seconds: what they still need of this process goes to
    /// them meanwhile. Not on a thread that brings messages.
    void leave(double seconds) noexcept;

    /// Values of so many bytes go with the word that a process has come.
    static constexpr std::int64_t small_bytes = 16 << 10;
    static constexpr std::int64_t piece_bytes = 512 << 10;

    /// What it holds, for tests.
    std::size_t under_way() const;

private:
    // The elements [begin, end) that one process adds up, or has.
    struct region {
        std::int64_t begin = 0, end = 0;
        std::uint32_t pieces = 0;
    };
    struct own_piece {
        std::vector<any_array> from; // by rank
        int came = 0;
        bool summed = false;
    };
    struct running {
        bool begun = false, laid_out = false, finished = false;
        collective_signature what;
        double weight = 1;
        any_array own, out; // lists
        tensor_type result;
        std::vector<std::optional<collective_here>> here; // by rank
        int came = 0;
        std::int64_t piece_elements = 1;
        std::vector<region> regions;            // by rank
        std::vector<own_piece> pieces;          // of this process's region
        std::vector<std::vector<bool>> arrived; // by rank and piece: results
        std::int64_t left = 0;                  // results that are not there
        std::vector<bool> sent;                 // by rank: what it adds up, or what this process has
        std::vector<std::pair<int, collective_part>> early;
    };
    struct todo;
    using locked = std::unique_lock<std::mutex>;

    void issue(std::uint64_t sequence, const collective_signature& what, double weight, any_array value) override;
    void end(error_code code, const std::string& why, error_reason reason, bool tells) noexcept override;
    std::string missing(std::uint64_t sequence) const override;

    template <class F> void guarded(F&& f) noexcept {
        try {
            f();
        } catch (const error& e) {
            (void)fail(e.code(), e.what(), e.reason(), true);
        } catch (const std::exception& e) {
            (void)fail(error_code::resource_exhausted, e.what(), error_reason::none, true);
        }
    }
    running& at(std::uint64_t number);
    void compare(const running& r, std::uint64_t number, int other) const;
    void progress(std::uint64_t number, running& r, todo& then);
    void lay_out(running& r);
    void take(running& r, int from, collective_part&& m);
    void add_ready(std::uint64_t number, running& r, todo& then) const;
    void work(todo& then);
    void add_small(std::uint64_t number, running& r, todo& then) const;
    bool sums(const running& r) const noexcept;
    std::vector<double> factors(const running& r) const;
    bool is_small(const running& r) const noexcept;
    bool waits_for(const running& r, int rank) const;

    const std::uint64_t group_;
    const std::unique_ptr<collective_channel> channel_;
    mutable std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::map<std::uint64_t, running> running_;
    std::size_t early_bytes_ = 0;                    // of what has come before this process has
    std::uint64_t last_ = 0;                         // the last number that this process has come to
    std::vector<std::optional<std::uint64_t>> left_; // by rank: where it has left
    bool gone_ = false;                              // this process has
};

} // namespace tenon::net
