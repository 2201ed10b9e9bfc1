#pragma once

#include <algorithm>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/data/steps/kept_failure.hpp>
#include <tenon/data/steps/random_order.hpp>
#include <tenon/data/steps/rows.hpp>
#include <tenon/data/steps/steps.hpp>
#include <tenon/io/stream/stacked.hpp>

namespace tenon::detail {

inline void require_batch(const char* step, std::int64_t n) {
    if (n < 1)
        throw invalid_argument_error(std::string(step) + ": batches of " + std::to_string(n) +
                                     " elements; give 1 or more");
}

// The types of elements along a new dimension 0; `open`: sizes that are no numbers are those of each batch.
inline std::vector<tensor_type> stacked_types(const char* step, std::vector<tensor_type> types, extent size) {
    for (tensor_type& t : types) {
        t.extents.insert(0, size);
        if (t.extents.overfull())
            throw invalid_argument_error(std::string(step) + ": an element has " + std::to_string(max_rank) +
                                         " dimensions already, and a batch would have more");
    }
    return types;
}

// What is filled up is as large as the largest, whatever it was called.
inline std::vector<tensor_type> with_open_sizes(std::vector<tensor_type> types) {
    for (tensor_type& t : types)
        for (int d = 0; d < t.extents.rank(); ++d)
            if (!t.extents[d].is_number()) t.extents[d] = dynamic_extent;
    return types;
}

inline void require_fill(const char* step, const std::vector<tensor_type>& types, const std::vector<any_array>& fill) {
    if (fill.empty()) return;
    bool good = fill.size() == types.size();
    for (std::size_t c = 0; good && c < fill.size(); ++c)
        good = !fill[c] || (fill[c].element() == types[c].element && fill[c].elements() == 1);
    if (!good)
        throw invalid_argument_error(std::string(step) +
                                     ": what components are filled up with must be one value for each of " +
                                     to_string(types));
}

// Puts elements together; the memory of a batch that was let go is used again.
class batch_maker {
public:
    batch_maker(std::string step, const std::vector<tensor_type>& types, bool padded,
                const std::vector<any_array>* fill = nullptr) :
        step_(std::move(step)), types_(types), padded_(padded), fill_(fill), memory_(types.size()) {}

    void make(const std::vector<const data_element*>& elements, data_element& batch) {
        batch.resize(types_.size());
        for (std::size_t c = 0; c < types_.size(); ++c) {
            parts_.clear();
            for (const data_element* e : elements) parts_.push_back(&(*e)[c]);
            if (const any_array* other = padded_ ? nullptr : of_other_sizes(parts_))
                throw invalid_argument_error(step_ + ": elements with component " + std::to_string(c) + " as " +
                                             to_string(parts_[0]->type()) + " and " + to_string(other->type()) +
                                             " make no batch; use padded_batch, or make them one size");
            batch[c] = any_array(); // what was given before may be used again
            const any_array* fill = fill_ && !fill_->empty() && (*fill_)[c] ? &(*fill_)[c] : nullptr;
            batch[c] = stacked(types_[c], parts_, fill, &memory_[c]);
        }
    }

private:
    const std::string step_;
    const std::vector<tensor_type>& types_;
    const bool padded_;
    const std::vector<any_array>* const fill_;
    std::vector<any_array> memory_; // of the last batch, by component
    std::vector<const any_array*> parts_;
};

// The n elements of a step's input from `first` on, `stride` apart, or those of them that there are, of which there is one at least.
inline void put_together(const data_node& of, std::uint64_t epoch, std::int64_t first, std::int64_t n,
                         std::int64_t stride, batch_maker maker, data_element& x) {
    const std::int64_t size = of.input().size();
    const std::int64_t count = size == endless ? n : std::min(n, (size - first - 1) / stride + 1);
    std::vector<data_element> all(static_cast<std::size_t>(count));
    std::vector<const data_element*> elements;
    for (data_element& single : all) {
        of.input().at(first, epoch, single);
        first += stride;
        elements.push_back(&single);
    }
    maker.make(elements, x);
}
// Why a step that needs to know how many elements its input has gives none by their numbers.
inline std::string no_access_by_count(const data_node& of) {
    if (std::string why = of.input().no_access(); !why.empty()) return why;
    return of.input().size() == size_unknown ? of.step() + " does not know how many elements there are" : std::string();
}

class batched_node final : public data_node {
public:
    batched_node(std::string step, pointer from, std::int64_t n, bool drop, extent size, bool padded,
                 std::vector<any_array> fill) :
        data_node(step_name(step, n),
                  stacked_types(step.c_str(), padded ? with_open_sizes(from->components()) : from->components(), size),
                  {from}),
        n_(n),
        drop_(drop),
        padded_(padded),
        fill_(std::move(fill)) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override {
        const data_rows* const rows = input().rows();
        const bool plain = rows && std::none_of(rows->arrays.begin(), rows->arrays.end(),
                                                [](const any_array& a) { return a.rank() == 0; });
        if (plain) return std::make_unique<rows_batch_stream>(*this, p);
        if (auto made = padded_ ? nullptr : input().make_batches(p, n_, drop_)) return made;
        return std::make_unique<stream>(*this, p);
    }
    std::int64_t size() const override {
        const std::int64_t size = input().size();
        return size < 0 ? size : size / n_ + (!drop_ && size % n_ != 0);
    }
    std::string no_access() const override { return no_access_by_count(*this); }
    void at(std::int64_t i, std::uint64_t epoch, data_element& x) const override {
        put_together(*this, epoch, i * n_, n_, 1, batch_maker(step(), input().components(), padded_, &fill_), x);
    }
    row_count count_rows() const override {
        const std::int64_t size = input().size();
        return {n_, size < 0 || !drop_ ? size : size / n_ * n_};
    }

private:
    class stream final : public element_stream {
    public:
        stream(const batched_node& n, pipeline& p) :
            node_(n), from_(open_step(n.input(), p)), maker_(n.step(), n.input().components(), n.padded_, &n.fill_) {}
        bool next(data_element& x) override {
            const auto wanted = static_cast<std::size_t>(node_.n_);
            // What was held when the step before failed stays for the next call.
            if (slots_.size() < wanted && filled_ == slots_.size()) slots_.resize(std::min(wanted, 2 * filled_ + 4));
            while (filled_ < wanted && from_->next(slots_[filled_])) {
                if (++filled_ == slots_.size() && filled_ < wanted) slots_.resize(std::min(wanted, 2 * filled_));
            }
            const std::size_t count = std::exchange(filled_, 0);
            if (count == 0 || (count < wanted && node_.drop_)) return false;
            elements_.clear();
            for (std::size_t i = 0; i < count; ++i) elements_.push_back(&slots_[i]);
            maker_.make(elements_, x);
            // The memory of small ones is used again.
            for (std::size_t i = 0; i < count; ++i)
                for (any_array& a : slots_[i])
                    if (a.bytes() > 4096 || !a.is_unique()) a = any_array();
            return true;
        }
        void save(state_writer& to) override {
            to.number(filled_);
            for (std::size_t i = 0; i < filled_; ++i) to.element(slots_[i]);
            from_->save(to);
        }
        void restore(state_reader& from) override {
            const std::uint64_t count = from.number(0, static_cast<std::uint64_t>(node_.n_));
            slots_.clear();
            for (filled_ = 0; filled_ < count; ++filled_) slots_.push_back(from.element(node_.input().components()));
            from_->restore(from);
        }

    private:
        const batched_node& node_;
        std::unique_ptr<element_stream> from_;
        batch_maker maker_;
        std::vector<data_element> slots_; // elements of the batch that is being made, and room for more
        std::size_t filled_ = 0;
        std::vector<const data_element*> elements_;
    };

    // Rows are copied from where they lie.
    class rows_batch_stream final : public element_stream {
    public:
        rows_batch_stream(const batched_node& n, pipeline& p) :
            node_(n),
            rows_(n.input().rows()->arrays),
            places_(*n.input().rows(), open_indices(n.input(), p), p.options().copied_files),
            memory_(rows_.size()) {}
        bool next(data_element& x) override {
            order_.clear();
            std::int64_t at = 0;
            while (static_cast<std::int64_t>(order_.size()) < node_.n_ && places_.next(at)) order_.push_back(at);
            const auto count = static_cast<std::int64_t>(order_.size());
            if (count == 0 || (count < node_.n_ && node_.drop_)) return false;
            x.resize(rows_.size());
            for (std::size_t c = 0; c < rows_.size(); ++c) {
                extents sizes = rows_[c].extents();
                sizes[0] = extent(count);
                x[c] = any_array();
                any_array& memory = memory_[c];
                if (!memory.is_unique() || !(memory.extents() == sizes)) memory = any_array(rows_[c].element(), sizes);
                gather_rows(rows_[c], order_.data(), count, memory);
                x[c] = memory.share();
            }
            return true;
        }
        void save(state_writer& to) override { places_.save(to); }
        void restore(state_reader& from) override { places_.restore(from); }

    private:
        const batched_node& node_;
        const std::vector<any_array>& rows_;
        row_places places_;
        std::vector<any_array> memory_;
        std::vector<std::int64_t> order_;
    };

    const std::int64_t n_;
    const bool drop_, padded_;
    const std::vector<any_array> fill_;
};

TENON_INLINE data_node::pointer batched(data_node::pointer from, std::int64_t n, bool drop_remainder, extent size) {
    require_batch("batch", n);
    return std::make_shared<batched_node>("batch", std::move(from), n, drop_remainder, size, false,
                                          std::vector<any_array>());
}

TENON_INLINE data_node::pointer padded_batched(data_node::pointer from, std::int64_t n, bool drop_remainder,
                                               extent size, std::vector<any_array> fill) {
    require_batch("padded_batch", n);
    require_fill("padded_batch", from->components(), fill);
    return std::make_shared<batched_node>("padded_batch", std::move(from), n, drop_remainder, size, true,
                                          std::move(fill));
}

class bucketed_node final : public data_node {
public:
    bucketed_node(pointer from, std::vector<std::int64_t> boundaries, std::vector<std::int64_t> sizes,
                  shared_function<std::int64_t(const data_element&)> length, bool drop, extent size,
                  std::vector<any_array> fill) :
        data_node("bucket_by_length", stacked_types("bucket_by_length", with_open_sizes(from->components()), size),
                  {from}),
        boundaries_(std::move(boundaries)),
        sizes_(std::move(sizes)),
        length_(std::move(length)),
        drop_(drop),
        fill_(std::move(fill)) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    std::string no_access() const override {
        if (std::string why = input().no_access(); !why.empty()) return why;
        return input().size() < 0 ? step() + " has an order only where it is known how many there are" : std::string();
    }
    // Whoever asks first goes through all elements, to know how long they are.
    void at(std::int64_t i, std::uint64_t epoch, data_element& x) const override {
        const auto found = order_.of_epoch(epoch, [&](std::uint64_t e) { return batches_of(e); });
        const std::vector<std::int64_t>& all = *found;
        if (i >= all[0]) throw_no_element(i, all[0]);
        const auto from = static_cast<std::size_t>(all[static_cast<std::size_t>(i + 1)]),
                   to = static_cast<std::size_t>(all[static_cast<std::size_t>(i + 2)]);
        std::vector<data_element> elements(to - from);
        std::vector<const data_element*> parts;
        for (std::size_t k = 0; k < elements.size(); ++k) {
            input().at(all[from + k], epoch, elements[k]);
            parts.push_back(&elements[k]);
        }
        batch_maker(step(), input().components(), true, &fill_).make(parts, x);
    }

private:
    std::int64_t length_of(const data_element& x, std::uint64_t number) const {
        try {
            return length_(x);
        } catch (...) {
            throw_at(place_of_element(step(), number));
        }
    }
    std::size_t bucket_of(std::int64_t length) const {
        return static_cast<std::size_t>(std::upper_bound(boundaries_.begin(), boundaries_.end(), length) -
                                        boundaries_.begin());
    }
    // How many batches there are, where in this list each begins, and where the last one ends; then the places of their elements.
    std::vector<std::int64_t> batches_of(std::uint64_t epoch) const {
        std::vector<std::vector<std::int64_t>> buckets(sizes_.size()), batches;
        data_element x;
        for (std::int64_t i = 0; i < input().size(); ++i) {
            input().at(i, epoch, x);
            const std::size_t b = bucket_of(length_of(x, static_cast<std::uint64_t>(i)));
            buckets[b].push_back(i);
            if (static_cast<std::int64_t>(buckets[b].size()) == sizes_[b])
                batches.push_back(std::exchange(buckets[b], {}));
        }
        for (auto& rest : buckets)
            if (!rest.empty() && !drop_) batches.push_back(std::move(rest));
        std::vector<std::int64_t> all{static_cast<std::int64_t>(batches.size())};
        std::int64_t begin = all[0] + 2;
        for (const auto& b : batches) {
            all.push_back(begin);
            begin += static_cast<std::int64_t>(b.size());
        }
        all.push_back(begin);
        for (const auto& b : batches) all.insert(all.end(), b.begin(), b.end());
        return all;
    }
    class stream final : public element_stream {
    public:
        stream(const bucketed_node& n, pipeline& p) :
            node_(n),
            from_(open_step(n.input(), p)),
            maker_(n.step(), n.input().components(), true, &n.fill_),
            buckets_(n.sizes_.size()) {}
        bool next(data_element& x) override {
            data_element single;
            while (!ended_) {
                if (!from_->next(single)) {
                    ended_ = true;
                    break;
                }
                const std::size_t b = node_.bucket_of(node_.length_of(single, number_++));
                buckets_[b].push_back(std::move(single));
                if (static_cast<std::int64_t>(buckets_[b].size()) == node_.sizes_[b]) return give(b, x);
            }
            if (node_.drop_) return false;
            for (std::size_t b = 0; b < buckets_.size(); ++b)
                if (!buckets_[b].empty()) return give(b, x);
            return false;
        }
        void save(state_writer& to) override {
            to.number(ended_);
            to.number(number_);
            for (const auto& bucket : buckets_) {
                to.number(bucket.size());
                for (const data_element& e : bucket) to.element(e);
            }
            from_->save(to);
        }
        void restore(state_reader& from) override {
            ended_ = from.number(0, 1) != 0;
            if (from.version() > 1) number_ = from.number();
            for (std::size_t b = 0; b < buckets_.size(); ++b) {
                const std::uint64_t count = from.number(0, static_cast<std::uint64_t>(node_.sizes_[b] - 1));
                for (std::uint64_t i = 0; i < count; ++i)
                    buckets_[b].push_back(from.element(node_.input().components()));
            }
            from_->restore(from);
        }

    private:
        bool give(std::size_t b, data_element& x) {
            const std::vector<data_element> bucket = std::exchange(buckets_[b], {});
            std::vector<const data_element*> elements;
            for (const data_element& e : bucket) elements.push_back(&e);
            maker_.make(elements, x);
            return true;
        }
        const bucketed_node& node_;
        std::unique_ptr<element_stream> from_;
        batch_maker maker_;
        std::vector<std::vector<data_element>> buckets_;
        std::uint64_t number_ = 0; // of the next element that is taken
        bool ended_ = false;
    };
    const std::vector<std::int64_t> boundaries_, sizes_;
    const shared_function<std::int64_t(const data_element&)> length_;
    const bool drop_;
    const std::vector<any_array> fill_;
    mutable kept_order order_;
};

TENON_INLINE data_node::pointer bucketed(data_node::pointer from, std::vector<std::int64_t> boundaries,
                                         std::vector<std::int64_t> batch_sizes,
                                         shared_function<std::int64_t(const data_element&)> length, bool drop_remainder,
                                         extent size, std::vector<any_array> fill) {
    if (batch_sizes.size() != boundaries.size() + 1)
        throw invalid_argument_error("bucket_by_length: " + std::to_string(boundaries.size()) + " boundaries and " +
                                     std::to_string(batch_sizes.size()) +
                                     " batch sizes; give one batch size more than boundaries");
    for (const std::int64_t n : batch_sizes) require_batch("bucket_by_length", n);
    for (std::size_t i = 1; i < boundaries.size(); ++i)
        if (boundaries[i] <= boundaries[i - 1])
            throw invalid_argument_error("bucket_by_length: boundary " + std::to_string(boundaries[i]) + " follows " +
                                         std::to_string(boundaries[i - 1]) + "; give them in ascending order");
    require_fill("bucket_by_length", from->components(), fill);
    return std::make_shared<bucketed_node>(std::move(from), std::move(boundaries), std::move(batch_sizes),
                                           std::move(length), drop_remainder, size, std::move(fill));
}

class unbatched_node final : public data_node {
public:
    explicit unbatched_node(pointer from) : data_node("unbatch", rows_of_types(from->components()), {from}) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    std::int64_t size() const override { return input().count_rows().all; }
    std::string no_access() const override {
        if (input().count_rows().each > 0) return input().no_access();
        return step() + " knows numbers of rows where they are a number in the types, or right behind batch()";
    }
    void at(std::int64_t i, std::uint64_t epoch, data_element& x) const override {
        const std::int64_t rows = input().count_rows().each;
        data_element batch;
        input().at(i / rows, epoch, batch);
        x.clear();
        for (any_array& a : batch) x.push_back(a.row(i % rows));
    }

private:
    static std::vector<tensor_type> rows_of_types(std::vector<tensor_type> types) {
        for (tensor_type& t : types) {
            if (t.extents.rank() == 0)
                throw invalid_argument_error("unbatch: elements are " + to_string(types) +
                                             ", and a scalar has no rows; every component needs a dimension");
            t.extents.erase(0);
        }
        return types;
    }
    class stream final : public element_stream {
    public:
        stream(const unbatched_node& n, pipeline& p) : types_(n.input().components()), from_(open_step(n.input(), p)) {}
        bool next(data_element& x) override {
            while (batch_.empty() || row_ == batch_[0].extents()[0].size) {
                batch_.clear();
                row_ = 0;
                if (!from_->next(batch_)) return false;
                for (const any_array& a : batch_)
                    if (!(a.extents()[0] == batch_[0].extents()[0])) {
                        const std::string types = to_string(a.type()) + " beside " + to_string(batch_[0].type());
                        batch_.clear();
                        throw invalid_argument_error("unbatch: a component is " + types +
                                                     ": they have different numbers of rows");
                    }
            }
            x.resize(batch_.size());
            for (std::size_t c = 0; c < batch_.size(); ++c) x[c] = batch_[c].row(row_);
            ++row_;
            return true;
        }
        void save(state_writer& to) override {
            to.number(!batch_.empty());
            if (!batch_.empty()) to.element(batch_);
            to.number(static_cast<std::uint64_t>(row_));
            from_->save(to);
        }
        void restore(state_reader& from) override {
            if (from.number(0, 1) != 0) batch_ = from.element(types_);
            else batch_.clear();
            const std::int64_t rows = batch_.empty() ? 0 : batch_[0].extents()[0].size;
            row_ = static_cast<std::int64_t>(from.number(0, static_cast<std::uint64_t>(rows)));
            for (const any_array& a : batch_)
                if (a.extents()[0].size != rows) from.damaged("a batch has components of different sizes");
            from_->restore(from);
        }

    private:
        const std::vector<tensor_type>& types_; // of batches
        std::unique_ptr<element_stream> from_;
        data_element batch_;
        std::int64_t row_ = 0; // the next
    };
};

TENON_INLINE data_node::pointer unbatched(data_node::pointer from) {
    return std::make_shared<unbatched_node>(std::move(from));
}

} // namespace tenon::detail

#include <tenon/data/steps/carrying/windows.inl>
