#pragma once

#include <cuda_runtime_api.h>

#include "tests.hpp"
#include "ops/gpu_run.hpp"

/// What tests of kernels share.

namespace tenon::cuda::testing {

/// Elements in a GPU's memory.
template <class T> class device_array {
public:
    explicit device_array(std::size_t n) : n_(n) {
        if (n > 0) REQUIRE(cudaMalloc(reinterpret_cast<void**>(&at_), n * sizeof(T)) == cudaSuccess);
    }
    explicit device_array(const std::vector<T>& values) : device_array(values.size()) {
        if (n_ > 0) REQUIRE(cudaMemcpy(at_, values.data(), n_ * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
    }
    device_array(device_array&& other) noexcept : at_(std::exchange(other.at_, nullptr)), n_(other.n_) {}
    device_array& operator=(device_array&&) = delete;
    ~device_array() {
        if (at_) (void)cudaFree(at_);
    }
    T* get() const { return at_; }
    /// When all that was given to the default stream is done.
    std::vector<T> read() const {
        std::vector<T> values(n_);
        if (n_ > 0) REQUIRE(cudaMemcpy(values.data(), at_, n_ * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
        return values;
    }

private:
    T* at_ = nullptr;
    std::size_t n_ = 0;
};

/// Random numbers of which drawn_seed() says how they are drawn again.
inline std::mt19937 seeded() { return std::mt19937(static_cast<std::mt19937::result_type>(test::drawn_seed())); }

} // namespace tenon::cuda::testing
