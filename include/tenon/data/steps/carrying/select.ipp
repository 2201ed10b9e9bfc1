#pragma once

#include <utility>

#include <tenon/data/steps/steps.hpp>

namespace tenon::detail {

class selected_node final : public data_node {
public:
    selected_node(pointer from, std::vector<std::int64_t> places) :
        data_node("select", from->components(), {from}), places_(std::move(places)) {}
    // Rows in memory stay rows: only places are moved.
    const data_rows* rows() const override { return input().gives_rows_as_they_lie() ? input().rows() : nullptr; }
    std::unique_ptr<index_stream> make_indices(pipeline&) const override {
        return std::make_unique<stream<index_stream>>(*this);
    }
    std::unique_ptr<element_stream> make(pipeline&) const override {
        return std::make_unique<stream<element_stream>>(*this);
    }
    bool may_wait() const override { return true; } // what is before it is asked for any element
    std::int64_t size() const override { return static_cast<std::int64_t>(places_.size()); }
    std::string no_access() const override { return input().no_access(); }
    void at(std::int64_t i, std::uint64_t, data_element& x) const override {
        input().at(places_[static_cast<std::size_t>(i)], 0, x);
    }
    bool differs_by_epoch() const override { return false; }
    bool has_rounds() const override { return false; }

private:
    template <class Stream> class stream final : public Stream {
    public:
        explicit stream(const selected_node& n) : node_(n) {}
        bool next(typename Stream::item& x) override {
            if (at_ == node_.places_.size()) return false;
            take(node_.places_[at_++], x);
            return true;
        }
        void save(state_writer& to) override { to.number(at_); }
        void restore(state_reader& from) override {
            at_ = static_cast<std::size_t>(from.number(0, node_.places_.size()));
        }

    private:
        void take(std::int64_t place, std::int64_t& x) const { x = place; }
        void take(std::int64_t place, data_element& x) const { node_.input().at(place, 0, x); }
        const selected_node& node_;
        std::size_t at_ = 0;
    };
    const std::vector<std::int64_t> places_;
};

TENON_INLINE data_node::pointer selected(data_node::pointer from, std::vector<std::int64_t> places) {
    return std::make_shared<selected_node>(std::move(from), std::move(places));
}

} // namespace tenon::detail
