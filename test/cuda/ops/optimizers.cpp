#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include <tenon/ops/state.hpp>
#include <tenon/train/optimizers.hpp>

#include "both_devices.hpp"

#include "emulator_if_any.hpp"

using namespace tenon;
using test::drawn_seed, test::numbers;

namespace {

struct named_optimizer {
    const char* name;
    std::shared_ptr<const optimizer> of;
};

std::vector<named_optimizer> optimizers() {
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

// Variables on a device that are trained by gradients that are fed.
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

} // namespace

TEST_CASE("an optimiser's steps on a GPU leave what they leave on the host, in all floating types") {
    std::mt19937_64 random(drawn_seed());
    const std::vector<extents> sizes = {extents(7, 33), extents(5), extents(), extents(1030)};
    for (const named_optimizer& o : optimizers())
        for (const element_type e :
             {element_type::float32, element_type::float64, element_type::float16, element_type::bfloat16}) {
            trained host("/cpu:0", *o.of, e, sizes), gpu("/gpu:0", *o.of, e, sizes);
            for (int step = 0; step < 4; ++step) {
                std::vector<any_array> gradients;
                for (const extents& s : sizes)
                    gradients.push_back(e == element_type::float32   ? numbers<float>(s, random)
                                        : e == element_type::float64 ? numbers<double>(s, random)
                                        : e == element_type::float16 ? numbers<half>(s, random)
                                                                     : numbers<bfloat16>(s, random));
                host.step(gradients);
                gpu.step(gradients);
            }
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                const any_array wanted = host.value(i);
                std::vector<double> plain;
                for (std::int64_t k = 0; k < wanted.elements(); ++k) plain.push_back(test::number_at(wanted, k));
                INFO(o.name, ", ", std::string(name_of(e)), ", variable ", i);
                CHECK(test::difference(gpu.value(i), plain, [&](std::int64_t) { return 8 * test::spacing(e); }) == "");
            }
        }
}

#if defined(TENON_CUDA_EMULATED)
TEST_CASE("an optimiser's step on a GPU is one pass for each variable") {
    std::mt19937_64 random(drawn_seed());
    for (const named_optimizer& o : optimizers()) {
        const auto launches_with = [&](int count) {
            const std::vector<extents> sizes(static_cast<std::size_t>(count), extents(9, 5));
            trained t("/gpu:0", *o.of, element_type::float32, sizes);
            std::vector<any_array> gradients;
            for (const extents& s : sizes) gradients.push_back(numbers<float>(s, random));
            const auto before = emulator::count_calls("cudaLaunchKernel");
            const auto copies = emulator::count_calls("cudaMemcpyAsync");
            t.step(gradients); // the first one is not recorded
            return std::pair(emulator::count_calls("cudaLaunchKernel") - before,
                             emulator::count_calls("cudaMemcpyAsync") - copies);
        };
        const auto [one, copies_of_one] = launches_with(1);
        const auto [four, copies_of_four] = launches_with(4);
        INFO(o.name);
        CHECK(four == one + 3);
        CHECK(copies_of_four == copies_of_one + 3); // the gradients that are fed
    }
}
#endif
