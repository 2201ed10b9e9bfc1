#pragma once

#include <cstdint>
#include <type_traits>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/sizes/extents.hpp>

/// What the kernels of images share.

namespace tenon::detail {

/// The sizes of a batch; a single image is a batch of one.
struct image_sizes {
    explicit image_sizes(const extents& e) :
        batch(e.rank() == 4 ? e[0].size : 1),
        height(e[e.rank() - 3].size),
        width(e[e.rank() - 2].size),
        channels(e[e.rank() - 1].size) {}
    std::int64_t batch, height, width, channels;
    std::int64_t row() const noexcept { return width * channels; }
    std::int64_t image() const noexcept { return height * row(); }
    std::int64_t elements() const noexcept { return batch * image(); }
};

/// f(begin, end) for the images of a batch, of which one takes `ns`.
template <class F> void for_images(thread_pool* pool, std::int64_t batch, double ns, F&& f) {
    const auto worth_a_thread = static_cast<std::int64_t>(20000 / (ns < 1 ? 1 : ns)) + 1;
    parallel_for(pool, batch, worth_a_thread, f);
}

/// f of a size that the compiler knows where it is a usual one: the loop over channels is then none.
template <class F> void with_size(std::int64_t n, F&& f) {
    switch (n) {
    case 1: return f(std::integral_constant<std::int64_t, 1>{});
    case 3: return f(std::integral_constant<std::int64_t, 3>{});
    case 4: return f(std::integral_constant<std::int64_t, 4>{});
    case 12: return f(std::integral_constant<std::int64_t, 12>{});
    default: return f(n);
    }
}

} // namespace tenon::detail
