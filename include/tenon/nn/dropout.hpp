#pragma once

#include <tenon/nn/layer.hpp>
#include <tenon/ops/dropout.hpp>

namespace tenon::nn {

/// While training, sets elements to 0 with probability `rate` and scales the others by 1 / (1 - rate); else nothing.
/// Throws invalid_argument_error, when it is called, unless 0 <= rate < 1.
class dropout {
public:
    explicit dropout(double rate, std::uint64_t seed = 0) : rate_(rate), seed_(seed) {}

    template <OperandOrIllShaped X> auto operator()(const X& x, phase p) const {
        if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
        else {
            const auto t = detail::as_tensor(x);
            return p == training ? detail::as_tensor(tenon::dropout(t, rate_, seed_)) : t;
        }
    }

private:
    double rate_;
    std::uint64_t seed_;
};

} // namespace tenon::nn
