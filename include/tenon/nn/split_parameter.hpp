#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <tenon/nn/layer.hpp>

/// Parameters of layers whose weights are split over devices.

namespace tenon::nn {

/// A tensor that lies in N parts, along its last dimension, on N devices: what a split layer hands to another.
template <class X, int N> struct split_tensor {
    std::array<X, static_cast<std::size_t>(N)> parts;
    std::array<device_name, static_cast<std::size_t>(N)> devices;

    static constexpr int size() noexcept { return N; }
    const X& operator[](int i) const { return parts[static_cast<std::size_t>(i)]; }
    const device_name& device(int i) const { return devices[static_cast<std::size_t>(i)]; }
    /// f of each part, on its device.
    template <class F> auto map(const F& f) const {
        const auto part = [&](int i) { return on(device(i), [&] { return f(parts[static_cast<std::size_t>(i)]); }); };
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return split_tensor<decltype(part(0)), N>{{part(static_cast<int>(I))...}, devices};
        }
        (std::make_index_sequence<static_cast<std::size_t>(N)>{});
    }
};

/// A variable of a layer in even parts on several devices, each an ordinary variable: NAME/part_0 on the first, .. They begin with the
/// numbers that NAME in one piece would begin with, and nobody makes the whole to have them. Copies share it.
class split_parameter {
public:
    split_parameter() : made_(std::make_shared<std::vector<any_tensor>>()) {}
    /// Throws unimplemented_error while a model is cloned.
    split_parameter(const split_parameter& o);
    split_parameter(split_parameter&&) noexcept = default;
    split_parameter& operator=(const split_parameter&) = default;
    split_parameter& operator=(split_parameter&&) noexcept = default;

    explicit operator bool() const noexcept { return !made_->empty(); }
    /// Empty until the variable is made.
    const std::vector<any_tensor>& parts() const noexcept { return *made_; }

    /// The parts, of element type T and sizes S each, along axis 0 or 1 of the whole; the first call makes them, with this name.
    /// Throws invalid_argument_error when they were made with another type or in another graph.
    template <Element T, Shape S, std::size_t N>
    std::array<variable_tensor<T, canonical_t<S>>, N> get(const std::string& name, const initializer& how, int axis,
                                                          const std::array<device_name, N>& devices) const {
        static_assert(S::extents.is_static(), "tenon::nn::split_parameter: the sizes of a variable must be numbers");
        const std::vector<any_tensor> all =
            make({element_type_of<T>, S::extents}, name, how, axis, {devices.begin(), devices.end()});
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::array<variable_tensor<T, canonical_t<S>>, N>{variable_tensor<T, canonical_t<S>>(all[I])...};
        }
        (std::make_index_sequence<N>{});
    }

private:
    std::vector<any_tensor> make(const tensor_type& part, const std::string& name, const initializer& how, int axis,
                                 const std::vector<device_name>& devices) const;
    std::shared_ptr<std::vector<any_tensor>> made_;
};

/// Throws invalid_argument_error where a device of a split layer has no name.
void check_split_devices(const char* layer, const std::vector<device_name>& devices);

} // namespace tenon::nn

#if TENON_HEADER_ONLY
#include <tenon/nn/split_parameter.ipp>
#endif
