#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include <tenon/resources/collective/collective_group.hpp>

/// Collectives by MPI's own.

namespace tenon::mpi {

/// Each collective is done in two parts: first all are told what each means by it, in words of one size (from each to each, among many
/// by MPI_Iallgather), with which small values go, that everybody adds up; then MPI_Iallreduce, MPI_Iallgatherv or MPI_Ibcast of what
/// is large. So whoever means something else is found before MPI takes one value for another.
///
/// Who begins one tries for 20 microseconds to see it through; what takes longer a thread of the group's does, which asks MPI and sleeps
/// in between, longer and longer, and waits where nothing is under way. Beside that, processes send each other words on a communicator
/// of their own: that they have failed or left, and, where something takes long, how far they are. MPI is called by one thread at a time.
class group final : public collective_group {
public:
    explicit group(const std::string& name);
    ~group() override;
    std::string member(int rank) const override { return members_[static_cast<std::size_t>(rank)]; }
    /// Waits for the others to leave, too, so many seconds at most.
    void leave(double seconds) noexcept;

private:
    using clock = std::chrono::steady_clock;
    enum class phase { telling, sharing };
    struct word; // what a process means by a collective
    struct running {
        std::uint64_t number = 0;
        collective_signature what;
        double weight = 1;
        any_array own, out;
        bool narrows = false; // `out` is of floats, and rounded in the end
        phase now = phase::telling;
        std::vector<char> said, heard; // words
        std::vector<MPI_Request> requests;
        std::vector<int> counts, places; // of what is gathered
        clock::time_point since{};
    };
    struct note { // between processes
        int kind = 0;
        int code = 0, reason = 0;
        std::uint64_t number = 0;
        char text[1000] = {};
    };
    struct result {
        std::uint64_t number;
        any_array value;
    };
    struct failed {
        error_code code;
        std::string why;
        error_reason reason;
        bool tells;
    };

    void issue(std::uint64_t sequence, const collective_signature& what, double weight, any_array value) override;
    void end(error_code code, const std::string& why, error_reason reason, bool tells) noexcept override;
    std::string missing(std::uint64_t sequence) const override;

    void serve();
    bool advance(clock::time_point now); // whether something has moved
    // All under mpi_guard_:
    bool advance_locked(clock::time_point now, std::vector<result>& done, std::vector<failed>& ends);
    void begin_words(running& r, clock::time_point now);
    void compare_words(running& r, std::vector<result>& done);
    void begin_values(running& r, const std::vector<const word*>& words);
    const word& word_of(const running& r, int rank) const;
    static std::vector<double> factors_of(const running& r, const std::vector<const word*>& words);
    void read_notes(std::vector<failed>& ends);
    void look_for_lost(clock::time_point now, std::vector<failed>& ends);
    void tell(int to, const note& n);
    void tell_all(const note& n);
    void abandon() noexcept;
    void drop(std::list<running>& all) noexcept;

    std::vector<std::string> members_;
    MPI_Comm words_{}, values_{}, notes_{}; // each with an order of its own
    std::size_t inline_bytes_ = 0;

    std::atomic<std::int64_t> open_{0}; // how many are arriving, waiting or under way; it grows under guard_

    std::mutex mpi_guard_;         // of calls of MPI, and of what follows
    std::list<running> waiting_;   // whose number has not come
    std::list<running> under_way_; // in the order of their numbers
    std::uint64_t next_ = 1;
    struct sent_note {
        std::unique_ptr<note> kept;
        MPI_Request request;
    };
    std::list<sent_note> sent_;
    clock::time_point asked_{}, looks_again_{};
    std::vector<int> unanswered_;        // by rank: how often it was asked how far it is, since it was last heard of
    std::vector<std::uint64_t> last_of_; // by rank, where it has left: the last that it has come to

    mutable std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::list<running> arriving_, spare_;
    bool over_ = false, dead_ = false, leaving_ = false;
    std::vector<std::uint64_t> come_; // by rank: the last number that it is known to have come to
    std::vector<bool> left_;
    std::vector<clock::time_point> heard_; // by rank
    std::uint64_t issued_ = 0;
    std::thread thread_;
};

} // namespace tenon::mpi
