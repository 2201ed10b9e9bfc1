#include <cuda/kernels/shape/framed_copy.hpp>

#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/shape/division.hpp>
#include <cuda/kernels/shape/fill.hpp>
#include <cuda/kernels/units.hpp>

namespace tenon::cuda {

namespace {

// Dimensions from the innermost one on, in units.
struct frame {
    static constexpr int most_dimensions = 8;
    int rank = 0;
    divider sizes[most_dimensions], steps[most_dimensions];
    std::uint32_t begins[most_dimensions], counts[most_dimensions];
    std::int64_t from_steps[most_dimensions];
};

template <class U>
__global__ void put_into_frame(const U* __restrict__ from, U* __restrict__ to, std::uint32_t n, frame f, U around) {
    const std::uint32_t all = gridDim.x * blockDim.x; // n + all stays below 2^32
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += all) {
        std::uint32_t rest = i;
        std::int64_t at = 0;
        bool inside = true;
        for (int d = 0; d < f.rank && inside; ++d) {
            std::uint32_t k = rest;
            rest = f.sizes[d].divide(k);
            inside = k >= f.begins[d];
            if (!inside) break;
            std::uint32_t beside = k - f.begins[d];
            k = f.steps[d].divide(beside);
            inside = beside == 0 && k < f.counts[d];
            at += k * f.from_steps[d];
        }
        to[i] = inside ? from[at] : around;
    }
}

} // namespace

framed_copy::framed_copy(const framed_dimension* dims, int rank, std::size_t element_bytes, std::uint64_t around,
                         std::int64_t most) :
    element_bytes_(element_bytes), around_(around), elements_(1), most_(most) {
    for (int i = 0; i < rank; ++i) {
        framed_dimension d = dims[i];
        elements_ *= d.size;
        if (d.count <= 1) d.step = 1; // none is taken
        // Whole rows of what is around them are one stretch.
        if (rank_ > 0 && d.count == d.size && d.step == 1) {
            framed_dimension& o = dims_[rank_ - 1];
            if (o.step == 1 && (o.count <= 1 || o.from_step == d.from_step * d.size)) {
                o = {o.size * d.size, o.begin * d.size, o.count * d.size, 1, d.from_step};
                continue;
            }
        }
        dims_[rank_++] = d;
    }
    if (rank_ == 0) dims_[rank_++] = {1, 0, 1, 1, 1};
}

void framed_copy::run(const void* from, void* to, void* stream) const {
    if (elements_ == 0) return;
    for (int i = 0; i < rank_; ++i)
        if (dims_[i].count == 0) return fill(to, elements_, element_bytes_, around_, stream); // and `from` is nowhere
    if (elements_ > most_) return run_in_two(from, to, stream);
    const auto bytes = static_cast<std::int64_t>(element_bytes_);
    const framed_dimension& last = dims_[rank_ - 1];
    std::int64_t unit = bytes;
    const auto fits = [&](std::int64_t wider) {
        if (last.step != 1 || last.from_step != 1) return false;
        std::int64_t sum =
            last.size | last.begin | last.count; // a power of 2 divides all of them where it divides this
        for (int i = 0; i + 1 < rank_; ++i) sum |= dims_[i].from_step;
        return sum * bytes % wider == 0 &&
               (reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to)) %
                       static_cast<std::uintptr_t>(wider) ==
                   0;
    };
    while (unit < 16 && fits(2 * unit)) unit *= 2;
    const std::int64_t in_unit = unit / bytes;
    frame f;
    std::int64_t n = 1;
    for (int i = rank_; i-- > 0; ++f.rank) {
        const framed_dimension& d = dims_[i];
        const std::int64_t each = i == rank_ - 1 ? in_unit : 1;
        f.sizes[f.rank] = divider(static_cast<std::uint32_t>(d.size / each));
        f.begins[f.rank] = static_cast<std::uint32_t>(d.begin / each);
        f.counts[f.rank] = static_cast<std::uint32_t>(d.count / each);
        f.steps[f.rank] = divider(static_cast<std::uint32_t>(d.step));
        f.from_steps[f.rank] = i == rank_ - 1 ? d.from_step : d.from_step / in_unit;
        n *= d.size / each;
    }
    const std::uint64_t bits = repeated_bits(around_, element_bytes_);
    with_unit(unit, [&]<class U>(U around) {
        if constexpr (sizeof(U) == 16) around = {bits, bits};
        else around = static_cast<U>(bits);
        launch(put_into_frame<U>, blocks_for(n), block_threads, 0, stream, static_cast<const U*>(from),
               static_cast<U*>(to), static_cast<std::uint32_t>(n), f, around);
    });
}

void framed_copy::run_in_two(const void* from, void* to, void* stream) const {
    fill(to, elements_, element_bytes_, around_, stream);
    copied_dimension dims[most_dimensions];
    std::int64_t step = 1, offset = 0;
    for (int i = rank_; i-- > 0; step *= dims_[i].size) {
        dims[i] = {dims_[i].count, dims_[i].from_step, dims_[i].step * step};
        offset += dims_[i].begin * step;
    }
    const strided_copy copy(dims, rank_, element_bytes_, most_);
    copy.run(from, static_cast<char*>(to) + offset * static_cast<std::int64_t>(element_bytes_), stream);
}

} // namespace tenon::cuda
