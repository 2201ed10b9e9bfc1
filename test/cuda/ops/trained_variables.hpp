#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/ops/state/state.hpp>
#include <tenon/train/optimize/optimizers.hpp>

#include "both_devices.hpp"

/// Variables that optimisers train by gradients that are fed.

namespace tenon::test {

struct named_optimizer {
    const char* name;
    std::shared_ptr<const optimizer> of;
};

inline std::vector<named_optimizer> optimizers() {
    return {
        {"gradient_descent", std::make_shared<gradient_descent>(0.1)},
        {"momentum", std::make_shared<momentum>(0.1, 0.8)},
        {"momentum, nesterov", std::make_shared<momentum>(0.1, 0.8, momentum_options{true})},
        {"adagrad", std::make_shared<adagrad>(0.1)},
        {"rmsprop", std::make_shared<rmsprop>(0.01)},
        {"rmsprop, centered, with momentum", std::make_shared<rmsprop>(0.01, rmsprop_options{0.8, 0.5, 1e-6, true})},
        {"adam", std::make_shared<adam>(0.01)},
        {"adamw", std::make_shared<adam>(0.01, adam_options{0.8, 0.9, 1e-7, 0.1})}};
}

/// On one device.
class trained {
public:
    trained(const char* device, const optimizer& by, element_type e, const std::vector<extents>& sizes) {
        const graph_scope scope(g_);
        const auto there = on(device_name(std::string(device)));
        std::vector<gradient_and_variable> all;
        for (const extents& s : sizes) {
            variables_.push_back(
                untyped::variable("w" + std::to_string(variables_.size()), {e, s}, constant_value(0.75)));
            gradients_.push_back(untyped::placeholder(e, s));
            all.push_back({gradients_.back(), variables_.back()});
        }
        step_ = by.apply_gradients(all);
        s_.emplace(g_);
        s_->run(initialize_variables());
    }
    void step(const std::vector<any_array>& gradients) {
        std::vector<fed_value> feeds;
        for (std::size_t i = 0; i < gradients.size(); ++i) feeds.push_back({gradients_[i], gradients[i].share()});
        s_->run_untyped(std::move(feeds), {}, {step_});
    }
    any_array value(std::size_t i) { return std::move(s_->run_untyped({}, {variables_[i]})[0]); }

private:
    graph g_;
    std::vector<any_tensor> variables_, gradients_;
    operation step_;
    std::optional<session> s_;
};

} // namespace tenon::test
