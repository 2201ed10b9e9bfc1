#pragma once

#include <memory>
#include <utility>

#include <tenon/data/steps/steps.hpp>

namespace tenon::detail {

class take_while_node final : public data_node {
public:
    take_while_node(pointer from, shared_function<bool(const data_element&)> f) :
        data_node("take_while", from->components(), {from}), goes_on_(std::move(f)) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override {
        return std::make_unique<stream>(open_step(input(), p), goes_on_);
    }
    bool may_wait() const override { return true; } // the function is the user's

private:
    class stream final : public element_stream {
    public:
        stream(std::unique_ptr<element_stream> from, const shared_function<bool(const data_element&)>& f) :
            from_(std::move(from)), goes_on_(f) {}
        bool next(data_element& x) override {
            if (ended_ || !from_->next(x)) return false;
            if (goes_on_(x)) return true;
            ended_ = true;
            return false;
        }
        void save(state_writer& to) override {
            to.number(ended_);
            from_->save(to);
        }
        void restore(state_reader& from) override {
            ended_ = from.number(0, 1) == 1;
            from_->restore(from);
        }

    private:
        std::unique_ptr<element_stream> from_;
        shared_function<bool(const data_element&)> goes_on_;
        bool ended_ = false;
    };

    const shared_function<bool(const data_element&)> goes_on_;
};

TENON_INLINE data_node::pointer taken_while(data_node::pointer from, shared_function<bool(const data_element&)> f) {
    return std::make_shared<take_while_node>(std::move(from), std::move(f));
}

} // namespace tenon::detail
