#pragma once

#include <tenon/nn/layer.hpp>
#include <tenon/ops/random/dropout.hpp>

namespace tenon::nn {

/// In training, each element is set to 0 with probability `rate` and multiplied by 1 / (1 - rate) otherwise; in
/// inference, x itself. Throws invalid_argument_error, when it is called, unless 0 <= rate < 1. N. Srivastava et al.,
/// JMLR 15 (2014).
class dropout {
public:
    explicit dropout(double rate, std::uint64_t seed = 0) : rate_(rate), seed_(seed) {}
    template <class A_rate = void> explicit dropout(...) = delete; // say how many are dropped: dropout(0.5)

    template <auto..., class X = void>
    ill_shaped operator()(detail::any_argument = {}, detail::any_argument = {}) const {
        return detail::no_tensor_or_phase<X>();
    }
    template <Operand X> auto operator()(const X& x, phase p = inference, called_from here = caller()) const {
        const making made(here);
        if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
        else {
            auto result = detail::as_tensor(x);
            if (p == training) {
                auto dropped = tenon::dropout(x, rate_, seed_);
                if constexpr (std::is_same_v<decltype(dropped), ill_shaped>) return ill_shaped{};
                else result = detail::as_tensor(dropped);
            }
            return result;
        }
    }

private:
    double rate_;
    std::uint64_t seed_;
};

/// The same where `flag`, a bool scalar such as a placeholder, is true in the step: one graph trains and predicts.
template <Operand Flag> class switched_dropout {
public:
    switched_dropout(double rate, Flag flag, std::uint64_t seed = 0) :
        rate_(rate), flag_(std::move(flag)), seed_(seed) {}

    template <OperandOrIllShaped X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        auto dropped = tenon::dropout(x, rate_, flag_, seed_);
        if constexpr (std::is_same_v<decltype(dropped), ill_shaped>) return ill_shaped{};
        else return detail::as_tensor(dropped);
    }

private:
    double rate_;
    Flag flag_;
    std::uint64_t seed_;
};

} // namespace tenon::nn
