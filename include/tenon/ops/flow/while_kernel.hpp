#pragma once

#include <tenon/expr/tape_loop.hpp>
#include <tenon/expr/written_loop.hpp>
#include <tenon/op/kernel_roles.hpp>
#include <tenon/ops/flow/body_kernels.hpp>

namespace tenon::detail {

/// while_loop, on any device. Where both bodies are elementwise, a tape_loop. Else, where the host sees the condition it runs the body from one of two places into the other, in turn. Else what
/// the body does is given to the device once, and so is from one place to another: what it leaves there is copied back.
class while_kernel final : public kernel_of_bodies, public shown_kernel {
public:
    explicit while_kernel(const kernel_setup& s, std::unique_ptr<device_branches> by_device = nullptr) :
        kernel_of_bodies(by_device != nullptr),
        by_device_(std::move(by_device)),
        inputs_(static_cast<std::size_t>(s.inputs.size())),
        carries_(s.inputs.begin(), static_cast<std::size_t>(s.attrs.get<std::int64_t>("carried"))) {
        body_scratch_ = block_of(add_body(s, s.attrs.get<std::string>("condition"), s.inputs).scratch_bytes());
        sets_ = body_scratch_ + block_of(add_body(s, s.attrs.get<std::string>("body"), s.inputs).scratch_bytes());
        for (std::size_t c = 0; c < carries_.size(); ++c) copies_.emplace_back(s, s.inputs[static_cast<int>(c)]);
        answers_ = sets_ + 2 * carries_.bytes();
        tapes_at_ = answers_ + 64;
        const std::vector<tensor_type> carried(s.inputs.begin(), s.inputs.begin() + carries_.size());
        const body_tape* const condition = body_at(0).as_tape();
        if (!condition) return;
        loop_program written;
        if (find_written_loop(s.attrs.get<std::string>("condition"), s.attrs.get<std::string>("body"), written)) {
            written.operands.assign(s.inputs.begin(), s.inputs.end());
            written.results = carried;
            written.carried = carried.size();
            tapes_ = tape_loop::make(std::move(written), s.threads);
        }
        if (!tapes_)
            tapes_ = tape_loop::make(condition, body_at(1).as_tape(), s.inputs, carried, carried.size(), 0, s.threads);
    }
    void run(const kernel_run& r) override {
        if (by_device_) run_on_device(r);
        else tapes_ ? run_tapes(r) : run_on_host(r);
    }
    std::size_t scratch_bytes() const override { return tapes_at_ + (tapes_ ? tapes_->scratch_bytes() : 0); }
    double cost() const override { return 10 * (body_at(1).cost() + body_at(0).cost()); } // how often is not known
    std::string shown() const override {
        return !tapes_                 ? "its bodies, run after run"
               : tapes_->is_compiled() ? "the loop's own functions, which the program has compiled"
                                       : "the interpreter of tapes, many runs at a time for a block of elements";
    }
    bool may_be_recorded() const override {
        return (!by_device_ || by_device_->may_be_recorded()) && kernel_of_bodies::may_be_recorded();
    }

private:
    std::byte* place(const kernel_run& r, std::size_t set, std::size_t c) const {
        return carries_.at(r.scratch + sets_ + set * carries_.bytes(), c);
    }
    bool* answer(const kernel_run& r) const { return reinterpret_cast<bool*>(r.scratch + answers_); }

    void run_tapes(const kernel_run& r) {
        std::byte* const own = r.scratch + tapes_at_;
        const tape_loop::places to = tapes_->begin(own);
        for (std::size_t k = 0; k < inputs_; ++k) to.operands[k].at = r.input<std::byte>(static_cast<int>(k));
        for (std::size_t c = 0; c < carries_.size(); ++c)
            to.carries[c] = {
                to.operands[c].at, r.out[c] ? r.output<std::byte>(static_cast<int>(c)) : place(r, 0, c), {}};
        const std::int64_t runs = tapes_->run(-1, own, r.pool, [&] { require_wanted(r); });
        if (void* const count = r.out[carries_.size()]) *static_cast<std::int64_t*>(count) = runs;
    }

    void run_on_host(const kernel_run& r) {
        body_runs asks = begin_body(0, r, 0), each = begin_body(1, r, body_scratch_);
        for (std::size_t k = 0; k < inputs_; ++k) asks.argument(k) = each.argument(k) = r.in[k];
        asks.result(0) = answer(r);
        std::int64_t runs = 0;
        for (;; ++runs) {
            require_wanted(r);
            asks.run();
            if (!*answer(r)) break;
            for (std::size_t c = 0; c < carries_.size(); ++c)
                each.result(c) = place(r, static_cast<std::size_t>(runs % 2), c);
            each.run();
            for (std::size_t c = 0; c < carries_.size(); ++c) asks.argument(c) = each.argument(c) = each.result(c);
        }
        for (std::size_t c = 0; c < carries_.size(); ++c)
            if (r.out[c]) copies_[c](r.out[c], each.argument(c), r);
        if (void* const count = r.out[carries_.size()]) *static_cast<std::int64_t*>(count) = runs;
    }

    void run_on_device(const kernel_run& r) {
        const auto now = [&](std::size_t c) {
            return r.out[c] ? r.output<std::byte>(static_cast<int>(c)) : place(r, 0, c);
        };
        const auto ask = [&](const kernel_run& given_to) {
            body_runs asks = begin_body(0, given_to, 0);
            for (std::size_t k = 0; k < inputs_; ++k) asks.argument(k) = k < carries_.size() ? now(k) : r.in[k];
            asks.result(0) = answer(r);
            asks.run();
        };
        for (std::size_t c = 0; c < carries_.size(); ++c) copies_[c](now(c), r.in[c], r);
        ask(r);
        void* const count = r.out[carries_.size()] ? r.out[carries_.size()] : answer(r) + sizeof(std::int64_t);
        const auto once = [&](const kernel_run& given_to) {
            {
                body_runs each = begin_body(1, given_to, body_scratch_);
                for (std::size_t k = 0; k < inputs_; ++k) each.argument(k) = k < carries_.size() ? now(k) : r.in[k];
                for (std::size_t c = 0; c < carries_.size(); ++c) each.result(c) = place(r, 1, c);
                each.run();
            }
            for (std::size_t c = 0; c < carries_.size(); ++c) copies_[c](now(c), place(r, 1, c), given_to);
            ask(given_to);
        };
        by_device_->repeat(r, answer(r), static_cast<std::int64_t*>(count), told_to_end(r), once);
    }

    const std::unique_ptr<device_branches> by_device_;
    const std::size_t inputs_;
    const tensor_places carries_;
    std::vector<tensor_copy> copies_; // of the carries
    std::unique_ptr<const tape_loop> tapes_;
    std::size_t body_scratch_ = 0, sets_ = 0, answers_ = 0,
                tapes_at_ = 0; // in working memory: of the body, two sets of carries, the condition, of the tapes
};

} // namespace tenon::detail
