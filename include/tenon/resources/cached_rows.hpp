#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/resources/resources.hpp>

/// Rows of a table that lies elsewhere, kept where they are used: what the ops of row_cache (ops/state/row_cache.hpp) use. It knows
/// nothing of graphs, and does not read the table itself: it says which rows it lacks, and is given them.

namespace tenon {

struct cached_rows_description {
    tensor_type table;
    std::int64_t capacity = 0;  ///< rows that are kept at most
    std::int64_t staleness = 0; ///< steps for which a row is used after the one in which it was read
    double write_through = 0;   ///< the learning rate by which own gradients change what is kept; 0: it is forgotten
    friend bool operator==(const cached_rows_description&, const cached_rows_description&) = default;
};

struct cached_rows_counts {
    std::int64_t hits = 0;    ///< rows that were used from it
    std::int64_t misses = 0;  ///< rows that were asked for since they were not there
    std::int64_t stale = 0;   ///< rows that were asked for since what was there was too old
    std::int64_t evicted = 0; ///< rows that had to go for others
    std::int64_t held = 0;    ///< rows that are there
    std::int64_t saved = 0;   ///< bytes of rows that a gather would have had come, and that did not
};

/// Thread-safe. Its clock counts steps: a new one begins when another step looks up rows than did last. Of steps at once it counts
/// too many rather than too few, so that no row is used longer than it may be.
class cached_rows final : public resource {
public:
    static constexpr const char* kind = "row_cache";
    cached_rows(std::string name, cached_rows_description d);
    void describe(resource_info& to) const override;
    const cached_rows_description& description() const noexcept { return is_; }

    /// What is known of rows that were looked up, and when that was.
    struct found {
        std::vector<std::int64_t> missing; ///< each once, in the order in which they were asked for
        std::vector<std::int64_t> from;    ///< for each index which of the missing ones it is; -1: none
        std::int64_t time = 0;             ///< of the clock
        std::int64_t changes = 0;          ///< own changes until then
    };
    /// Writes each row that may be used to its place, `rows` having one for each; the others' places are left as they are. `step`:
    /// its number, not 0.
    found find(std::uint64_t step, const std::vector<std::int64_t>& indices, std::byte* rows);
    /// What was missing and was read after find(), which gave `time` and `changes`, is kept, but where own changes came in between. Those used least recently
    /// go. Throws what the memory for them throws.
    void keep(const std::int64_t* missing, std::int64_t count, std::int64_t time, std::int64_t changes,
              const std::byte* rows);
    /// This process has a gradient for these rows: what is kept is changed by it, or forgotten.
    void change(const std::vector<std::int64_t>& indices, const void* gradient);
    /// Forgets all rows.
    void clear();
    cached_rows_counts counts() const;

private:
    struct slot {
        std::int64_t row = 0, read = 0;       // at which time of the clock
        std::int64_t before = -1, after = -1; // in the order of use
    };
    std::byte* bytes_of(std::int64_t at) noexcept;
    void take_out(std::int64_t at) noexcept;  // of the order of use
    void put_first(std::int64_t at) noexcept; // there
    std::int64_t make_room();

    const std::string name_;
    const cached_rows_description is_;
    std::int64_t row_elements_ = 1, chunk_rows_ = 1;
    std::size_t row_bytes_ = 0;
    mutable std::mutex guard_;      // of what follows
    std::vector<any_array> chunks_; // rows, chunk_rows_ each
    std::vector<slot> slots_;
    std::vector<std::int64_t> free_;
    std::unordered_map<std::int64_t, std::int64_t> slot_of_; // by row
    std::int64_t first_ = -1, last_ = -1;                    // in the order of use
    std::uint64_t step_ = 0;                                 // that looked up rows last
    std::int64_t time_ = 0, changes_ = 0;
    cached_rows_counts counts_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/resources/cached_rows.ipp>
#endif
