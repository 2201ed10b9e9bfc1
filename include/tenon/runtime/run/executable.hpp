#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/resources/held_variables.hpp>
#include <tenon/runtime/plan/schedule.hpp>
#include <tenon/runtime/run/recording_counts.hpp>
#include <tenon/runtime/trace/cost_measurements.hpp>
#include <tenon/runtime/trace/trace.hpp>

/// What steps of a segment have in common.

namespace tenon::runtime {

/// What an executable will do and take.
struct plan_summary {
    int operations = 0;
    int folded = 0;
    int fused = 0;
    int transfers = 0;
    std::vector<device_layout> devices; ///< what it takes of each
    std::size_t arena_bytes = 0;        ///< of values between nodes, on all devices
    std::size_t lower_bound = 0;        ///< the largest set of them that lives at one time
    std::size_t fetched_bytes = 0;      ///< of what is handed out
    std::size_t constant_bytes = 0;     ///< of constants that devices keep copies of
    std::size_t prepared_bytes = 0;     ///< that kernels hold
    double cost = 0;                    ///< on one thread, in nanoseconds, estimated

    /// Adds what another one does and takes, but for its devices and its lower bound.
    void add(const plan_summary& other) {
        operations += other.operations;
        folded += other.folded;
        fused += other.fused;
        transfers += other.transfers;
        arena_bytes += other.arena_bytes;
        fetched_bytes += other.fetched_bytes;
        constant_bytes += other.constant_bytes;
        prepared_bytes += other.prepared_bytes;
        cost += other.cost;
    }
    std::size_t peak_bytes() const {
        std::size_t sum = 0;
        for (const device_layout& d : devices) sum += d.bytes();
        return sum;
    }
};

/// Who waits for whom in a run whose nodes are not done one after another: the operations, by position in the order, and perhaps one more
/// node that stands for all those of streams.
struct run_graph {
    std::vector<int> before; ///< by node: edges that lead to it within its phase; -1: it is no node of this graph
    edges ended, given;      ///< by node: those that wait for its end; for its having been given to its stream
    int on_host = 0;         ///< nodes that are no operations of streams

    /// Counts the edges between these.
    void count(std::size_t first, std::size_t last);
};

/// Kernels in order, with every pointer known but those of feeds, fetches and variables, and what waits for what. It does not change: all
/// steps read it at the same time.
class executable {
public:
    // Which memory of a variable: that of the value that the step reads, of the one that its updates begin with, or where they
    // write.
    enum class memory_of { before, current, after };
    struct operation {
        const node* origin;
        tenon::kernel* kernel;
        double cost = 0;
        int device = 0;
        worker by{};           // what does it
        bool copies = false;   // from device to device
        std::size_t bytes = 0; // that it copies
        std::string timed{};   // timed_as(), where it is measured
        int updates = -1;      // the variable that it updates
        bool writes = false;   // into a variable: it is not stopped half way
        number_list changes{}; // the variables into which: also of one whose result is to become a variable's value
        std::vector<int> fetches{}; // that are whole when it has ended
        // On a stream:
        int line = -1;              // its stream, among those that are used
        bool awaited = false;       // others wait for its event
        bool calls_host = false;    // and the host is among them
        bool ends_line = false;     // the last of its stream, whose end nothing else tells
        std::vector<int> waits{};   // operations on other streams whose events its stream waits for
        std::vector<int> checked{}; // operations that may have refused, of which the host learns by this one's event
    };
    // What has to be done before a range of the order is: holding variables may wait.
    enum class gate : std::uint8_t {
        none,
        read,             // takes hold of the values that are read
        rows_end,         // gives up those of which rows were read
        updates,          // locks what is updated
        read_and_updates, // both, at one moment
        check,            // what would fail between the first update and the last, of what is known then
        commit,           // the same; from here on nothing stops the step
        written,          // all updates are the variables' values
    };
    struct phase {
        gate before;
        std::size_t first, last;
    };
    // The part of a recorded copy that is in the host's memory: a place in the frame's staged bytes is copied in its stead, from which or to
    // which the host copies itself.
    struct staged_copy {
        std::size_t operation, slot, bytes, offset;
    };
    // Where a step gives its streams, of however many devices, all they do at once, as one node of a graph: then it can be recorded.
    struct streams_work {
        // A range of the operations on streams: one recording; or sums over devices that are not recorded, which come after what is before.
        struct part {
            std::size_t first, last;
            bool is_recorded;
            std::vector<int> sums; // of a recording: the last of each stream's that it comes after
        };
        std::vector<part> parts;
        std::vector<char> given; // by operation: it is one of those sums
        run_graph graph;
        std::vector<int> devices;      // whose streams they are, that of the first kernel first
        std::vector<int> told;         // operations whose kernels tell their device something
        std::vector<int> not_recorded; // operations whose kernels may not be, when the executable is
        std::vector<int> updates;      // variables
        std::vector<staged_copy> in, out;
        std::vector<std::pair<std::size_t, memory_of>> pointers; // of variables, that kernels and copies are given
        std::size_t staged_bytes = 0;
        mutable recording_counters recordings{}; // of all frames
    };
    struct variable_pointer {
        std::size_t variable;
        memory_of which;
        std::size_t slot;
        bool is_output;
    };
    struct loan {
        std::size_t fetch, variable;
        std::shared_ptr<variable_resource> lender; // and what its memory needs
        int shares = -1;                           // the fetch of an earlier one of the same variable
    };
    struct patch {
        std::size_t slot;
        int index; // of the feed or fetch
    };

    executable(program&& placed, const plan_options& o);
    executable(executable&&) = delete;

    std::size_t size() const noexcept { return operations.size(); }
    const operation& op(int s) const { return operations[static_cast<std::size_t>(s)]; }
    const program_item& item(std::size_t s) const { return whole.item(scheduled.order[s]); }
    device& device_at(int d) const { return *devices[static_cast<std::size_t>(d)]; }
    device_streams& streams_of(const worker& w) const { return *device_at(w.device).streams(); }
    bool has_streams() const noexcept { return !streams.empty(); }
    const std::vector<row_run>& row_runs() const noexcept { return scheduled.row_runs; }
    /// The first that begins at operation s or later.
    std::vector<row_run>::const_iterator first_row_run(std::size_t s) const {
        return std::lower_bound(row_runs().begin(), row_runs().end(), s,
                                [](const row_run& r, std::size_t at) { return r.first < at; });
    }
    /// Whether a thread is worth waking for it.
    bool is_cheap(int node) const {
        constexpr double worth_a_task = 2e4; // ns: about what waking a thread costs
        return node == static_cast<int>(size()) || op(node).cost < worth_a_task;
    }
    bool accepts(const any_array* const* feeds) const;
    /// Where a value lies in every run; nullptr: elsewhere in each.
    const void* fixed_address(int value) const;
    std::string largest_holders(std::size_t device) const;

    // What is said of an operation.
    std::string op_of(std::size_t s) const;
    std::string row_of(std::size_t s, trace& t) const;
    std::string awaited_in(std::size_t s) const;
    [[noreturn]] void rethrow_with_place(const std::exception_ptr& what, std::size_t s) const;

    std::vector<tenon::device*> devices;
    program whole;
    runtime::scheduled scheduled;
    std::vector<operation> operations;
    std::vector<std::size_t> in_begin, out_begin; // first slot of each operation
    std::vector<bool> wanted;                     // by slot of an output
    std::vector<tensor_type> feed_types, fetch_types;
    std::vector<patch> feed_in, fetch_in, fetch_out;
    std::vector<loan> loans;                         // fetches that are variables as they lie
    std::vector<bool> lent;                          // by fetch
    std::vector<variable_use> variables;             // by address
    std::vector<variable_pointer> pointers;          // by which and variable
    std::array<std::vector<std::size_t>, 3> pointed; // by which: the first pointer of each variable, and the end
    std::vector<phase> phases;
    bool updates = false;                   // variables
    std::vector<std::size_t> needed_values; // where it updates: operations that need a variable to have a value
    std::vector<std::size_t> checked_first; // operations that may refuse to update, and are asked before that
    std::vector<std::size_t> value_checked; // other updates: only whether their variable has a value is known
    std::vector<int> sources;               // feeds and constants that are read, where they are checked
    bool check_numerics = false, measured = false;
    std::uint64_t epoch = 0;
    int side_by_side = 1;        // nodes that may run at the same time
    run_graph graph;             // where they do, or there are streams
    std::vector<worker> streams; // that the step uses
    std::vector<int> on_streams; // operations
    std::vector<int> may_refuse; // of those
    std::unique_ptr<const streams_work>
        at_once;                          // nullptr: streams are given some before the host has seen the end of others
    std::vector<device_memory> constants; // by device: copies of what the host holds
    plan_summary summary;
    double own_cost = 0; // of what threads of this process do, in nanoseconds

private:
    void make_operations(const plan_options& o);
    void find_sources();
    void find_variables(const std::vector<const variable_resource*>& apart);
    void find_pointers();
    void find_phases(std::size_t begin, std::size_t end, std::size_t end_rows, bool reads, bool reads_rows);
    std::size_t find_first_write(std::size_t begin, std::size_t end);
    void find_loans(const plan_options& o);
    void sum_up();
    void require_fit(const plan_options& o) const;
    void upload_constants();
    // Of plans with streams:
    void find_lines();
    std::vector<const variable_resource*> find_apart() const;
    void find_waits(const std::vector<const variable_resource*>& apart);
    bool may_be_at_once() const;
    std::unique_ptr<streams_work> plan_at_once() const;
    void find_parts(streams_work& all) const;
    void find_recorded_pointers(streams_work& all) const;
};

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/run/executable.ipp>
#endif
