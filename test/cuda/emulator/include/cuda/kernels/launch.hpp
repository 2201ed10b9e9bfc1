#pragma once

#include <tuple>
#include <concepts>
#include <type_traits>
#include <utility>

#include <cuda_runtime_api.h>

#include <cuda/device/error.hpp>
#include <cuda/kernels/grid.hpp>

#include "../../../block.hpp"
#include "../../../control.hpp"

/// Stands before the library's header of this name where kernels run on the host.

namespace tenon::cuda {

/// A grid, and the source line that asks for it.
struct grid_at {
    dim3 grid;
    const char* file;
    int line;
    template <std::integral N>
    grid_at(N x, const char* f = __builtin_FILE(), int l = __builtin_LINE()) :
        // NOLINT: blocks are a grid
        grid(static_cast<unsigned>(x)),
        file(f),
        line(l) {}
    grid_at(const dim3& g, const char* f = __builtin_FILE(), int l = __builtin_LINE()) :
        // NOLINT
        grid(g),
        file(f),
        line(l) {}
    grid_at(unsigned x, unsigned y, unsigned z = 1, const char* f = __builtin_FILE(), int l = __builtin_LINE()) :
        grid(x, y, z), file(f), line(l) {}
    std::string where() const {
        const std::string path = file;
        return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(line);
    }
};

template <class... P, class... A>
void launch(void (*kernel)(P...), const grid_at& grid, dim3 block, std::size_t shared_bytes, void* stream,
            A&&... arguments) {
    std::tuple<P...> values(static_cast<P>(arguments)...);
    std::vector<emulator::kernel_argument> pointers;
    std::apply(
        [&](const P&... v) {
            int i = 0;
            const auto add = [&](const auto& value) {
                if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(value)>>)
                    pointers.push_back({const_cast<const void*>(static_cast<const volatile void*>(value)), i});
                ++i;
            };
            (add(v), ...);
        },
        values);
    check(emulator::launch(reinterpret_cast<const void*>(kernel), grid.where(), grid.grid, block, shared_bytes,
                           static_cast<cudaStream_t>(stream), std::move(pointers),
                           [kernel, values = std::move(values)] { std::apply(kernel, values); }),
          "cudaLaunchKernel");
}

/// The block's dynamic shared memory.
template <class T> T* dynamic_shared() { return reinterpret_cast<T*>(emulator::dynamic_shared_memory); }

} // namespace tenon::cuda
