#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/io/records/records.hpp>
#include <tenon/io/stream/element_stream.hpp>
#include <tenon/io/stream/stacked.hpp>

/// Elements that are rows of arrays in memory.

namespace tenon::detail {

/// A file that an array was read from. Thread-safe.
class row_file {
public:
    /// `is`: its size and time. `rows` are not written to.
    row_file(std::string path, const file_mark& is, any_array rows) :
        path_(std::move(path)), rows_(std::move(rows)), mark_(is) {}
    const std::string& path() const noexcept { return path_; }
    std::uint64_t bytes() const { return rows_.bytes(); }
    /// The checksum is of the sizes and all elements, as they are in memory: rows come in any order. It is computed when it is asked for
    /// first, once, which takes less time than reading the file did.
    const file_mark& mark() const;

private:
    const std::string path_;
    const any_array rows_;
    mutable std::once_flag summed_;
    mutable file_mark mark_;
};

/// Arrays that share dimension 0, and the files that they were read from, where they were.
struct data_rows {
    std::vector<any_array> arrays;
    std::vector<std::shared_ptr<const row_file>> files;
};

/// Places in arrays that share dimension 0: elements that have not been looked at yet.
class index_stream {
public:
    using item = std::int64_t;
    index_stream() = default;
    index_stream(index_stream&&) = delete;
    virtual ~index_stream() = default;
    virtual bool next(std::int64_t& index) = 0;
    virtual void save(state_writer& to) = 0;
    virtual void restore(state_reader& from) = 0;
};

/// The places of rows that are looked at: a state says what files they are in.
class row_places {
public:
    /// `copied`: the files may have been written to at another time.
    row_places(const data_rows& rows, std::unique_ptr<index_stream> places, bool copied) :
        rows_(rows), places_(std::move(places)), copied_(copied) {}
    bool next(std::int64_t& index) {
        begun_ = true;
        return places_->next(index);
    }
    void save(state_writer& to) const;
    /// data_loss_error where the files are not those that they were.
    void restore(state_reader& from);

private:
    const data_rows& rows_;
    const std::unique_ptr<index_stream> places_;
    const bool copied_;
    bool begun_ = false; // before, there is nothing to hold the files against
};

/// Row i, in memory of its own; that of what is in x is used again where nobody else has it.
void take_row(const data_rows& rows, std::int64_t i, std::vector<any_array>& x);

/// Rows order[0] .. order[count-1] of `from` to the first rows of `to`.
void gather_rows(const any_array& from, const std::int64_t* order, std::int64_t count, any_array& to);

/// Rows that a batch has room for at first; where more come, it has twice as many.
inline constexpr std::int64_t rows_at_first = 64;

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/rows.ipp>
#endif
