#pragma once

#include "tests.hpp"
#include "runtime/support.hpp"

// Numbers, gradients and places for pipelines.

namespace pipeline_test {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;

inline constexpr tn::pipeline_schedule schedules[] = {tn::all_forward_then_backward, tn::one_forward_one_backward};

inline tn::any_array numbers(const tn::extents& sizes, int seed) {
    tn::any_array a(tn::element_type::float64, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i)
        a.data<double>()[i] = std::sin(static_cast<double>(12 * i + 7 * seed + 1));
    return a;
}

// Integers below `limit`.
inline tn::any_array indices(int count, int step, int limit) {
    tn::any_array a(tn::element_type::int32, {count});
    for (int i = 0; i < count; ++i) a.data<std::int32_t>()[i] = i * step % limit;
    return a;
}

struct fed_batch {
    template <class... A> explicit fed_batch(std::vector<tn::any_tensor> to, A... fed) : tensors(std::move(to)) {
        (arrays.push_back(std::move(fed)), ...);
    }
    std::vector<tn::any_tensor> tensors;
    std::vector<tn::any_array> arrays;
    std::vector<tn::fed_value> values() const {
        std::vector<tn::fed_value> all;
        for (std::size_t i = 0; i < tensors.size(); ++i) all.push_back({tensors[i], arrays[i].copy()});
        return all;
    }
};

inline double largest_difference(const tn::any_array& a, const tn::any_array& b) {
    REQUIRE(a.type() == b.type());
    double most = 0;
    for (std::int64_t i = 0; i < a.elements(); ++i)
        most = std::max(most, std::fabs(a.data<double>()[i] - b.data<double>()[i]));
    return most;
}

// The gradients of a pipeline against those of the same layers, called with the whole batch, by variable.
inline void check_same_gradients(tn::session& s, const fed_batch& fed,
                                 const std::vector<tn::gradient_and_variable>& split,
                                 const std::vector<tn::gradient_and_variable>& whole) {
    REQUIRE(split.size() == whole.size());
    std::map<std::string, tn::any_tensor> expected;
    for (const auto& g : whole) expected[g.variable.name()] = g.gradient;
    std::vector<tn::any_tensor> fetched;
    for (const auto& g : split) {
        REQUIRE(expected.contains(g.variable.name()));
        fetched.push_back(g.gradient);
        fetched.push_back(expected[g.variable.name()]);
    }
    const std::vector<tn::any_array> got = s.run_untyped(fed.values(), fetched);
    for (std::size_t i = 0; i < got.size(); i += 2) {
        double size = 0;
        for (std::int64_t k = 0; k < got[i].elements(); ++k) size = std::max(size, std::fabs(got[i].data<double>()[k]));
        CHECK(size > 0); // a gradient that is there
        CHECK(largest_difference(got[i], got[i + 1]) < 1e-12);
    }
}

inline constexpr auto squared_error = [](const auto& y, const auto& wanted) {
    return tn::nn::mean_squared_error(y, wanted);
};

struct places {
    const char* called;
    std::vector<tn::device_name> devices;
    tn::session_options options;
};
inline std::vector<places> all_places() {
    std::vector<places> all;
    all.push_back({"devices of the CPU", {"/cpu:0", "/cpu:1", "/cpu:2"}, {}});
    all.back().options.cpu_devices = 3;
    all.push_back({"simulated GPUs", {"/gpu:0", "/gpu:1", "/gpu:2"}, {}});
    all.back().options.gpus = tn::simulated_gpu(3, std::size_t{64} << 20);
    all.push_back({"one device", {"/cpu:0", "/cpu:0", "/cpu:0"}, {}});
    return all;
}

// Three stages, of which the step's peak on each device is asked for.
inline std::vector<std::size_t> peaks(tn::pipeline_schedule schedule, int micro_batches, int rows_each) {
    const own_graph g;
    const auto x = tn::placeholder<double, tn::shape<batch, 32>>("x");
    const auto y = tn::placeholder<double, tn::shape<batch, 32>>("y");
    const auto wide = [] {
        return tn::nn::sequential(tn::nn::dense<96>(tn::nn::tanh), tn::nn::dense<32>(tn::nn::tanh));
    };
    const auto pipe = tn::pipeline({.micro_batches = micro_batches, .schedule = schedule}, tn::stage("/gpu:0", wide()),
                                   tn::stage("/gpu:1", wide()), tn::stage("/gpu:2", wide()));
    const auto [train, loss] = pipe.minimize(tn::gradient_descent(0.1), squared_error, x, y);
    initialized_session s({.gpus = tn::simulated_gpu(3, std::size_t{256} << 20)});
    const int rows = micro_batches * rows_each;
    const tn::step_report r = s.report(tn::feed(x, tn::array<double, tn::shape<tn::dyn, 32>>(rows)),
                                       tn::feed(y, tn::array<double, tn::shape<tn::dyn, 32>>(rows)), train);
    std::vector<std::size_t> all;
    for (const tn::device_report& d : pipe.memory(r)) all.push_back(d.peak_bytes);
    return all;
}

} // namespace pipeline_test
