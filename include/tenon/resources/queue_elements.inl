#pragma once

#include <map>

#include <tenon/simd/philox.hpp>

// A part of resources/queue.ipp: what is in a queue, by its order.

namespace tenon::detail {

// Nothing but put() wants memory: it makes room for what somebody has who may put it back, too.
class queue_elements {
public:
    virtual ~queue_elements() = default;
    /// `held`: those that were taken and may be put back.
    virtual void put(queue_element&& e, std::size_t held) = 0;
    virtual queue_element take() noexcept = 0; // there is one
    /// One that was taken, to where it was.
    virtual void put_back(queue_element&& e) noexcept = 0;
    /// Exchanges for the next one where that comes before it.
    virtual bool exchange(queue_element& e) noexcept {
        (void)e;
        return false; // what was taken earlier comes first
    }
    /// Those with this number and later ones go.
    virtual void withdraw(std::uint64_t first) noexcept = 0;
    virtual std::size_t size() const noexcept = 0;
};

// A ring.
class fifo_elements final : public queue_elements {
public:
    void put(queue_element&& e, std::size_t held) override {
        make_room(size_ + held + 1);
        at(size_++) = std::move(e);
    }
    queue_element take() noexcept override {
        queue_element e = std::move(at(0));
        first_ = (first_ + 1) & (all_.size() - 1);
        --size_;
        return e;
    }
    void put_back(queue_element&& e) noexcept override {
        std::size_t to = 0;
        while (to < size_ && at(to).number < e.number) ++to;
        if (to == 0) first_ = (first_ - 1) & (all_.size() - 1); // most come back to the front
        else
            for (std::size_t i = size_; i > to; --i) at(i) = std::move(at(i - 1));
        ++size_;
        at(to) = std::move(e);
    }
    void withdraw(std::uint64_t first) noexcept override {
        for (; size_ > 0 && at(size_ - 1).number >= first; --size_) at(size_ - 1) = {};
    }
    std::size_t size() const noexcept override { return size_; }

private:
    queue_element& at(std::size_t i) noexcept { return all_[(first_ + i) & (all_.size() - 1)]; }
    // What a queue held once it does not keep memory for.
    void make_room(std::size_t count) {
        constexpr std::size_t least = 16, most_spare = 4096;
        if (count <= all_.size() && (all_.size() <= most_spare || count > all_.size() / 8)) return;
        std::size_t size = least;
        while (size < 2 * count) size *= 2;
        std::vector<queue_element> more(size);
        for (std::size_t i = 0; i < size_; ++i) more[i] = std::move(at(i));
        all_.swap(more);
        first_ = 0;
    }
    std::vector<queue_element> all_; // a power of two
    std::size_t first_ = 0, size_ = 0;
};

class shuffled_elements final : public queue_elements {
public:
    explicit shuffled_elements(std::uint64_t key) : random_{key, 0} {}
    void put(queue_element&& e, std::size_t held) override {
        if (const std::size_t count = all_.size() + held + 1; count > all_.capacity()) all_.reserve(2 * count);
        all_.push_back(std::move(e));
    }
    queue_element take() noexcept override {
        const philox_block b = random_.block(taken_++);
        const std::uint64_t number = std::uint64_t{b.word[1]} << 32 | b.word[0];
        const auto at = static_cast<std::size_t>(number % all_.size()); // the sizes are far below 2^64
        std::swap(all_[at], all_.back());
        queue_element e = std::move(all_.back());
        all_.pop_back();
        return e;
    }
    void put_back(queue_element&& e) noexcept override { all_.push_back(std::move(e)); }
    void withdraw(std::uint64_t first) noexcept override {
        std::erase_if(all_, [&](const queue_element& e) { return e.number >= first; });
    }
    std::size_t size() const noexcept override { return all_.size(); }

private:
    std::vector<queue_element> all_;
    random_stream random_;
    std::uint64_t taken_ = 0;
};

class priority_elements final : public queue_elements {
public:
    void put(queue_element&& e, std::size_t held) override {
        if (const std::size_t count = all_.size() + held + 1; count > spare_.capacity()) spare_.reserve(2 * count);
        while (spare_.size() > held) spare_.pop_back();
        const auto key = key_of(e);
        all_.emplace(key, std::move(e));
    }
    queue_element take() noexcept override {
        spare_.push_back(all_.extract(all_.begin()));
        return std::move(spare_.back().mapped());
    }
    void put_back(queue_element&& e) noexcept override {
        auto node = std::move(spare_.back());
        spare_.pop_back();
        enter(std::move(node), std::move(e));
    }
    bool exchange(queue_element& e) noexcept override {
        if (all_.empty() || key_of(e) < all_.begin()->first) return false;
        auto node = all_.extract(all_.begin());
        queue_element least = std::move(node.mapped());
        enter(std::move(node), std::exchange(e, std::move(least)));
        return true;
    }
    void withdraw(std::uint64_t first) noexcept override {
        std::erase_if(all_, [&](const auto& e) { return e.second.number >= first; });
    }
    std::size_t size() const noexcept override { return all_.size(); }

private:
    using elements = std::map<std::pair<std::int64_t, std::uint64_t>, queue_element>;
    static std::pair<std::int64_t, std::uint64_t> key_of(const queue_element& e) { return {e.priority, e.number}; }
    void enter(elements::node_type&& node, queue_element&& e) noexcept {
        node.key() = key_of(e);
        node.mapped() = std::move(e);
        all_.insert(std::move(node));
    }
    elements all_;
    std::vector<elements::node_type> spare_; // of those that were taken
};

} // namespace tenon::detail
