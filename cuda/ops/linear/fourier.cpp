// Discrete Fourier transforms: ops/linear/fourier.hpp.

#include <cuda/fft/transforms.hpp>
#include <cuda/kernels/linear/fourier.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/memory_pieces.hpp>
#include <tenon/ops/linear/fourier.hpp>

namespace tenon::cuda {

namespace {

// By cuFFT, or by our own passes where there is none.
class fourier_kernel final : public kernel {
public:
    fourier_kernel(const kernel_setup& s, const fourier_transform& t) :
        transform_(t),
        passes_(t.n),
        element_(s.inputs[0].element),
        library_(library_transform::make(*s.gpu, t, element_)) {}
    std::size_t scratch_bytes() const override {
        return library_ ? library_->workspace_bytes() + memory_pieces::slack
                        : fourier_bytes(transform_, passes_, element_);
    }
    double cost() const override { return 10000 + 0.02 * static_cast<double>(transform_.numbers() * passes_.count); }
    void run(const kernel_run& r) override {
        if (!r.out[0] || transform_.rows == 0) return;
        if (library_) library_->run(r.in[0], r.out[0], memory_pieces::aligned(r.scratch), r.stream);
        else transform(transform_, passes_, element_, r.in[0], r.out[0], r.scratch, r.stream);
    }

private:
    const fourier_transform transform_;
    const fourier_passes passes_;
    const element_type element_;
    const std::unique_ptr<library_transform> library_;
};

// Of rows [.., n], or [.., n, 2] where they are complex.
fourier_transform rows_of(const extents& x, bool complex) {
    const int used = complex ? 2 : 1;
    fourier_transform t{.n = x[x.rank() - used].size, .rows = 1};
    for (int d = 0; d + used < x.rank(); ++d) t.rows *= x[d].size;
    return t;
}
double divided_by(std::int64_t n, bool scaled) { return scaled ? 1 / static_cast<double>(n) : 1; }

kernel_pointer prepare_fft(const kernel_setup& s) {
    const auto how = decode<fft_op::attributes>(s.attrs);
    fourier_transform t = rows_of(s.inputs[0].extents, true);
    t.inverse = how.inverse;
    t.scale = divided_by(t.n, how.scaled);
    return std::make_unique<fourier_kernel>(s, t);
}
kernel_pointer prepare_rfft(const kernel_setup& s) {
    const auto how = decode<rfft_op::attributes>(s.attrs);
    fourier_transform t = rows_of(s.inputs[0].extents, false);
    t.from = spectrum::real;
    t.to = spectrum::half;
    t.scale = divided_by(t.n, how.scaled);
    t.paired = how.doubled ? 2 : 1;
    return std::make_unique<fourier_kernel>(s, t);
}
kernel_pointer prepare_irfft(const kernel_setup& s) {
    const auto how = decode<irfft_op::attributes>(s.attrs);
    fourier_transform t = rows_of(s.outputs[0].extents, false);
    t.from = spectrum::half;
    t.to = spectrum::real;
    t.inverse = true;
    t.scale = divided_by(t.n, how.scaled);
    t.paired = how.halved ? 0.5 : 1;
    return std::make_unique<fourier_kernel>(s, t);
}

} // namespace

void register_fourier() { enter({{"fft", prepare_fft}, {"rfft", prepare_rfft}, {"irfft", prepare_irfft}}); }

} // namespace tenon::cuda
