#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/data/steps/random_order.hpp>
#include <tenon/data/steps/sources.hpp>
#include <tenon/data/steps/steps.hpp>

namespace tenon::detail {

inline void require_at_least(const char* what, std::int64_t given, std::int64_t least) {
    if (given < least)
        throw invalid_argument_error(std::string(what) + " is " + std::to_string(given) + "; give " +
                                     std::to_string(least) + " or more");
}

// Whether each going through gives another order; whether one goes through the input several times.
enum class ordering_kind { same, changes, rounds };

// What moves the input's elements as they are: rows stay rows. Make(stream kind, pipeline, node) gives the stream; place(node, i, epoch) the
// number that element i has in the input, of which epoch it makes the input's.
template <class Make, class Place> class ordering_node final : public data_node {
public:
    ordering_node(std::string step, pointer from, std::int64_t size, Make make, Place place, ordering_kind kind) :
        data_node(std::move(step), from->components(), {from}),
        size_(size),
        make_(std::move(make)),
        place_(std::move(place)),
        kind_(kind) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override {
        return make_.template operator()<element_stream>(*this, p);
    }
    const data_rows* rows() const override { return input().rows(); }
    std::unique_ptr<index_stream> make_indices(pipeline& p) const override {
        return make_.template operator()<index_stream>(*this, p);
    }
    std::int64_t size() const override { return size_; }
    std::string no_access() const override {
        if constexpr (std::is_same_v<Place, const char*>) return step() + " " + place_;
        else return input().no_access();
    }
    void at(std::int64_t i, std::uint64_t epoch, data_element& x) const override {
        if constexpr (std::is_same_v<Place, const char*>) data_node::at(i, epoch, x);
        else {
            const std::int64_t place = place_(*this, i, epoch);
            input().at(place, epoch, x);
        }
    }
    bool changes() const override { return kind_ == ordering_kind::changes; }
    bool has_rounds() const override { return kind_ == ordering_kind::rounds || data_node::has_rounds(); }

private:
    const std::int64_t size_;
    const Make make_;
    const Place place_; // or why there is none, in words
    const ordering_kind kind_;
};
template <class Make, class Place>
data_node::pointer ordering(std::string step, data_node::pointer from, std::int64_t size, Make make, Place place,
                            ordering_kind kind = ordering_kind::same) {
    return std::make_shared<ordering_node<Make, Place>>(std::move(step), std::move(from), size, std::move(make),
                                                        std::move(place), kind);
}

// A stream of another, which counts down from `most` at the most.
template <class Stream> class counted_stream : public Stream {
public:
    counted_stream(std::unique_ptr<Stream> from, std::int64_t most, std::int64_t left) :
        from_(std::move(from)), most_(most), left_(left) {}
    void save(state_writer& to) override {
        to.number(static_cast<std::uint64_t>(left_));
        from_->save(to);
    }
    void restore(state_reader& from) override {
        left_ = static_cast<std::int64_t>(from.number(0, static_cast<std::uint64_t>(most_)));
        from_->restore(from);
    }

protected:
    // The next element behind those that are left.
    bool next_behind(typename Stream::item& x) {
        for (; left_ > 0; --left_)
            if (!from_->next(x)) return false;
        return from_->next(x);
    }

    std::unique_ptr<Stream> from_;
    const std::int64_t most_;
    std::int64_t left_;
};

template <class Stream> class skip_stream final : public counted_stream<Stream> {
public:
    skip_stream(std::unique_ptr<Stream> from, std::int64_t n) : counted_stream<Stream>(std::move(from), n, n) {}
    bool next(typename Stream::item& x) override { return this->next_behind(x); }
};

template <class Stream> class take_stream final : public counted_stream<Stream> {
public:
    take_stream(std::unique_ptr<Stream> from, std::int64_t n) : counted_stream<Stream>(std::move(from), n, n) {}
    bool next(typename Stream::item& x) override {
        if (this->left_ == 0 || !this->from_->next(x)) return false;
        --this->left_;
        return true;
    }
};

// What is left are elements of others, which come before the next.
template <class Stream> class shard_stream final : public counted_stream<Stream> {
public:
    shard_stream(std::unique_ptr<Stream> from, std::int64_t count, std::int64_t index) :
        counted_stream<Stream>(std::move(from), count - 1, index) {}
    bool next(typename Stream::item& x) override {
        if (!this->next_behind(x)) return false;
        this->left_ = this->most_;
        return true;
    }
};

template <class Stream> class repeat_stream final : public Stream {
public:
    repeat_stream(const data_node& from, pipeline& p, std::int64_t times) :
        node_(from), pipeline_(p), times_(times), left_(times) {}
    bool next(typename Stream::item& x) override {
        for (;;) {
            if (!now_) {
                if (left_ == 0) return false;
                if (left_ > 0) --left_;
                now_ = open_as<Stream>(node_, pipeline_);
                given_ = false;
            }
            if (now_->next(x)) return given_ = true;
            now_.reset();
            if (!given_ && left_ < 0) left_ = 0; // nothing without end is nothing
        }
    }
    void save(state_writer& to) override {
        to.number(static_cast<std::uint64_t>(left_));
        to.number(given_);
        to.number(now_ != nullptr);
        if (now_) now_->save(to);
        else save_epochs(to, node_, pipeline_); // it may be opened anew by a step behind
    }
    void restore(state_reader& from) override {
        left_ = static_cast<std::int64_t>(from.number());
        if (left_ < std::min<std::int64_t>(times_, 0) || left_ > std::max<std::int64_t>(times_, 0))
            from.damaged("it is repeated less often");
        given_ = from.number(0, 1) != 0;
        now_.reset();
        if (from.number(0, 1) == 0) return restore_epochs(from, node_, pipeline_);
        now_ = open_as<Stream>(node_, pipeline_);
        now_->restore(from);
    }

private:
    const data_node& node_;
    pipeline& pipeline_;
    const std::int64_t times_;
    std::int64_t left_; // times that it is not open yet; -1: no end
    bool given_ = false;
    std::unique_ptr<Stream> now_;
};

inline void save_item(state_writer& to, std::int64_t x) { to.number(static_cast<std::uint64_t>(x)); }
inline void save_item(state_writer& to, const data_element& x) { to.element(x); }
// Of node n's input: a place there, or an element.
inline void restore_item(state_reader& from, const data_node& n, std::int64_t& x) {
    x = static_cast<std::int64_t>(from.number());
    if (x < 0 || x >= n.rows()->arrays.front().extents()[0].size)
        from.damaged("the arrays have fewer rows than they had");
}
inline void restore_item(state_reader& from, const data_node& n, data_element& x) { x = from.element(n.components()); }

template <class Stream> class shuffle_stream final : public Stream {
public:
    shuffle_stream(const data_node& self, pipeline& p, std::int64_t room, std::uint64_t seed, bool anew) :
        self_(self),
        pipeline_(p),
        room_(static_cast<std::size_t>(room)),
        seed_(seed),
        epoch_(anew ? p.next_epoch(self) : 0),
        anew_(anew),
        random_(seed, epoch_),
        from_(open_as<Stream>(self.input(), p)) {}
    bool next(typename Stream::item& x) override {
        while (!ended_ && held_.size() < room_) {
            typename Stream::item more{};
            if (from_->next(more)) held_.push_back(std::move(more));
            else ended_ = true;
        }
        if (held_.empty()) return false;
        std::swap(held_[random_.below(held_.size())], held_.back());
        x = std::move(held_.back());
        held_.pop_back();
        return true;
    }
    void save(state_writer& to) override {
        to.number(seed_);
        to.number(epoch_);
        to.number(random_.state());
        to.number(ended_);
        to.number(held_.size());
        for (const auto& x : held_) save_item(to, x);
        from_->save(to);
    }
    void restore(state_reader& from) override {
        seed_ = from.number();
        epoch_ = from.number();
        if (anew_) pipeline_.set_epoch(self_, epoch_ + 1);
        random_.set_state(from.number());
        ended_ = from.number(0, 1) != 0;
        const std::uint64_t count = from.number(0, room_);
        held_.clear();
        for (std::uint64_t i = 0; i < count; ++i) restore_item(from, self_, held_.emplace_back());
        from_->restore(from);
    }

private:
    const data_node& self_;
    pipeline& pipeline_;
    const std::size_t room_;
    std::uint64_t seed_, epoch_;
    const bool anew_;
    order_generator random_;
    std::vector<typename Stream::item> held_;
    bool ended_ = false;
    std::unique_ptr<Stream> from_;
};

// The order in which a shuffle gives n elements: what shuffle_stream does with their numbers.
inline std::vector<std::int64_t> shuffled_places(std::int64_t n, std::int64_t buffer, std::uint64_t seed,
                                                 std::uint64_t epoch) {
    order_generator random(seed, epoch);
    std::vector<std::int64_t> held, places;
    places.reserve(static_cast<std::size_t>(n));
    for (std::int64_t next = 0; next < n || !held.empty();) {
        while (next < n && static_cast<std::int64_t>(held.size()) < buffer) held.push_back(next++);
        std::swap(held[random.below(held.size())], held.back());
        places.push_back(held.back());
        held.pop_back();
    }
    return places;
}

TENON_INLINE data_node::pointer skipped(data_node::pointer from, std::int64_t n) {
    require_at_least("skip: the number of elements", n, 0);
    const std::int64_t size = from->size();
    return ordering(
        step_name("skip", n), std::move(from), size < 0 ? size : std::max<std::int64_t>(0, size - n),
        [n]<class Stream>(const data_node& self, pipeline& p) {
            return std::make_unique<skip_stream<Stream>>(open_as<Stream>(self.input(), p), n);
        },
        [n](const data_node&, std::int64_t i, std::uint64_t&) { return i + n; });
}

TENON_INLINE data_node::pointer taken(data_node::pointer from, std::int64_t n) {
    require_at_least("take: the number of elements", n, 0);
    const std::int64_t size = from->size();
    return ordering(
        step_name("take", n), std::move(from), size < 0 ? (size == endless ? n : size) : std::min(size, n),
        [n]<class Stream>(const data_node& self, pipeline& p) {
            return std::make_unique<take_stream<Stream>>(open_as<Stream>(self.input(), p), n);
        },
        [n](const data_node&, std::int64_t i, std::uint64_t&) {
            if (i >= n) throw_no_element(i, n);
            return i;
        });
}

TENON_INLINE data_node::pointer sharded(data_node::pointer from, std::int64_t count, std::int64_t index) {
    require_at_least("shard: the number of shards", count, 1);
    if (index < 0 || index >= count)
        throw invalid_argument_error("shard: there is no shard " + std::to_string(index) + " of " +
                                     std::to_string(count) + "; they are numbered from 0");
    const std::int64_t size = from->size();
    return ordering(
        "shard(" + std::to_string(index) + " of " + std::to_string(count) + ")", std::move(from),
        size < 0 ? size : (size - index + count - 1) / count,
        [count, index]<class Stream>(const data_node& self, pipeline& p) {
            return std::make_unique<shard_stream<Stream>>(open_as<Stream>(self.input(), p), count, index);
        },
        [count, index](const data_node&, std::int64_t i, std::uint64_t&) { return i * count + index; });
}

TENON_INLINE data_node::pointer repeated(data_node::pointer from, std::int64_t times) {
    if (times < -1)
        throw invalid_argument_error("repeat: " + std::to_string(times) +
                                     " times; give how often, or nothing for without end");
    const std::int64_t size = from->size();
    const bool known =
        times >= 0 && size >= 0 &&
        (size == 0 || times <= std::numeric_limits<std::int64_t>::max() / std::max<std::int64_t>(1, size));
    std::int64_t all = known ? size * times : size_unknown;
    if (size == endless || (size > 0 && times < 0)) all = times == 0 ? 0 : endless;
    if (size == 0) all = 0;
    const std::string name = times < 0 ? "repeat" : step_name("repeat", times);
    const auto make = [times]<class Stream>(const data_node& self, pipeline& p) {
        return std::make_unique<repeat_stream<Stream>>(self.input(), p, times);
    };
    if (size == size_unknown)
        return ordering(name, std::move(from), all, make, "does not know how many elements a round has",
                        ordering_kind::rounds);
    // How often what is before an inner one was opened depends on how much of it was taken.
    if (from->differs_by_epoch() && from->has_rounds())
        return ordering(name, std::move(from), all, make, "has others in each round of another repeat",
                        ordering_kind::rounds);
    return ordering(
        name, std::move(from), all, make,
        [](const data_node& self, std::int64_t i, std::uint64_t& epoch) {
            const std::int64_t round = self.input().size();
            if (round == endless) return i; // there is no second one
            epoch = static_cast<std::uint64_t>(i / round);
            return i % round;
        },
        ordering_kind::rounds);
}

TENON_INLINE data_node::pointer shuffled(data_node::pointer from, std::int64_t buffer, std::uint64_t seed,
                                         bool each_epoch_anew) {
    require_at_least("shuffle: the buffer", buffer, 1);
    const std::int64_t size = from->size();
    seed = seed_or_any(seed);
    const auto make = [buffer, seed, each_epoch_anew]<class Stream>(const data_node& self, pipeline& p) {
        return std::make_unique<shuffle_stream<Stream>>(self, p, buffer, seed, each_epoch_anew);
    };
    const ordering_kind kind = each_epoch_anew ? ordering_kind::changes : ordering_kind::same;
    if (size < 0)
        return ordering(step_name("shuffle", buffer), std::move(from), size, make,
                        "has an order only where it is known how many there are", kind);
    return ordering(
        step_name("shuffle", buffer), std::move(from), size, make,
        [buffer, seed, each_epoch_anew, kept = std::make_shared<kept_order>()](const data_node& self, std::int64_t i,
                                                                               std::uint64_t& epoch) {
            const auto places = kept->of_epoch(each_epoch_anew ? epoch : 0, [&](std::uint64_t e) {
                return shuffled_places(self.input().size(), buffer, seed, e);
            });
            return (*places)[static_cast<std::size_t>(i)];
        },
        kind);
}

class enumerated_node final : public data_node {
public:
    enumerated_node(pointer from, std::int64_t first) :
        data_node("enumerate", with_number(from->components()), {from}), first_(first) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    std::int64_t size() const override { return input().size(); }
    std::string no_access() const override { return input().no_access(); }
    void at(std::int64_t i, std::uint64_t epoch, data_element& x) const override {
        input().at(i, epoch, x);
        add_number(first_ + i, x);
    }

private:
    static void add_number(std::int64_t number, data_element& x) {
        any_array first(element_type::int64, {});
        *static_cast<std::int64_t*>(first.data()) = number;
        x.insert(x.begin(), std::move(first));
    }
    static std::vector<tensor_type> with_number(std::vector<tensor_type> types) {
        types.insert(types.begin(), tensor_type{element_type::int64, {}});
        return types;
    }
    class stream final : public element_stream {
    public:
        stream(const enumerated_node& n, pipeline& p) : from_(open_step(n.input(), p)), number_(n.first_) {}
        bool next(data_element& x) override {
            if (!from_->next(x)) return false;
            add_number(number_++, x);
            return true;
        }
        void save(state_writer& to) override {
            to.number(static_cast<std::uint64_t>(number_));
            from_->save(to);
        }
        void restore(state_reader& from) override {
            number_ = static_cast<std::int64_t>(from.number());
            from_->restore(from);
        }

    private:
        std::unique_ptr<element_stream> from_;
        std::int64_t number_;
    };
    const std::int64_t first_;
};

TENON_INLINE data_node::pointer enumerated(data_node::pointer from, std::int64_t first) {
    return std::make_shared<enumerated_node>(std::move(from), first);
}

} // namespace tenon::detail

#include <tenon/data/steps/combined.inl>
