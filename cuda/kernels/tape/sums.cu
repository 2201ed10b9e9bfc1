#include <cuda/kernels/tape/sums.hpp>

#include <tenon/simd/polygamma.hpp>

#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/tape/functions.hpp>
#include <cuda/kernels/tape/loops.hpp>

namespace tenon::cuda {

namespace {

constexpr int most_sums = 16;

struct sum_list {
    partial_sum sums[most_sums];
    unsigned chunk_lanes[most_sums]; // threads of a block that share an element, a power of two
};

__global__ void add_parts(const sum_list list) {
    const partial_sum& s = list.sums[blockIdx.y];
    const unsigned lanes = list.chunk_lanes[blockIdx.y], elements = tapes::threads / lanes;
    const unsigned element_lane = threadIdx.x % elements, lane = threadIdx.x / elements;
    const std::int64_t step = std::int64_t{gridDim.x} * elements;
    for (std::int64_t first = std::int64_t{blockIdx.x} * elements; first < s.elements; first += step) {
        const std::int64_t i = first + element_lane;
        double sum = 0;
        if (i < s.elements)
            for (std::int64_t c = lane; c < s.chunks; c += lanes) sum += s.parts[c * s.elements + i];
        sum = tapes::sum_of_neighbours(sum, element_lane * lanes + lane, lanes);
        if (lane != 0 || i >= s.elements) continue;
        switch (s.type) {
        case element_type::float64: tapes::store_rounded<double>(s.to, i, sum); break;
        case element_type::float16: tapes::store_rounded<tapes::float16>(s.to, i, sum); break;
        case element_type::bfloat16: tapes::store_rounded<tapes::bfloat16>(s.to, i, sum); break;
        default: tapes::store_rounded<float>(s.to, i, sum);
        }
    }
}

} // namespace

void add_partial_sums(const partial_sum* sums, int count, void* stream) {
    sum_list list{};
    int used = 0;
    std::int64_t blocks = 1;
    for (int s = 0; s < count; ++s) {
        if (!sums[s].to || sums[s].elements == 0) continue;
        unsigned lanes = 1;
        while (lanes < tapes::threads && lanes * 8 < sums[s].chunks) lanes *= 2;
        list.sums[used] = sums[s];
        list.chunk_lanes[used++] = lanes;
        const std::int64_t each = tapes::threads / lanes, needed = (sums[s].elements + each - 1) / each;
        if (blocks < needed) blocks = needed;
    }
    if (used == 0) return;
    if (blocks > 65535) blocks = 65535;
    launch(add_parts, dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(used)), tapes::threads, 0, stream,
           list);
}

} // namespace tenon::cuda
