#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/concurrency/stop_source.hpp>
#include <tenon/data/steps/rows.hpp>
#include <tenon/io/stream/element_stream.hpp>

/// What data sets are made of, under their types (data_set.hpp): steps, each over those before it, and what goes through them.

namespace tenon {

class trace;

/// For a parallelism or a number of elements: settled while it runs, by what is measured.
inline constexpr int autotune = -1;

/// How a data set is gone through. Nothing here changes what comes, or its order.
struct data_options {
    /// Threads that one parallel step may have at most; 0: as many as there are cores.
    int threads = 0;
    /// Bytes that the elements in all its buffers whose size is tuned may take.
    std::size_t memory = std::size_t{256} << 20;
    /// A saved state is refused where the file that it goes on in has another size, another time of its last change, or where other bytes
    /// stand before its place. True: the time does not count, as of a copy.
    bool copied_files = false;
    /// While it is set, every step's work is entered, in a row of its own; it outlives who goes through. Beside a session's
    /// (session::set_trace) it shows both.
    tenon::trace* trace = nullptr;
};

/// What a step of a data set has done so far.
struct data_step_report {
    std::string step;           ///< "map", "batch(32)"
    int depth = 0;              ///< 0: the last step; those it takes elements from are one deeper
    std::uint64_t elements = 0; ///< that it gave
    double work = 0;         ///< seconds an element that it computed itself, on one thread, without the steps before it
    double waited = 0;       ///< seconds an element that who takes them waited for it
    int parallelism = 1;     ///< threads that it has now
    double fullness = -1;    ///< of its buffer, when an element was taken: 0 .. 1; -1: it has none
    std::int64_t buffer = 0; ///< elements that its buffer may hold now
    std::uint64_t left_out = 0; ///< damaged records, and elements that could not be made, where that was asked for
};
/// Of all steps, the last one first.
struct data_report {
    std::vector<data_step_report> steps;
    double waited = 0;    ///< seconds that who goes through it has waited for elements
    double elsewhere = 0; ///< seconds that passed between them
    /// Which step holds back who goes through it; empty: none does, elements are there when they are asked for.
    std::string holding_back() const;
    std::string to_text() const;
};

namespace detail {

using data_element = std::vector<any_array>;

/// What is measured of a step, in all its streams of one going through. Thread-safe.
struct step_meter {
    std::string step;
    const void* node = nullptr;
    int depth = 0;
    std::atomic<std::uint64_t> elements{0};
    std::atomic<std::int64_t> inclusive{0}; // nanoseconds in next(), those of the steps before it included
    std::atomic<std::int64_t> work{0};      // nanoseconds of its function, where other threads run it
    std::atomic<std::uint64_t> worked{0};   // elements that these are of
    std::atomic<bool> is_parallel{false};   // its steps before it run on other threads
    std::atomic<int> parallelism{1};
    std::atomic<std::int64_t> buffer{0};
    std::atomic<std::uint64_t> left_out{0};
    std::atomic<std::uint64_t> fill_samples{0}, fill_sum{0}, capacity_sum{0};
};

class data_node;

/// In place of a number of elements.
inline constexpr std::int64_t size_unknown = -1, endless = -2;

/// One going through a data set: what its streams share. Outlives them. Thread-safe.
class pipeline {
public:
    /// `epoch`: counts of epochs begin there, where it is for what another step made anew in each of its own.
    pipeline(const data_node& root, const data_options& o, std::uint64_t epoch = 0);
    ~pipeline();
    pipeline(pipeline&&) = delete;

    const data_options& options() const noexcept { return options_; }
    /// Threads that a parallel step may have.
    int threads() const noexcept { return threads_; }
    step_meter& meter(const data_node& of);
    /// How often this step was opened before.
    std::uint64_t next_epoch(const data_node& of);
    std::uint64_t epoch(const data_node& of) const;
    /// It is to be opened next as the one of this number.
    void set_epoch(const data_node& of, std::uint64_t next);
    /// Takes memory for a tuned buffer where there is some left.
    bool take_memory(std::size_t bytes) noexcept;
    void give_memory(std::size_t bytes) noexcept { held_.fetch_sub(bytes, std::memory_order_relaxed); }
    /// Work of a step, into the trace where there is one.
    void note(const step_meter& m, std::int64_t begin, std::int64_t end);
    /// Time that who takes its elements spends between them.
    void note_elsewhere(std::int64_t ns) noexcept { elsewhere_.fetch_add(ns, std::memory_order_relaxed); }
    data_report report() const;

private:
    struct state;
    const data_options options_;
    int threads_;
    const std::uint64_t first_epoch_;
    std::atomic<std::size_t> held_{0};
    std::atomic<std::int64_t> elsewhere_{0};
    std::unique_ptr<state> state_;
};

/// out_of_range_error: there are only so many.
[[noreturn]] void throw_no_element(std::int64_t i, std::int64_t size);

/// A step of a data set: elements, and what they are made of. Immutable.
class data_node : public element_source, public std::enable_shared_from_this<data_node> {
public:
    using pointer = std::shared_ptr<const data_node>;

    data_node(std::string step, std::vector<tensor_type> types, std::vector<pointer> inputs = {}) :
        step_(std::move(step)), types_(std::move(types)), inputs_(std::move(inputs)) {}

    const std::string& step() const noexcept { return step_; }
    const std::vector<pointer>& inputs() const noexcept { return inputs_; }
    const data_node& input(std::size_t i = 0) const noexcept { return *inputs_[i]; }

    /// A stream of its own, without meter: open_step() is what steps call.
    virtual std::unique_ptr<element_stream> make(pipeline& p) const = 0;
    /// Where its elements are rows of arrays in memory, in some order: the arrays, and that order. Else nullptr.
    virtual const data_rows* rows() const { return nullptr; }
    virtual std::unique_ptr<index_stream> make_indices(pipeline&) const { return nullptr; }
    /// Whether that order is the one in which they lie, from the first to the last.
    virtual bool gives_rows_as_they_lie() const { return false; }
    /// Where it can put elements together while it makes them: batches of n, without meter. Else nullptr.
    virtual std::unique_ptr<element_stream> make_batches(pipeline&, std::int64_t /*n*/, bool /*drop_remainder*/) const {
        return nullptr;
    }
    /// How many elements it gives, size_unknown or endless.
    virtual std::int64_t size() const { return size_unknown; }
    /// Why its elements cannot be had by their numbers, in words that begin with the step's name; empty: at() gives them.
    virtual std::string no_access() const;
    /// Element i, from 0 on and less than size(), of those that come when it is gone through for the time `epoch`, the first one being 0: memory
    /// of its own. Any thread, as far as the functions of the user that it calls can be called from any.
    virtual void at(std::int64_t i, std::uint64_t epoch, data_element& x) const;
    /// Where its elements are `each` rows along dimension 0, of which there are `all`, the last element perhaps of fewer. each is 0 where nobody
    /// knows; `all` as size().
    struct row_count {
        std::int64_t each = 0, all = size_unknown;
    };
    virtual row_count count_rows() const;
    /// Whether this step gives others each time that it is gone through, or another order.
    virtual bool changes() const { return false; }
    /// The same of all steps up to this one.
    virtual bool differs_by_epoch() const;
    /// Whether a step up to this one goes through what is before it several times.
    virtual bool has_rounds() const;
    /// Has the steps up to this one begin with this epoch, but for those of which elements are kept from one going through to the next.
    virtual void begin_with(std::uint64_t epoch, pipeline& p) const;

    const std::vector<tensor_type>& components() const final { return types_; }
    std::unique_ptr<element_stream> open() const final { return open(data_options{}); }
    /// `kept`: for who wants to ask for the report.
    std::unique_ptr<element_stream> open(const data_options& o, std::shared_ptr<pipeline>* kept = nullptr,
                                         std::uint64_t epoch = 0) const;
    /// The epoch of that number, from 0: what a repeat() behind gives in that round. Where there are rounds in it, none is one of another epoch's.
    std::unique_ptr<element_stream> open_epoch(const data_options& o, std::shared_ptr<pipeline>* kept,
                                               std::uint64_t number) const;
    bool may_wait() const override {
        for (const pointer& i : inputs_)
            if (i->may_wait()) return true;
        return false;
    }

private:
    std::string step_;
    std::vector<tensor_type> types_;
    std::vector<pointer> inputs_;
};

/// The stream of a step, measured.
std::unique_ptr<element_stream> open_step(const data_node& n, pipeline& p);
/// The same for a stream with threads of its own: reads that wait are stopped with it.
std::unique_ptr<element_stream> open_step(const data_node& n, pipeline& p, stop_source& with);
std::unique_ptr<index_stream> open_indices(const data_node& n, pipeline& p);
/// Either, for steps that only choose and order.
template <class Stream> std::unique_ptr<Stream> open_as(const data_node& n, pipeline& p) {
    if constexpr (std::is_same_v<Stream, index_stream>) return open_indices(n, p);
    else return open_step(n, p);
}

/// How often the steps up to n were opened: part of the state of a step that will open them anew.
void save_epochs(state_writer& to, const data_node& n, const pipeline& p);
void restore_epochs(state_reader& from, const data_node& n, pipeline& p);

/// "batch(32)".
inline std::string step_name(const std::string& step, std::int64_t n) { return step + "(" + std::to_string(n) + ")"; }

std::size_t bytes_of(const data_element& x) noexcept;

/// Nanoseconds of the steady clock.
std::int64_t now_ns() noexcept;

} // namespace detail
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/data/steps/pipeline.ipp>
#endif
