#pragma once

#include <algorithm>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/data/steps/buffering.hpp>
#include <tenon/data/steps/kept_failure.hpp>
#include <tenon/data/steps/nested.hpp>

namespace tenon::detail {

class interleaved_node final : public data_node {
public:
    interleaved_node(std::string step, pointer from, std::vector<tensor_type> types, made_data_set f,
                     std::int64_t cycle, std::int64_t block, int parallelism) :
        data_node(std::move(step), std::move(types), {std::move(from)}),
        made_(std::move(f)),
        cycle_(cycle),
        block_(block),
        parallelism_(parallelism) {}
    std::unique_ptr<element_stream> make(pipeline& p) const override { return std::make_unique<stream>(*this, p); }
    bool may_wait() const override { return true; } // nobody knows what the function will give

private:
    class stream final : public element_stream {
    public:
        stream(const interleaved_node& n, pipeline& p) :
            node_(n),
            pipeline_(p),
            epoch_(p.next_epoch(n)),
            from_(open_step(n.input(), p)),
            open_(static_cast<std::size_t>(n.cycle_)) {}
        bool next(data_element& x) override {
            for (;;) {
                inner& now = open_[at_];
                if (now.stream) {
                    if (now.stream->next(x)) {
                        if (++in_block_ == node_.block_) turn();
                        return true;
                    }
                    now = {};
                    turn();
                } else if (!ended_) {
                    data_element made_of;
                    if (from_->next(made_of)) open(now, std::move(made_of), number_++);
                    else ended_ = true;
                } else if (std::none_of(open_.begin(), open_.end(), [](const inner& i) { return i.stream != nullptr; }))
                    return false;
                else turn();
            }
        }
        void save(state_writer& to) override {
            to.number(epoch_);
            to.number(number_);
            to.number(at_);
            to.number(static_cast<std::uint64_t>(in_block_));
            to.number(ended_);
            for (inner& i : open_) {
                to.number(i.stream != nullptr);
                if (!i.stream) continue;
                to.element(i.made_of);
                to.number(i.number);
                i.stream->save(to);
            }
            from_->save(to);
        }
        void restore(state_reader& from) override {
            epoch_ = from.number();
            pipeline_.set_epoch(node_, epoch_ + 1);
            number_ = from.number();
            at_ = static_cast<std::size_t>(from.number(0, open_.size() - 1));
            in_block_ = static_cast<std::int64_t>(from.number(0, static_cast<std::uint64_t>(node_.block_ - 1)));
            ended_ = from.number(0, 1) != 0;
            for (inner& i : open_) {
                i = {};
                if (from.number(0, 1) == 0) continue;
                data_element made_of = from.element(node_.input().components());
                open(i, std::move(made_of), from.number());
                i.stream->restore(from);
            }
            from_->restore(from);
        }

    private:
        struct inner {
            data_element made_of;
            std::uint64_t number = 0; // of the element
            std::unique_ptr<element_stream> stream;
        };
        void turn() {
            at_ = (at_ + 1) % open_.size();
            in_block_ = 0;
        }
        void open(inner& i, data_element made_of, std::uint64_t number) {
            try {
                data_node::pointer made = node_.made_(made_of);
                if (!made || made->components() != node_.components())
                    throw invalid_argument_error("the function gives a data set of " +
                                                 (made ? to_string(made->components()) : std::string("nothing")) +
                                                 ", not of " + to_string(node_.components()));
                const bool ahead = node_.parallelism_ == autotune ||
                                   &i - open_.data() < static_cast<std::ptrdiff_t>(node_.parallelism_);
                if (node_.parallelism_ != 1 && ahead) made = prefetched(std::move(made), 2 * node_.block_);
                i.stream = made->open(pipeline_.options(), nullptr, epoch_ << 24 | number);
            } catch (...) {
                throw_at(node_.step() + ": element " + std::to_string(number));
            }
            i.made_of = std::move(made_of);
            i.number = number;
        }

        const interleaved_node& node_;
        pipeline& pipeline_;
        std::uint64_t epoch_;
        std::unique_ptr<element_stream> from_;
        std::vector<inner> open_;
        std::uint64_t number_ = 0; // of the next element that a data set is made of
        std::size_t at_ = 0;       // whose turn it is
        std::int64_t in_block_ = 0;
        bool ended_ = false;
    };
    const made_data_set made_;
    const std::int64_t cycle_, block_;
    const int parallelism_;
};

TENON_INLINE data_node::pointer interleaved(const char* step, data_node::pointer from, std::vector<tensor_type> types,
                                            made_data_set f, std::int64_t cycle, std::int64_t block, int parallelism) {
    if (cycle < 1 || block < 1 || cycle > (std::int64_t{1} << 20))
        throw invalid_argument_error(std::string(step) + ": " + std::to_string(cycle) + " data sets at a time, " +
                                     std::to_string(block) + " elements of each in turn; give 1 or more for both");
    if (parallelism < 1 && parallelism != autotune)
        throw invalid_argument_error(std::string(step) + ": a parallelism of " + std::to_string(parallelism) +
                                     "; give 1 or more, or tenon::autotune");
    return std::make_shared<interleaved_node>(step, std::move(from), std::move(types), std::move(f), cycle, block,
                                              parallelism);
}

} // namespace tenon::detail
