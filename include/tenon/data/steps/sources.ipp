#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/data/steps/file_walk.hpp>
#include <tenon/data/steps/kept_failure.hpp>
#include <tenon/data/steps/random_order.hpp>
#include <tenon/data/steps/rows.hpp>
#include <tenon/data/steps/sources.hpp>
#include <tenon/ops/random/random_numbers.hpp>

namespace tenon::detail {

// Places 0 .. n-1, in order.
class counting_stream final : public index_stream {
public:
    explicit counting_stream(std::int64_t n) : n_(n) {}
    bool next(std::int64_t& index) override {
        if (at_ == n_) return false;
        index = at_++;
        return true;
    }
    void save(state_writer& to) override { to.number(static_cast<std::uint64_t>(at_)); }
    void restore(state_reader& from) override {
        at_ = static_cast<std::int64_t>(from.number());
        if (at_ < 0 || at_ > n_) from.damaged("the arrays have fewer rows than they had");
    }

private:
    const std::int64_t n_;
    std::int64_t at_ = 0;
};

class rows_node final : public data_node {
public:
    rows_node(const char* source, data_rows rows, std::vector<tensor_type> types, std::int64_t count) :
        data_node(source, std::move(types)), rows_(std::move(rows)), count_(count) {}
    std::unique_ptr<element_stream> make(pipeline&) const override {
        throw internal_error("rows are made from their places");
    }
    const data_rows* rows() const override { return &rows_; }
    std::unique_ptr<index_stream> make_indices(pipeline&) const override {
        return std::make_unique<counting_stream>(count_);
    }
    bool gives_rows_as_they_lie() const override { return true; }
    std::int64_t size() const override { return count_; }
    std::string no_access() const override { return {}; }
    void at(std::int64_t i, std::uint64_t, data_element& x) const override { take_row(rows_, i, x); }

private:
    const data_rows rows_;
    const std::int64_t count_;
};

TENON_INLINE data_node::pointer one_element(std::vector<any_array> element, std::vector<tensor_type> types) {
    for (any_array& a : element) {
        extents sizes = a.extents();
        sizes.insert(0, 1);
        if (sizes.overfull())
            throw invalid_argument_error("tensors: " + to_string(a.type()) + " has too many dimensions: at most " +
                                         std::to_string(max_rank - 1) + " can be an element");
        a = std::move(a).reshape(sizes);
    }
    return std::make_shared<rows_node>("tensors", data_rows{std::move(element), {}}, std::move(types), 1);
}

TENON_INLINE data_node::pointer row_elements(data_rows rows, std::vector<tensor_type> types) {
    const std::vector<any_array>& arrays = rows.arrays;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        if (arrays[i].rank() == 0)
            throw invalid_argument_error("slices: array " + std::to_string(i) + ", " + to_string(arrays[i].type()) +
                                         ", is a scalar and has no rows");
        if (!(arrays[i].extents()[0] == arrays[0].extents()[0]))
            throw invalid_argument_error("slices: array 0, " + to_string(arrays[0].type()) + ", and array " +
                                         std::to_string(i) + ", " + to_string(arrays[i].type()) +
                                         ", have different numbers of rows");
    }
    const std::int64_t count = arrays.at(0).extents()[0].size;
    return std::make_shared<rows_node>("slices", std::move(rows), std::move(types), count);
}

class range_node final : public data_node {
public:
    range_node(std::int64_t begin, std::int64_t step, std::uint64_t size) :
        data_node("range", {tensor_type{element_type::int64, {}}}), begin_(begin), step_(step), size_(size) {}
    std::unique_ptr<element_stream> make(pipeline&) const override { return std::make_unique<stream>(*this); }
    std::int64_t size() const override {
        return static_cast<std::int64_t>(std::min<std::uint64_t>(size_, std::numeric_limits<std::int64_t>::max()));
    }
    std::string no_access() const override { return {}; }
    void at(std::int64_t i, std::uint64_t, data_element& x) const override { put(static_cast<std::uint64_t>(i), x); }

private:
    void put(std::uint64_t i, data_element& x) const {
        // What was let go is used again.
        if (x.size() != 1 || x[0].element() != element_type::int64 || x[0].rank() != 0 || !x[0].is_unique()) {
            x.clear();
            x.emplace_back(element_type::int64, extents());
        }
        *static_cast<std::int64_t*>(x[0].data()) =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(begin_) + i * static_cast<std::uint64_t>(step_));
    }
    class stream final : public element_stream {
    public:
        explicit stream(const range_node& n) : node_(n) {}
        bool next(data_element& x) override {
            if (at_ == node_.size_) return false;
            node_.put(at_++, x);
            return true;
        }
        void save(state_writer& to) override { to.number(at_); }
        void restore(state_reader& from) override {
            at_ = from.number();
            if (at_ > node_.size_) from.damaged("a range is shorter than it was");
        }

    private:
        const range_node& node_;
        std::uint64_t at_ = 0;
    };
    const std::int64_t begin_, step_;
    const std::uint64_t size_;
};

TENON_INLINE data_node::pointer range_elements(std::int64_t begin, std::int64_t end, std::int64_t step) {
    if (step == 0) throw invalid_argument_error("range: a step of 0 never ends; give another one");
    std::uint64_t size = 0;
    const auto distance = [](std::int64_t a, std::int64_t b) { // a <= b
        return static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
    };
    if (step > 0 && begin < end) size = (distance(begin, end) - 1) / static_cast<std::uint64_t>(step) + 1;
    if (step < 0 && end < begin) size = (distance(end, begin) - 1) / (0 - static_cast<std::uint64_t>(step)) + 1;
    return std::make_shared<range_node>(begin, step, size);
}

class record_node final : public data_node {
public:
    record_node(const char* source, std::vector<std::string> files, const record_format& f) :
        data_node(source, {tensor_type{element_type::string, {}}}), files_(std::move(files)), format_(f) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    std::unique_ptr<element_stream> make_batches(pipeline& p, std::int64_t n, bool drop_remainder) const override {
        return std::make_unique<batch_stream>(*this, p, n, drop_remainder);
    }
    bool may_wait() const override { return true; }

private:
    static bool next_record(file_walk& walk, std::string_view& record) {
        while (!walk.next(record))
            if (!walk.open_next()) return false;
        return true;
    }

    class stream final : public element_stream {
    public:
        stream(const record_node& n, pipeline& p) :
            walk_(n.step(), n.files_, n.format_, p.options().copied_files, &p.meter(n).left_out) {}
        bool next(data_element& x) override {
            std::string_view record;
            if (!next_record(walk_, record)) return false;
            if (x.size() != 1 || x[0].element() != element_type::string || x[0].rank() != 0 || !x[0].is_unique()) {
                x.clear();
                x.emplace_back(element_type::string, extents());
            }
            static_cast<std::string*>(x[0].data())->assign(record);
            return true;
        }
        void save(state_writer& to) override { walk_.save(to); }
        void restore(state_reader& from) override {
            walk_.restore(from, [] {});
        }

    private:
        file_walk walk_;
    };

    // Records are written to where they stay; the memory of a batch that was let go is used again.
    class batch_stream final : public element_stream {
    public:
        batch_stream(const record_node& n, pipeline& p, std::int64_t batch, bool drop) :
            walk_(n.step(), n.files_, n.format_, p.options().copied_files, &p.meter(n).left_out),
            batch_(batch),
            drop_(drop),
            room_(std::min(batch, rows_at_first)) {}
        bool next(data_element& x) override {
            x.clear();
            if (count_ == 0 && (!memory_ || !memory_.is_unique())) begin();
            auto* to = memory_.data<std::string>();
            std::string_view record;
            // What was read when a record fails stays for the next call.
            while (count_ < batch_ && next_record(walk_, record)) {
                if (count_ == room_) {
                    room_ = std::min(batch_, 2 * room_);
                    memory_ = with_room(std::move(memory_), count_, room_);
                    to = memory_.data<std::string>();
                }
                to[count_++].assign(record);
            }
            const std::int64_t count = std::exchange(count_, 0);
            if (count == 0 || (drop_ && count < batch_)) return false;
            x.push_back(count == room_ ? memory_.share() : memory_.slice(0, count));
            return true;
        }
        void save(state_writer& to) override {
            to.number(static_cast<std::uint64_t>(count_));
            if (count_ > 0) to.array(memory_.slice(0, count_));
            walk_.save(to);
        }
        void restore(state_reader& from) override {
            const std::uint64_t count = from.number();
            if (count > static_cast<std::uint64_t>(batch_)) from.damaged("a batch holds more than it may");
            count_ = static_cast<std::int64_t>(count);
            if (count_ > 0) {
                const any_array held = from.array();
                if (!(held.type() == tensor_type{element_type::string, {count_}}))
                    from.damaged("a batch is of other types");
                room_ = count_;
                memory_ = held.copy();
            }
            walk_.restore(from, [] {});
        }

    private:
        // Memory of a batch that was let go, the one used most lately first; where none was, as those held ahead are not, some that is new.
        void begin() {
            for (any_array& m : given_)
                if (m && m.is_unique() && m.elements() == room_) return std::swap(memory_, m);
            given_[next_given_++ % std::size(given_)] =
                std::exchange(memory_, any_array(element_type::string, {room_}));
        }

        file_walk walk_;
        const std::int64_t batch_;
        const bool drop_;
        std::int64_t room_; // that memory_ has for records
        any_array memory_;
        any_array given_[8];
        std::size_t next_given_ = 0;
        std::int64_t count_ = 0; // records in it
    };
    const std::vector<std::string> files_;
    const record_format format_;
};

TENON_INLINE data_node::pointer record_elements(const char* source, std::vector<std::string> files,
                                                const record_format& f) {
    check_format(source, f);
    return std::make_shared<record_node>(source, std::move(files), f);
}

class generated_node final : public data_node {
public:
    generated_node(std::vector<tensor_type> types, shared_function<element_generator()> begin) :
        data_node("generator", std::move(types)), begin_(std::move(begin)) {}
    std::unique_ptr<element_stream> make(pipeline&) const override { return std::make_unique<stream>(*this); }
    bool may_wait() const override { return true; }

private:
    class stream final : public element_stream {
    public:
        explicit stream(const generated_node& n) : node_(n) {}
        bool next(data_element& x) override {
            if (ended_) return false;
            x.clear();
            const std::uint64_t number = asked_++;
            try {
                if (!begun_) {
                    ended_ = true; // of what does not begin there is nothing
                    now_ = node_.begin_();
                    ended_ = false;
                    begun_ = true;
                }
                ended_ = !now_(x);
            } catch (...) {
                throw_at(place_of_element(node_.step(), number));
            }
            return !ended_;
        }
        void save(state_writer& to) override { to.number(asked_); }
        void restore(state_reader& from) override {
            const std::uint64_t asked = from.number();
            begun_ = ended_ = false;
            data_element x;
            for (asked_ = 0; asked_ < asked && !ended_;) {
                try {
                    (void)next(x);
                } catch (...) { // as it did before
                }
            }
            if (asked_ < asked) from.damaged("the generator gives less than it gave");
        }

    private:
        const generated_node& node_;
        element_generator now_;
        std::uint64_t asked_ = 0; // times
        bool begun_ = false, ended_ = false;
    };
    const shared_function<element_generator()> begin_;
};

TENON_INLINE data_node::pointer generated_elements(std::vector<tensor_type> types,
                                                   shared_function<element_generator()> begin) {
    return std::make_shared<generated_node>(std::move(types), std::move(begin));
}

class random_node final : public data_node {
public:
    random_node(const tensor_type& type, std::uint64_t seed) : data_node("random", {type}), seed_(seed) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    std::int64_t size() const override { return endless; }
    std::string no_access() const override { return {}; }
    void at(std::int64_t i, std::uint64_t epoch, data_element& x) const override {
        draw(epoch, static_cast<std::uint64_t>(i), x);
    }
    bool changes() const override { return true; }

private:
    void draw(std::uint64_t epoch, std::uint64_t number, data_element& x) const {
        const tensor_type& type = components()[0];
        x.clear();
        any_array& to = x.emplace_back(type.element, type.extents);
        const random_stream from{random_key(seed_, epoch), number, 0};
        const std::int64_t n = to.elements();
        with_element(type.element, [&]<class T>(T) {
            if constexpr (std::is_same_v<T, std::string>) throw internal_error("random: of texts");
            else if constexpr (std::is_same_v<T, bool>) fill_bernoulli(static_cast<bool*>(to.data()), n, from, 0.5);
            else if constexpr (std::is_integral_v<T>)
                // of so many bits any number is as good as another
                fill_integers(to.data(), static_cast<int>(sizeof(T)), n, from, 0,
                              sizeof(T) == 8 ? ~std::uint64_t{0} : std::uint64_t{1} << (8 * sizeof(T) % 64));
            else fill_uniform(static_cast<T*>(to.data()), n, from, static_cast<T>(0.0f), static_cast<T>(1.0f));
        });
    }
    class stream final : public element_stream {
    public:
        stream(const random_node& n, pipeline& p) : node_(n), pipeline_(p), epoch_(p.next_epoch(n)) {}
        bool next(data_element& x) override {
            node_.draw(epoch_, given_++, x);
            return true;
        }
        void save(state_writer& to) override {
            to.number(epoch_);
            to.number(given_);
        }
        void restore(state_reader& from) override {
            epoch_ = from.number();
            pipeline_.set_epoch(node_, epoch_ + 1);
            given_ = from.number();
        }

    private:
        const random_node& node_;
        pipeline& pipeline_;
        std::uint64_t epoch_, given_ = 0;
    };
    const std::uint64_t seed_;
};

TENON_INLINE data_node::pointer random_elements(const tensor_type& type, std::uint64_t seed) {
    if (type.element == element_type::string || !type.extents.is_static())
        throw invalid_argument_error("random: of " + to_string(type) +
                                     " nothing can be drawn; give numbers, and sizes that are known");
    return std::make_shared<random_node>(type, seed_or_any(seed));
}

} // namespace tenon::detail
