#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <typeindex>

#include <cuda_runtime_api.h>

#include <tenon/core/element_type.hpp>

/// What kernels of one GPU share: its properties, and the handles of the libraries that work on it.

namespace tenon {

/// Owned by the device; kernels that were prepared for it hold on to it. Thread-safe.
class gpu_context {
public:
    explicit gpu_context(int card);
    ~gpu_context();
    gpu_context(gpu_context&&) = delete;

    const int card; ///< its number among those that CUDA shows to this process
    const std::string name;
    const int capability;      ///< compute capability: 90 for 9.0
    const int multiprocessors; ///< streaming multiprocessors

    /// Whether NVIDIA's libraries have products and convolutions of these elements on it: of bfloat16 from 8.0 on. Where not, standard error is
    /// told once.
    bool has_products_of(element_type e) const;

    /// Makes this GPU the calling thread's current one.
    void use() const;

    /// The state of type T that a library keeps for this GPU, made by T(gpu_context&) when it is first asked for. What that throws is
    /// thrown each time.
    template <class T> T& state() {
        const std::lock_guard lock(guard_);
        std::shared_ptr<void>& kept = states_[typeid(T)];
        if (!kept) kept = std::make_shared<T>(*this);
        return *static_cast<T*>(kept.get());
    }

private:
    std::recursive_mutex guard_; // of what follows: a state may ask for another
    std::map<std::type_index, std::shared_ptr<void>> states_;
};

} // namespace tenon
