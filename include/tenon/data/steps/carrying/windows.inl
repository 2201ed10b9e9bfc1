#pragma once

#include <deque>
#include <memory>
#include <string>

// A part of data/steps/batching.ipp: elements that follow one another, of which one may be in several windows.

namespace tenon::detail {

class windowed_node final : public data_node {
public:
    windowed_node(pointer from, std::int64_t n, std::int64_t shift, std::int64_t stride, bool drop, extent size) :
        data_node("window(" + std::to_string(n) + ")", stacked_types("window", from->components(), size), {from}),
        n_(n),
        shift_(shift),
        stride_(stride),
        drop_(drop) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    std::int64_t size() const override {
        const std::int64_t size = input().size(), left = size - (drop_ ? (n_ - 1) * stride_ : 0);
        return size < 0 ? size : left > 0 ? (left - 1) / shift_ + 1 : 0;
    }
    std::string no_access() const override { return no_access_by_count(*this); }
    void at(std::int64_t i, std::uint64_t epoch, data_element& x) const override {
        put_together(*this, epoch, i * shift_, n_, stride_, batch_maker(step(), input().components(), false), x);
    }

private:
    class stream final : public element_stream {
    public:
        stream(const windowed_node& n, pipeline& p) :
            node_(n), from_(open_step(n.input(), p)), maker_(n.step(), n.input().components(), false) {}
        bool next(data_element& x) override {
            const std::int64_t wanted = (node_.n_ - 1) * node_.stride_ + 1;
            while (!ended_ && static_cast<std::int64_t>(held_.size()) < wanted) {
                data_element single;
                if (!from_->next(single)) ended_ = true;
                else if (skipped_ > 0) --skipped_;
                else held_.push_back(std::move(single));
            }
            if (held_.empty() || (node_.drop_ && static_cast<std::int64_t>(held_.size()) < wanted)) return false;
            std::vector<const data_element*> elements;
            for (std::size_t i = 0; i < held_.size() && static_cast<std::int64_t>(elements.size()) < node_.n_;
                 i += static_cast<std::size_t>(node_.stride_))
                elements.push_back(&held_[i]);
            try {
                maker_.make(elements, x);
            } catch (...) { // what makes no window is left behind
                go_on();
                throw;
            }
            go_on();
            return true;
        }
        void save(state_writer& to) override {
            to.number(ended_);
            to.number(static_cast<std::uint64_t>(skipped_));
            to.number(held_.size());
            for (const data_element& e : held_) to.element(e);
            from_->save(to);
        }
        void restore(state_reader& from) override {
            ended_ = from.number(0, 1) != 0;
            skipped_ = static_cast<std::int64_t>(from.number(0, static_cast<std::uint64_t>(node_.shift_)));
            const std::uint64_t count = from.number(0, static_cast<std::uint64_t>((node_.n_ - 1) * node_.stride_ + 1));
            for (std::uint64_t i = 0; i < count; ++i) held_.push_back(from.element(node_.input().components()));
            from_->restore(from);
        }

    private:
        void go_on() {
            const auto gone = std::min(static_cast<std::int64_t>(held_.size()), node_.shift_);
            held_.erase(held_.begin(), held_.begin() + gone);
            skipped_ = node_.shift_ - gone;
        }
        const windowed_node& node_;
        std::unique_ptr<element_stream> from_;
        batch_maker maker_;
        std::deque<data_element> held_; // from the window's first element on
        std::int64_t skipped_ = 0;      // elements that come between two windows
        bool ended_ = false;
    };
    const std::int64_t n_, shift_, stride_;
    const bool drop_;
};

TENON_INLINE data_node::pointer windowed(data_node::pointer from, std::int64_t n, std::int64_t shift,
                                         std::int64_t stride, bool drop_remainder, extent size) {
    if (n < 1 || shift < 1 || stride < 1 || n > (std::int64_t{1} << 40) / stride)
        throw invalid_argument_error("window: " + std::to_string(n) + " elements, a shift of " + std::to_string(shift) +
                                     " and a stride of " + std::to_string(stride) + "; give 1 or more for each");
    return std::make_shared<windowed_node>(std::move(from), n, shift, stride, drop_remainder, size);
}

} // namespace tenon::detail
