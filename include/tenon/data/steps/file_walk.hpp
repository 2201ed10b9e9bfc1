#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/io/stream/element_stream.hpp>
#include <tenon/io/records/record_source.hpp>

/// The records of several files, one file after another.

namespace tenon::detail {

void save_mark(state_writer& to, const record_position& at, const file_mark& mark);
inline void save_mark(state_writer& to, const record_source& s) { save_mark(to, s.position(), s.mark()); }
void restore_mark(state_reader& from, record_position& at, file_mark& mark);
/// `how`: difference() of the file. data_loss_error where there is one.
void require_same_file(const state_reader& from, const std::string& path, const std::string& how);

/// For one thread at a time. What is given to it outlives it.
class file_walk {
public:
    /// `left_out`: counts damaged records that the format says to leave out; nullptr: nobody does.
    /// `copied`: where it goes on in a file, that may have been written to at another time.
    file_walk(const std::string& who, const std::vector<std::string>& files, const record_format& f, bool copied,
              std::atomic<std::uint64_t>* left_out = nullptr) :
        who_(who), files_(files), format_(f), copied_(copied), left_out_(f.ignore_errors ? left_out : nullptr) {}

    /// The next record of the file that is open; false: it is at its end, or none is open.
    bool next(std::string_view& record) {
        if (!source_) return false;
        const bool got = source_->next(record);
        if (left_out_)
            left_out_->fetch_add(source_->ignored() - std::exchange(ignored_, source_->ignored()),
                                 std::memory_order_relaxed);
        if (!got) source_.reset();
        return got;
    }
    /// Opens the next file; false: there are no more. What it throws is of that file, and the next call goes on behind it.
    bool open_next();
    bool is_open() const noexcept { return source_ != nullptr; }
    /// What is left of the file that is open is passed over.
    void close() noexcept { source_.reset(); }
    const std::string& file() const noexcept { return files_[next_file_ - 1]; }
    std::uint64_t number() const { return source_->number(); }

    void save(state_writer& to) const;
    /// `opened` is called when a file was opened, before it goes to its place there. data_loss_error where the file is not the one that
    /// it was.
    template <class F> void restore(state_reader& from, F opened) {
        place at;
        if (!read_place(from, at)) return;
        (void)open_next();
        opened();
        go_to(from, at);
    }

private:
    struct place {
        record_position at;
        std::optional<file_mark> mark; // older states have none
    };
    bool read_place(state_reader& from, place& p);
    void go_to(const state_reader& from, const place& p);
    const std::string& who_;
    const std::vector<std::string>& files_;
    const record_format& format_;
    const bool copied_;
    std::size_t next_file_ = 0;
    std::atomic<std::uint64_t>* const left_out_;
    std::uint64_t ignored_ = 0; // of this file, told already
    std::unique_ptr<record_source> source_;
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/file_walk.ipp>
#endif
