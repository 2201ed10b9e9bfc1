#pragma once

#include <tenon/ops/flow/body_kernels.hpp>

namespace tenon::detail {

/// cond, on any device: the host decides where it sees the value, else the device.
class cond_kernel final : public kernel_of_bodies {
public:
    explicit cond_kernel(const kernel_setup& s, std::unique_ptr<device_branches> by_device = nullptr) :
        by_device_(std::move(by_device)), inputs_(static_cast<std::size_t>(s.inputs.size())) {
        const type_list given(s.inputs.begin() + 1, s.inputs.size() - 1);
        for (const char* const which : {"then_body", "else_body"})
            bytes_ = std::max(bytes_, block_of(add_body(s, s.attrs.get<std::string>(which), given).scratch_bytes()));
        for (const tensor_type& t : s.outputs) {
            unread_.push_back(bytes_);
            bytes_ += block_of(bytes_in(t));
        }
    }
    void run(const kernel_run& r) override {
        const bool* const condition = r.input<bool>(0);
        if (!by_device_) return run_body(*condition ? 0 : 1, r, r);
        by_device_->either(
            r, condition, [&](const kernel_run& then) { run_body(0, r, then); },
            [&](const kernel_run& otherwise) { run_body(1, r, otherwise); });
    }
    std::size_t scratch_bytes() const override { return bytes_; }
    double cost() const override { return std::max(body_at(0).cost(), body_at(1).cost()); }
    bool may_be_recorded() const override {
        return (!by_device_ || by_device_->may_be_recorded()) && kernel_of_bodies::may_be_recorded();
    }

private:
    void run_body(std::size_t number, const kernel_run& r, const kernel_run& given_to) const {
        body_runs runs = begin_body(number, given_to, 0);
        for (std::size_t k = 1; k < inputs_; ++k) runs.argument(k - 1) = r.in[k];
        for (std::size_t o = 0; o < unread_.size(); ++o) runs.result(o) = r.out[o] ? r.out[o] : r.scratch + unread_[o];
        runs.run();
    }

    const std::unique_ptr<device_branches> by_device_;
    const std::size_t inputs_;
    std::vector<std::size_t> unread_; // where each output lies in working memory, if nobody reads it
    std::size_t bytes_ = 0;           // of that
};

} // namespace tenon::detail
