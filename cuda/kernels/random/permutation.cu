#include <cuda/kernels/random/permutation.hpp>

#include <cuda/device/error.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/random/numbers.hpp>

namespace tenon::cuda {

namespace {

// Number k of the stream is for step n-1-k; step 0 has none, and changes nothing.
template <class K>
__global__ void choose(K* keys, std::int64_t* steps, std::int64_t n, std::uint64_t key, const std::uint64_t* run) {
    const random_stream s{key, *run, 0};
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t b = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; 2 * b < n; b += all) {
        const philox_block words = s.block(static_cast<std::uint64_t>(b));
        for (int k = 0; k < 2; ++k) {
            const std::int64_t i = n - 1 - 2 * b - k;
            if (i < 0) continue;
            steps[i] = i;
            keys[i] =
                static_cast<K>(i == 0 ? 0 : multiply_upper(two_words(words, 2 * k), static_cast<std::uint64_t>(i) + 1));
        }
    }
}

// after[m]: the step before m that chose the same place, next[p]: the last before step p that chose p; -1 where there is none.
template <class K>
__global__ void link(const K* keys, const std::int64_t* steps, std::int64_t n, std::int64_t* after,
                     std::int64_t* next) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t s = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; s < n; s += all) {
        const std::int64_t place = static_cast<std::int64_t>(keys[s]), step = steps[s];
        const std::int64_t other = s + 1 < n && keys[s + 1] == keys[s] ? steps[s + 1] : -1;
        after[step] = other;
        if (s == 0 || keys[s - 1] != keys[s]) next[place] = step == place ? other : step;
    }
}

template <class K, class T>
__global__ void follow(const K* keys, const std::int64_t* after, const std::int64_t* next, std::int64_t n, T* to) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) {
        std::int64_t value = after[i];
        if (value < 0) value = static_cast<std::int64_t>(keys[i]);
        else
            while (next[value] >= 0) value = next[value];
        to[i] = static_cast<T>(value);
    }
}

template <class K, class T> void follow_as(const permutation_memory& m, std::int64_t n, void* to, void* stream) {
    check(cudaMemsetAsync(m.next, 0xFF, static_cast<std::size_t>(n) * sizeof(std::int64_t),
                          static_cast<cudaStream_t>(stream)),
          "cudaMemsetAsync");
    launch(link<K>, blocks_for(n), block_threads, 0, stream, static_cast<const K*>(m.sorted_keys), m.sorted_steps, n,
           m.steps, m.next);
    launch(follow<K, T>, blocks_for(n), block_threads, 0, stream, static_cast<const K*>(m.keys), m.steps, m.next, n,
           static_cast<T*>(to));
}

} // namespace

void choose_places(const permutation_memory& m, std::size_t key_bytes, std::int64_t count, std::uint64_t key,
                   const std::uint64_t* run, void* stream) {
    if (count == 0) return;
    const auto choose_as = [&]<class K>(K) {
        launch(choose<K>, blocks_for((count + 1) / 2), block_threads, 0, stream, static_cast<K*>(m.keys), m.steps,
               count, key, run);
    };
    if (key_bytes == 8) choose_as(std::uint64_t{});
    else choose_as(std::uint32_t{});
}

void follow_places(const permutation_memory& m, std::size_t key_bytes, std::int64_t count, void* to,
                   std::size_t to_bytes, void* stream) {
    if (count == 0) return;
    if (key_bytes == 8 && to_bytes == 8) follow_as<std::uint64_t, std::int64_t>(m, count, to, stream);
    else if (key_bytes == 8) follow_as<std::uint64_t, std::int32_t>(m, count, to, stream);
    else if (to_bytes == 8) follow_as<std::uint32_t, std::int64_t>(m, count, to, stream);
    else follow_as<std::uint32_t, std::int32_t>(m, count, to, stream);
}

} // namespace tenon::cuda
