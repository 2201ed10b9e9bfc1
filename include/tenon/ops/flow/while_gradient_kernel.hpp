#pragma once

#include <algorithm>
#include <cstring>
#include <new>

#include <tenon/core/error.hpp>
#include <tenon/expr/tape_loop.hpp>
#include <tenon/ops/flow/body_kernels.hpp>

namespace tenon::detail {

// In the order of a while_gradient's outputs and gradients: the numbers of floating carries, and of the floating ones of the rest.
struct floating_inputs {
    floating_inputs(type_list in, std::size_t carried, std::size_t rest) {
        for (std::size_t k = 0; k < carried + rest; ++k)
            if (is_floating(in[static_cast<int>(k)].element)) (k < carried ? of_carried : of_rest).push_back(k);
    }
    std::vector<std::size_t> of_carried, of_rest;
    std::size_t size() const { return of_carried.size() + of_rest.size(); }
    std::size_t operator[](std::size_t k) const {
        return k < of_carried.size() ? of_carried[k] : of_rest[k - of_carried.size()];
    }
};

/// while_gradient, on any device. Where the host sees how many runs there were, it goes through them: where all carries can be kept and the
/// bodies are elementwise, by a tape_loop forth and one back; else the device does, and what a step
/// forth and a step back do is given to it once, between fixed places: carries and what flows are copied there, and from there.
class while_gradient_kernel final : public kernel_of_bodies {
public:
    explicit while_gradient_kernel(const kernel_setup& s, std::unique_ptr<device_branches> by_device = nullptr) :
        kernel_of_bodies(by_device != nullptr),
        by_device_(std::move(by_device)),
        arguments_(body::of_text(s.attrs.get<std::string>("body"))->arguments().size()),
        types_(s.inputs.begin(), s.inputs.begin() + s.attrs.get<std::int64_t>("carried")),
        carries_(types_.data(), types_.size()),
        floats_(s.inputs, carries_.size(), arguments_ - carries_.size()),
        flowing_(s.outputs.begin(), floats_.size()) {
        constexpr std::size_t most_bytes = std::size_t{64} << 20, fewest = 8;
        kept_ = std::clamp(most_bytes / std::max<std::size_t>(carries_.bytes(), 1), fewest,
                           static_cast<std::size_t>(treeverse::most));
        const type_list own(s.inputs.begin(), static_cast<int>(arguments_));
        gradient_scratch_ = block_of(add_body(s, s.attrs.get<std::string>("body"), own).scratch_bytes());
        std::vector<tensor_type> given(s.outputs.begin(), s.outputs.end());
        given.insert(given.end(), own.begin(), own.end());
        const type_list backwards(given.data(), static_cast<int>(given.size()));
        first_flowing_ = gradient_scratch_ +
                         block_of(add_body(s, s.attrs.get<std::string>("gradient_body"), backwards).scratch_bytes());
        first_kept_ = first_flowing_ + 2 * flowing_.bytes();
        order_ = first_kept_ + (kept_ + treeverse::spare) * carries_.bytes();
        for (const tensor_type& t : s.outputs) {
            bytes_of_flowing_.push_back(bytes_in(t));
            copies_.emplace_back(s, t);
        }
        tapes_at_ = order_ + block_of(sizeof(treeverse)) + 64;
        const std::vector<tensor_type> flowing(s.outputs.begin(), s.outputs.end());
        forth_ = tape_loop::make(nullptr, body_at(0).as_tape(), own, types_, carries_.size(), 0, s.threads);
        back_ = tape_loop::make(nullptr, body_at(1).as_tape(), backwards, flowing, floats_.size(), carries_.size(),
                                s.threads);
    }

    void run(const kernel_run& r) override { by_device_ ? run_on_device(r) : run_on_host(r); }
    std::size_t scratch_bytes() const override {
        return tapes_at_ + (is_tapes() ? std::max(forth_->scratch_bytes(), back_->scratch_bytes()) : 0);
    }
    double cost() const override { return 10 * (2 * body_at(0).cost() + body_at(1).cost()); }
    bool may_be_recorded() const override {
        return (!by_device_ || by_device_->may_be_recorded()) && kernel_of_bodies::may_be_recorded();
    }

private:
    bool is_tapes() const { return forth_ && back_; }
    std::byte* flowing(const kernel_run& r, std::size_t turn, std::size_t k) const {
        return flowing_.at(r.scratch + first_flowing_ + turn * flowing_.bytes(), k);
    }
    std::byte* kept(const kernel_run& r, std::size_t place, std::size_t c) const {
        return carries_.at(r.scratch + first_kept_ + place * carries_.bytes(), c);
    }
    treeverse* order(const kernel_run& r) const { return reinterpret_cast<treeverse*>(r.scratch + order_); }
    const std::int64_t* runs(const kernel_run& r) const { return r.input<std::int64_t>(static_cast<int>(arguments_)); }
    // What flows into number k at the end: a gradient that is given, or nothing yet.
    const void* given(const kernel_run& r, std::size_t k) const {
        return k < floats_.of_carried.size() ? r.in[arguments_ + 1 + k] : nullptr;
    }
    // What each run is given besides, from this argument on.
    void give_rest(body_runs& to, std::size_t first, const kernel_run& r) const {
        for (std::size_t a = carries_.size(); a < arguments_; ++a) to.argument(first + a) = r.in[a];
    }

    void run_on_host(const kernel_run& r) {
        if (*runs(r) < 0) throw invalid_argument_error("a loop cannot have run " + std::to_string(*runs(r)) + " times");
        for (std::size_t k = 0; k < floats_.size(); ++k) {
            if (bytes_of_flowing_[k] == 0) continue;
            if (given(r, k)) std::memcpy(flowing(r, 0, k), given(r, k), bytes_of_flowing_[k]);
            else std::memset(flowing(r, 0, k), 0, bytes_of_flowing_[k]);
        }
        std::size_t turn = 0; // which of two places has what flows
        if (is_tapes() && *runs(r) <= static_cast<std::int64_t>(kept_)) {
            if (*runs(r) > 0) {
                run_tapes(r);
                turn = 1;
            }
        } else {
            run_treeverse(r, turn);
        }
        for (std::size_t k = 0; k < floats_.size(); ++k)
            if (r.out[k]) copies_[k](r.out[k], flowing(r, turn, k), r);
    }

    // Forth, with all carries kept in the places, and back from what flows in place 0 to what does in place 1.
    void run_tapes(const kernel_run& r) {
        std::byte* const own = r.scratch + tapes_at_;
        const auto step = static_cast<std::ptrdiff_t>(carries_.bytes());
        const auto last = static_cast<std::size_t>(*runs(r) - 1);
        const auto wanted = [&] { require_wanted(r); };
        const tape_loop::places forth = forth_->begin(own);
        for (std::size_t k = 0; k < arguments_; ++k) forth.operands[k].at = r.input<std::byte>(static_cast<int>(k));
        for (std::size_t c = 0; c < carries_.size(); ++c)
            forth.carries[c] = {forth.operands[c].at, kept(r, last, c), {kept(r, 0, c), step}};
        forth_->run(*runs(r) - 1, own, r.pool, wanted);
        const tape_loop::places back = back_->begin(own);
        for (std::size_t k = 0; k < floats_.size(); ++k) {
            back.operands[k].at = flowing(r, 0, k);
            back.carries[k] = {flowing(r, 0, k), flowing(r, 1, k), {}};
        }
        for (std::size_t c = 0; c < carries_.size(); ++c) back.operands[floats_.size() + c] = {kept(r, last, c), -step};
        for (std::size_t a = carries_.size(); a < arguments_; ++a)
            back.operands[floats_.size() + a].at = r.input<std::byte>(static_cast<int>(a));
        back_->run(*runs(r), own, r.pool, wanted);
    }

    void run_treeverse(const kernel_run& r, std::size_t& turn) {
        const auto carry = [&](std::int64_t place, std::size_t c) -> const void* {
            return place == treeverse::first ? r.in[c] : kept(r, static_cast<std::size_t>(place), c);
        };
        body_runs forth = begin_body(0, r, 0), back = begin_body(1, r, gradient_scratch_);
        give_rest(forth, 0, r);
        give_rest(back, floats_.size(), r);
        treeverse& o = *new (order(r)) treeverse;
        o.begin(*runs(r), static_cast<std::int64_t>(kept_));
        for (o.next(); o.now != treeverse::action::ended; o.next()) {
            require_wanted(r);
            if (o.now == treeverse::action::advance) {
                for (std::size_t c = 0; c < carries_.size(); ++c) {
                    forth.argument(c) = carry(o.from, c);
                    forth.result(c) = kept(r, static_cast<std::size_t>(o.to), c);
                }
                forth.run();
                continue;
            }
            for (std::size_t k = 0; k < floats_.size(); ++k) {
                back.argument(k) = flowing(r, turn, k);
                back.result(k) = flowing(r, 1 - turn, k);
            }
            for (std::size_t c = 0; c < carries_.size(); ++c) back.argument(floats_.size() + c) = carry(o.from, c);
            back.run();
            turn = 1 - turn;
        }
    }

    // The spare places are where steps begin and end.
    void run_on_device(const kernel_run& r) {
        const auto flows = [&](std::size_t k) {
            return r.out[k] ? r.output<std::byte>(static_cast<int>(k)) : flowing(r, 0, k);
        };
        for (std::size_t k = 0; k < floats_.size(); ++k)
            if (given(r, k)) copies_[k](flows(k), given(r, k), r);
            else by_device_->clear(r, flows(k), bytes_of_flowing_[k]);
        auto* const answers = r.scratch + order_ + block_of(sizeof(treeverse));
        auto* const count = reinterpret_cast<std::int64_t*>(answers); // of steps, which nobody asks for
        auto* const more = reinterpret_cast<bool*>(count + 1);
        bool* const advances = more + 1;
        const auto places = static_cast<std::int64_t>(kept_);
        const auto all = [&](std::size_t c) {
            return device_branches::kept_tensors{r.in[c], kept(r, 0, c), carries_.bytes(), types_[c]};
        };
        by_device_->next(r, order(r), runs(r), places, more, advances);
        by_device_->repeat(r, more, count, told_to_end(r), [&](const kernel_run& step) {
            for (std::size_t c = 0; c < carries_.size(); ++c)
                by_device_->take(step, kept(r, kept_, c), all(c), &order(r)->from);
            by_device_->either(
                step, advances,
                [&](const kernel_run& given_to) {
                    {
                        body_runs once = begin_body(0, given_to, 0);
                        give_rest(once, 0, r);
                        for (std::size_t c = 0; c < carries_.size(); ++c) {
                            once.argument(c) = kept(r, kept_, c);
                            once.result(c) = kept(r, kept_ + 1, c);
                        }
                        once.run();
                    }
                    for (std::size_t c = 0; c < carries_.size(); ++c)
                        by_device_->put(given_to, all(c), &order(r)->to, kept(r, kept_ + 1, c));
                },
                [&](const kernel_run& given_to) {
                    {
                        body_runs once = begin_body(1, given_to, gradient_scratch_);
                        give_rest(once, floats_.size(), r);
                        for (std::size_t k = 0; k < floats_.size(); ++k) {
                            once.argument(k) = flows(k);
                            once.result(k) = flowing(r, 1, k);
                        }
                        for (std::size_t c = 0; c < carries_.size(); ++c)
                            once.argument(floats_.size() + c) = kept(r, kept_, c);
                        once.run();
                    }
                    for (std::size_t k = 0; k < floats_.size(); ++k) copies_[k](flows(k), flowing(r, 1, k), given_to);
                });
            by_device_->next(step, order(r), nullptr, places, more, advances);
        });
    }

    const std::unique_ptr<device_branches> by_device_;
    std::size_t arguments_;          // of the loop's body
    std::vector<tensor_type> types_; // of its carries
    tensor_places carries_;
    floating_inputs floats_;
    tensor_places flowing_;
    std::vector<std::size_t> bytes_of_flowing_;
    std::vector<tensor_copy> copies_; // of what flows
    std::size_t kept_ = 0;            // carries
    std::unique_ptr<const tape_loop> forth_, back_;
    std::size_t gradient_scratch_ = 0, first_flowing_ = 0, first_kept_ = 0, order_ = 0,
                tapes_at_ = 0; // offsets in working memory
};

} // namespace tenon::detail
