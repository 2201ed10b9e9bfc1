#pragma once

#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/data/steps/steps.hpp>

namespace tenon::detail {

class scanned_node final : public data_node {
public:
    scanned_node(const char* step, pointer from, std::vector<any_array> initial, std::vector<tensor_type> state,
                 std::vector<tensor_type> types, std::shared_ptr<const element_function> f) :
        data_node(step, std::move(types), {std::move(from)}),
        initial_(std::move(initial)),
        state_(std::move(state)),
        function_(std::move(f)) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    bool may_wait() const override { return function_->may_wait() || input().may_wait(); }
    std::int64_t size() const override { return input().size(); }
    std::string no_access() const override { return step() + " needs all elements before one to make it"; }
    bool changes() const override { return function_->draws(); }

private:
    class stream final : public element_stream {
    public:
        stream(const scanned_node& n, pipeline& p) :
            node_(n), pipeline_(p), from_(open_step(n.input(), p)), epoch_(p.next_epoch(n)) {
            for (const any_array& a : n.initial_) state_.push_back(a.share());
        }
        bool next(data_element& x) override {
            if (!from_->next(x)) return false;
            data_element both;
            for (const any_array& a : state_) both.push_back(a.share());
            for (any_array& a : x) both.push_back(std::move(a));
            x.clear();
            (void)apply_to(*node_.function_, node_.step(), both, epoch_, number_++);
            // Who takes an element may write to it, and the state is not his.
            for (std::size_t i = state_.size(); i < both.size(); ++i)
                x.push_back(both[i].is_unique() ? std::move(both[i]) : both[i].copy());
            both.resize(state_.size());
            state_ = std::move(both);
            return true;
        }
        void save(state_writer& to) override {
            to.number(epoch_);
            to.number(number_);
            to.element(state_);
            from_->save(to);
        }
        void restore(state_reader& from) override {
            epoch_ = from.number();
            pipeline_.set_epoch(node_, epoch_ + 1);
            number_ = from.number();
            state_ = from.element(node_.state_);
            from_->restore(from);
        }

    private:
        const scanned_node& node_;
        pipeline& pipeline_;
        std::unique_ptr<element_stream> from_;
        std::uint64_t epoch_, number_ = 0;
        data_element state_;
    };

    const std::vector<any_array> initial_;
    const std::vector<tensor_type> state_;
    const std::shared_ptr<const element_function> function_;
};

TENON_INLINE data_node::pointer scanned(const char* step, data_node::pointer from, std::vector<any_array> initial,
                                        std::vector<tensor_type> state, const std::vector<tensor_type>& types,
                                        std::shared_ptr<const element_function> f) {
    bool fits = types.size() > state.size() && initial.size() == state.size();
    for (std::size_t i = 0; fits && i < state.size(); ++i)
        fits = types[i] == state[i] && misfit(initial[i].type(), state[i]).empty();
    if (!fits)
        throw invalid_argument_error(std::string(step) + ": of a state of " + to_string(state) +
                                     " the function gives " + to_string(types) +
                                     "; it must give a state of the same types, and behind it an element");
    std::vector<tensor_type> gives(types.begin() + static_cast<std::ptrdiff_t>(state.size()), types.end());
    return std::make_shared<scanned_node>(step, std::move(from), std::move(initial), std::move(state), std::move(gives),
                                          std::move(f));
}

} // namespace tenon::detail
