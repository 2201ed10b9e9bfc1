#pragma once

#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <string>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/intrusive_list.hpp>
#include <tenon/io/files/file_access.hpp>
#include <tenon/io/records/records.hpp>
#include <tenon/resources/queue.hpp>

/// Readers (SEMANTICS 35): records of files whose names come from a queue, one after another. Nothing here waits: who finds no
/// file name is kept, and served by the thread that brings one.

namespace tenon {

namespace detail {
struct numbered_record {
    std::string key, value;
    std::uint64_t number = 0; // of all that were read, in their order
};
} // namespace detail

/// Something that is asked of a reader: its caller's, who keeps it where it is until it is completed, or stopped.
class read_attempt {
public:
    /// Before: where file names come from, and what names files. They stay for as long as the attempt does.
    std::shared_ptr<queue_resource> names;
    file_access files;
    /// After: string [n], or string [] of a single record.
    any_array read_keys, read_values;
    /// Whether what is read can be given back.
    bool keeps = false;

protected:
    read_attempt() = default;
    ~read_attempt() = default;
    read_attempt(read_attempt&&) = delete;

    /// Called once for each attempt that was not stopped, by the thread that asked or by another one, and not under a lock of
    /// the reader. `failure`: why nothing was read, or nullptr. The attempt may be asked anew, or end, in it.
    virtual void completed(std::exception_ptr failure) noexcept = 0;

private:
    friend class reader_resource;
    enum class place { nowhere, in_line, served };
    place where_ = place::nowhere;
    bool single_ = true, unwanted_ = false;
    std::size_t wanted_ = 1;
    // So far; or those that were given, of one that keeps them. They go back as they are: no memory is needed then.
    std::list<detail::numbered_record> records_;
    std::exception_ptr failure_;
    detail::list_links<read_attempt> links_; // of those that wait, or are done
};

/// A record as ops see it: key "file:line" or "file:record", counted from 1, with the name as it came from the queue.
///
/// Thread-safe. Who reads is served first come, first served, each with records of its own. A record that was read for one who
/// was stopped meanwhile is the next one's. Of a file that cannot be opened the error is told once, and the next read goes on
/// with the next name; behind a damaged record it goes on where the file's source does (record_source::next).
class reader_resource final : public resource, public std::enable_shared_from_this<reader_resource> {
public:
    static constexpr const char* kind = "reader";

    /// What check_format throws. `name` is for messages. Owned by shared pointers.
    reader_resource(std::string name, record_format f);
    ~reader_resource() override;
    reader_resource(reader_resource&&) = delete;

    const record_format& format() const noexcept { return format_; }

    // What happens is told to completed(): end_of_data_error where the queue of names is closed and empty, errors of files.

    /// One record.
    void read(read_attempt& a);
    /// n records, fewer, but 1 at least, where the names end or a file is damaged behind them. invalid_argument_error, and
    /// nothing was asked, for a negative n.
    void read_up_to(read_attempt& a, std::int64_t n);
    /// Takes back what was asked, where it waits for its turn or for a file name, and then completed() is not called.
    bool stop(read_attempt& a) noexcept;
    /// Of one that keeps what it was given: those records are where they were.
    void give_back(read_attempt& a) noexcept;
    /// They are used.
    void let_go(read_attempt& a) noexcept { a.records_.clear(); }

    /// Leaves the file that is being read, and counts from 0.
    void reset();
    /// Records that were given out.
    std::int64_t records_produced() const;
    /// Files that were read to their ends.
    std::int64_t work_units_completed() const;
    /// Records that were left out because of record_format::ignore_errors.
    std::int64_t records_ignored() const;
    /// What an attempt waits for, in words.
    std::string awaited(const read_attempt& a) const;
    void describe(resource_info& to) const override;
    /// Everybody who waits fails with this, and what is asked later does, too.
    void fail(std::exception_ptr why) noexcept;
    void forgotten() noexcept override;

private:
    struct state;
    void ask(read_attempt& a);
    void serve() noexcept;
    bool fill(read_attempt& a) noexcept;
    bool read_record(read_attempt& a);
    bool settle(bool ask) noexcept;
    void named(std::exception_ptr failure) noexcept;
    const std::string name_;
    const record_format format_;
    std::unique_ptr<state> state_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/resources/reader.ipp>
#endif
