// The random truth values of dropout; what they choose is an elementwise expression.

#include <tenon/ops/random/dropout.hpp>

#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/random/random_run.hpp>

namespace tenon::cuda {

namespace {

class bernoulli_kernel final : public random_run_kernel {
public:
    explicit bernoulli_kernel(const kernel_setup& s) :
        random_run_kernel(s, s.attrs.get<std::int64_t>("seed")),
        n_(s.outputs[0].extents.elements()),
        p_(s.attrs.get<double>("probability")),
        has_flag_(s.inputs.size() > 1) {
        detail::check_probability("random_bernoulli", p_);
    }
    void run(const kernel_run& r) override {
        if (!r.out[0] || n_ == 0) return;
        random_truths(r.output<bool>(0), n_, place(r), p_, has_flag_ ? r.input<bool>(1) : nullptr, r.stream);
    }

private:
    const std::int64_t n_;
    const double p_;
    const bool has_flag_;
};

} // namespace

void register_dropout() { enter({{"random_bernoulli", prepare<bernoulli_kernel>}}); }

} // namespace tenon::cuda
