#pragma once

#include <memory>
#include <string>

// A part of data/steps/order.ipp: one data set of several, behind or beside each other, or mixed.

namespace tenon::detail {

// Types that hold both, where they may follow one another: sizes that differ are not known.
inline std::vector<tensor_type> common_types(const char* step, const std::vector<tensor_type>& x,
                                             const std::vector<tensor_type>& y) {
    bool fit = x.size() == y.size();
    for (std::size_t c = 0; fit && c < x.size(); ++c)
        fit = x[c].element == y[c].element && x[c].extents.rank() == y[c].extents.rank();
    if (!fit)
        throw invalid_argument_error(std::string(step) + ": elements of " + to_string(x) + " and of " + to_string(y) +
                                     " make no data set; they need the same element types and numbers of dimensions");
    std::vector<tensor_type> both = x;
    for (std::size_t c = 0; c < x.size(); ++c)
        for (int d = 0; d < x[c].extents.rank(); ++d)
            if (!(x[c].extents[d] == y[c].extents[d])) both[c].extents[d] = dynamic_extent;
    return both;
}

// Streams of a node's inputs.
inline std::vector<std::unique_ptr<element_stream>> open_inputs(const data_node& n, pipeline& p) {
    std::vector<std::unique_ptr<element_stream>> all;
    for (const data_node::pointer& i : n.inputs()) all.push_back(open_step(*i, p));
    return all;
}

class concatenated_node final : public data_node {
public:
    concatenated_node(std::vector<tensor_type> types, std::vector<pointer> all) :
        data_node("concatenate", std::move(types), std::move(all)) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    std::int64_t size() const override {
        const std::int64_t a = input(0).size(), b = input(1).size();
        if (a < 0 || b < 0) return a == endless || (a >= 0 && b == endless) ? endless : size_unknown;
        return a + b;
    }
    std::string no_access() const override {
        for (const pointer& i : inputs())
            if (std::string why = i->no_access(); !why.empty()) return why;
        if (input(0).size() != size_unknown) return {};
        return step() + " does not know how many elements its first data set has";
    }
    void at(std::int64_t i, std::uint64_t epoch, data_element& x) const override {
        const std::int64_t first = input(0).size();
        if (first == endless || i < first) input(0).at(i, epoch, x);
        else input(1).at(i - first, epoch, x);
    }

private:
    class stream final : public element_stream {
    public:
        stream(const data_node& n, pipeline& p) : node_(n), pipeline_(p), now_(open_step(n.input(0), p)) {}
        bool next(data_element& x) override {
            if (now_->next(x)) return true;
            if (at_ == 1) return false;
            at_ = 1;
            now_ = open_step(node_.input(1), pipeline_);
            return now_->next(x);
        }
        void save(state_writer& to) override {
            to.number(at_);
            now_->save(to);
            save_epochs(to, node_.input(1 - at_), pipeline_); // which is not open
        }
        void restore(state_reader& from) override {
            at_ = from.number(0, 1);
            if (at_ == 1) now_ = open_step(node_.input(1), pipeline_);
            now_->restore(from);
            restore_epochs(from, node_.input(1 - at_), pipeline_);
        }

    private:
        const data_node& node_;
        pipeline& pipeline_;
        std::uint64_t at_ = 0;
        std::unique_ptr<element_stream> now_;
    };
};

TENON_INLINE data_node::pointer concatenated(data_node::pointer first, data_node::pointer second) {
    auto types = common_types("concatenate", first->components(), second->components());
    return std::make_shared<concatenated_node>(std::move(types), std::vector{std::move(first), std::move(second)});
}

class zipped_node final : public data_node {
public:
    zipped_node(std::vector<tensor_type> types, std::vector<pointer> all) :
        data_node("zip", std::move(types), std::move(all)) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    std::int64_t size() const override {
        std::int64_t least = endless;
        for (const pointer& i : inputs()) {
            const std::int64_t size = i->size();
            if (size == size_unknown) return size;
            if (size != endless) least = least == endless ? size : std::min(least, size);
        }
        return least;
    }
    std::string no_access() const override {
        for (const pointer& i : inputs())
            if (std::string why = i->no_access(); !why.empty()) return why;
        return {};
    }
    void at(std::int64_t i, std::uint64_t epoch, data_element& x) const override {
        x.clear();
        data_element part;
        for (const pointer& from : inputs()) {
            from->at(i, epoch, part);
            for (any_array& a : part) x.push_back(std::move(a));
        }
    }

private:
    class stream final : public element_stream {
    public:
        stream(const data_node& n, pipeline& p) : parts_(open_inputs(n, p)) {}
        bool next(data_element& x) override {
            data_element all;
            std::exception_ptr failure;
            for (auto& part : parts_) {
                if (ended_) return false;
                try { // all go on by one, so that they stay beside each other
                    ended_ = !part->next(one_);
                    for (any_array& a : one_) all.push_back(std::move(a));
                } catch (...) {
                    if (!failure) failure = std::current_exception();
                }
            }
            if (failure) std::rethrow_exception(failure);
            x = std::move(all);
            return !ended_;
        }
        void save(state_writer& to) override {
            to.number(ended_);
            for (auto& part : parts_) part->save(to);
        }
        void restore(state_reader& from) override {
            ended_ = from.number(0, 1) != 0;
            for (auto& part : parts_) part->restore(from);
        }

    private:
        std::vector<std::unique_ptr<element_stream>> parts_;
        data_element one_;
        bool ended_ = false;
    };
};

TENON_INLINE data_node::pointer zipped(std::vector<data_node::pointer> all) {
    std::vector<tensor_type> types;
    for (const data_node::pointer& single : all)
        types.insert(types.end(), single->components().begin(), single->components().end());
    // Arrays beside each other are more arrays.
    if (std::all_of(all.begin(), all.end(), [](const auto& single) { return single->gives_rows_as_they_lie(); })) {
        std::int64_t rows = all.front()->size();
        for (const data_node::pointer& single : all) rows = std::min(rows, single->size());
        data_rows both;
        for (const data_node::pointer& single : all) {
            const data_rows& those = *single->rows();
            for (const any_array& a : those.arrays) both.arrays.push_back(a.share().slice(0, rows));
            both.files.insert(both.files.end(), those.files.begin(), those.files.end());
        }
        return row_elements(std::move(both), std::move(types));
    }
    return std::make_shared<zipped_node>(std::move(types), std::move(all));
}

// Which data set the next element is of, by weights; those of weight 0 are not asked.
class weighted_choice {
public:
    weighted_choice(std::vector<double> weights, std::uint64_t seed, std::uint64_t epoch) :
        weights_(std::move(weights)), random_(seed, epoch) {}
    /// False where none is left.
    bool next(std::size_t& chosen) {
        double sum = 0;
        for (const double w : weights_) sum += w;
        if (!(sum > 0)) return false;
        double at = random_.fraction() * sum;
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            if (weights_[i] == 0) continue;
            chosen = i; // the last one, where rounding leaves something over
            if (at < weights_[i]) break;
            at -= weights_[i];
        }
        return true;
    }
    void end(std::size_t i) { weights_[i] = 0; }
    bool has_ended(std::size_t i) const { return weights_[i] == 0; }
    order_generator& random() { return random_; }

private:
    std::vector<double> weights_;
    order_generator random_;
};

class sampled_node final : public data_node {
public:
    sampled_node(std::vector<tensor_type> types, std::vector<pointer> all, std::vector<double> weights,
                 std::uint64_t seed) :
        data_node("sample", std::move(types), std::move(all)), weights_(std::move(weights)), seed_(seed) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    std::int64_t size() const override {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < inputs().size(); ++i) {
            if (weights_[i] == 0) continue;
            const std::int64_t size = input(i).size();
            if (size < 0) return size;
            sum += size;
        }
        return sum;
    }
    std::string no_access() const override {
        for (std::size_t i = 0; i < inputs().size(); ++i)
            if (std::string why = input(i).no_access(); weights_[i] != 0 && !why.empty()) return why;
        return size() < 0 ? step() + " has an order only where it is known how many there are" : std::string();
    }
    void at(std::int64_t i, std::uint64_t epoch, data_element& x) const override {
        const auto count = static_cast<std::int64_t>(inputs().size());
        const auto places = order_.of_epoch(epoch, [&](std::uint64_t e) {
            weighted_choice choice(weights_, seed_, e);
            std::vector<std::int64_t> all, given(inputs().size());
            for (std::size_t from = 0; choice.next(from);) {
                if (given[from] == input(from).size()) choice.end(from);
                else all.push_back(given[from]++ * count + static_cast<std::int64_t>(from));
            }
            return all;
        });
        const std::int64_t place = (*places)[static_cast<std::size_t>(i)];
        input(static_cast<std::size_t>(place % count)).at(place / count, epoch, x);
    }
    bool changes() const override { return true; }

private:
    class stream final : public element_stream {
    public:
        stream(const sampled_node& n, pipeline& p) :
            node_(n),
            pipeline_(p),
            parts_(open_inputs(n, p)),
            epoch_(p.next_epoch(n)),
            choice_(n.weights_, n.seed_, epoch_) {}
        bool next(data_element& x) override {
            for (std::size_t from = 0; choice_.next(from); choice_.end(from))
                if (parts_[from]->next(x)) return true;
            return false;
        }
        void save(state_writer& to) override {
            to.number(epoch_);
            to.number(choice_.random().state());
            for (std::size_t i = 0; i < parts_.size(); ++i) {
                to.number(choice_.has_ended(i));
                parts_[i]->save(to);
            }
        }
        void restore(state_reader& from) override {
            epoch_ = from.number();
            pipeline_.set_epoch(node_, epoch_ + 1);
            choice_.random().set_state(from.number());
            for (std::size_t i = 0; i < parts_.size(); ++i) {
                if (from.number(0, 1) != 0) choice_.end(i);
                parts_[i]->restore(from);
            }
        }

    private:
        const data_node& node_;
        pipeline& pipeline_;
        std::vector<std::unique_ptr<element_stream>> parts_;
        std::uint64_t epoch_;
        weighted_choice choice_;
    };
    const std::vector<double> weights_;
    const std::uint64_t seed_;
    mutable kept_order order_;
};

TENON_INLINE data_node::pointer sampled(std::vector<data_node::pointer> all, std::vector<double> weights,
                                        std::uint64_t seed) {
    if (weights.empty()) weights.assign(all.size(), 1.0);
    double sum = 0;
    bool good = weights.size() == all.size();
    for (const double w : weights) {
        good = good && w >= 0 && w <= std::numeric_limits<double>::max();
        sum += w;
    }
    if (!good || !(sum > 0) || sum > std::numeric_limits<double>::max())
        throw invalid_argument_error("sample: " + std::to_string(all.size()) + " data sets and " +
                                     std::to_string(weights.size()) +
                                     " weights; give one for each, 0 or more, and not all 0");
    std::vector<tensor_type> types = all[0]->components();
    for (const data_node::pointer& single : all) types = common_types("sample", types, single->components());
    return std::make_shared<sampled_node>(std::move(types), std::move(all), std::move(weights), seed_or_any(seed));
}

} // namespace tenon::detail
