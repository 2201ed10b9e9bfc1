#pragma once

#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/data/steps/file_walk.hpp>
#include <tenon/data/steps/steps.hpp>
#include <tenon/io/records/record_source.hpp>
#include <tenon/io/records/record_writer.hpp>

namespace tenon::detail {

class cached_node final : public data_node {
public:
    cached_node(pointer from, std::string path) :
        data_node("cache", from->components(), {from}), path_(std::move(path)) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override {
        if (path_.empty()) return std::make_unique<stream>(*this, p);
        return std::make_unique<file_stream>(*this, p);
    }
    bool may_wait() const override { return !path_.empty() || input().may_wait(); }
    std::int64_t size() const override {
        const auto all = path_.empty() ? whole() : nullptr;
        return all ? static_cast<std::int64_t>(all->size()) : input().size();
    }
    std::string no_access() const override {
        if (!path_.empty()) return step() + " of a file is read from its beginning to its end";
        if (input().size() == endless) return step() + " cannot keep a data set without end";
        return {};
    }
    bool differs_by_epoch() const override { return false; }
    bool has_rounds() const override { return false; }
    void begin_with(std::uint64_t, pipeline&) const override {} // what is kept is that of the first epoch
    // Whoever asks first goes through all of it where nobody has.
    void at(std::int64_t i, std::uint64_t, data_element& x) const override {
        const auto all = gathered();
        if (i >= static_cast<std::int64_t>(all->size())) throw_no_element(i, static_cast<std::int64_t>(all->size()));
        x = copied((*all)[static_cast<std::size_t>(i)]);
    }

private:
    using elements = std::vector<data_element>;
    // Whoever takes an element may write to it.
    static data_element copied(const data_element& x) {
        data_element same;
        for (const any_array& a : x) same.push_back(a.copy());
        return same;
    }

    class stream final : public element_stream {
    public:
        stream(const cached_node& n, pipeline& p) : node_(n), pipeline_(p), whole_(n.whole()) {
            if (!whole_) from_ = open_step(n.input(), p);
        }
        bool next(data_element& x) override {
            if (whole_) {
                if (at_ == whole_->size()) return false;
                x = copied((*whole_)[at_++]);
                return true;
            }
            if (from_->next(x)) {
                gathered_.push_back(copied(x));
                return true;
            }
            // Whoever comes to the end first has gathered what all will have.
            whole_ = node_.keep(std::move(gathered_));
            at_ = whole_->size();
            from_.reset();
            return false;
        }
        void save(state_writer& to) override {
            const elements& held = whole_ ? *whole_ : gathered_;
            to.number(whole_ != nullptr);
            to.number(held.size());
            for (const data_element& e : held) to.element(e);
            to.number(at_);
            if (!whole_) from_->save(to);
        }
        void restore(state_reader& from) override {
            const bool is_whole = from.number(0, 1) != 0;
            elements held;
            const std::uint64_t count = from.number();
            for (std::uint64_t i = 0; i < count; ++i) held.push_back(from.element(node_.components()));
            const std::uint64_t at = from.number();
            if (is_whole) {
                if (at > held.size()) from.damaged("a cache is smaller than it was");
                whole_ = node_.keep(std::move(held));
                if (at > whole_->size()) from.damaged("what is kept is not what was kept");
                from_.reset();
                at_ = static_cast<std::size_t>(at);
                return;
            }
            whole_.reset();
            gathered_ = std::move(held);
            if (!from_) from_ = open_step(node_.input(), pipeline_);
            from_->restore(from);
        }

    private:
        const cached_node& node_;
        pipeline& pipeline_;
        std::shared_ptr<const elements> whole_;
        std::size_t at_ = 0; // of it
        elements gathered_;  // until then
        std::unique_ptr<element_stream> from_;
    };

    // A TFRecord file of elements as state_writer writes them: whole, or not there. Its last record says that it is the last: a file that was
    // cut off between two would be a shorter data set.
    class file_stream final : public element_stream {
    public:
        file_stream(const cached_node& n, pipeline& p) : node_(n), pipeline_(p) { begin(); }
        bool next(data_element& x) override {
            if (ended_) return false;
            if (reads_) {
                std::string_view record;
                ended_ = !reads_->next(record);
                if (ended_)
                    throw data_loss_error("cache: '" + node_.path_ + "' is cut off behind " + std::to_string(given_) +
                                          " elements; remove it, and it is made again");
                ended_ = record == end;
                if (ended_) return false;
                state_reader from(record, "'" + node_.path_ + "'");
                x = from.element(node_.components());
                from.require_end();
                ++given_;
                return true;
            }
            if (from_->next(x)) {
                state_writer to;
                to.element(x);
                writes_->write(std::move(to).take());
                ++given_;
                return true;
            }
            writes_->write(end);
            writes_->commit();
            ended_ = true;
            return false;
        }
        // The elements that were given are gone through again: they are in the file, or come of the steps before.
        void save(state_writer& to) override {
            to.number(given_);
            to.number(!reads_ ? 0 : ended_ ? 2 : 1);
            if (reads_) save_mark(to, *reads_);
        }
        void restore(state_reader& from) override {
            const std::uint64_t given = from.number();
            const std::uint64_t was_read = from.version() > 1 ? from.number(0, 2) : 0;
            record_position at;
            file_mark mark;
            if (was_read) restore_mark(from, at, mark);
            begin();
            if (was_read && reads_) {
                require_same_file(from, node_.path_, reads_->return_to(at, mark, !pipeline_.options().copied_files));
                given_ = given;
                ended_ = was_read == 2;
                return;
            }
            data_element x;
            while (given_ < given)
                if (!next(x)) from.damaged("a cache has fewer elements than it had");
        }

    private:
        static constexpr std::string_view end = "end"; // shorter than any element
        void begin() {
            given_ = 0;
            ended_ = false;
            reads_.reset();
            writes_.reset();
            if (file_system_of(node_.path_).exists(node_.path_))
                reads_ = open_records("cache", node_.path_,
                                      {.kind = record_kind::tfrecord, .largest_record = std::int64_t{1} << 40});
            else {
                from_ = open_step(node_.input(), pipeline_);
                writes_.emplace(node_.path_, compression::none);
            }
        }
        const cached_node& node_;
        pipeline& pipeline_;
        std::unique_ptr<record_source> reads_;
        std::unique_ptr<element_stream> from_;
        std::optional<tfrecord_writer> writes_;
        std::uint64_t given_ = 0;
        bool ended_ = false;
    };

    std::shared_ptr<const elements> whole() const {
        const std::lock_guard lock(guard_);
        return whole_;
    }
    std::shared_ptr<const elements> gathered() const {
        if (auto all = whole()) return all;
        elements all;
        const auto from = input().open();
        for (data_element x; from->next(x);) all.push_back(copied(x));
        return keep(std::move(all));
    }
    std::shared_ptr<const elements> keep(elements all) const {
        const std::lock_guard lock(guard_);
        if (!whole_) whole_ = std::make_shared<const elements>(std::move(all));
        return whole_;
    }
    const std::string path_;
    mutable std::mutex guard_; // of whole_
    mutable std::shared_ptr<const elements> whole_;
};

TENON_INLINE data_node::pointer cached(data_node::pointer from, const std::string& path) {
    return std::make_shared<cached_node>(std::move(from), path);
}

} // namespace tenon::detail
