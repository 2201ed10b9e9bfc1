#if defined(TENON_WITH_CUDNN)

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include <tenon/ops/gradients.hpp>
#include <tenon/ops/rows/normalization.hpp>

#include "emulator/libraries/cudnn.hpp"
#include "../gpu_run.hpp"

// Layer normalisation by cuDNN, where TENON_CUDA_NORMALIZATION asks it, against the CPU's in double.

using namespace tenon;
namespace cudnn = tenon::emulator::cudnn;
using test::array_of, test::drawn_seed, test::number_at, test::run_on_gpu;

namespace {

struct ask_dnn {
    ask_dnn() { setenv("TENON_CUDA_NORMALIZATION", "cudnn", 1); }
    ~ask_dnn() { unsetenv("TENON_CUDA_NORMALIZATION"); }
};

std::vector<any_tensor> build(const std::vector<any_tensor>& in) {
    const any_tensor y = untyped::layer_norm(in[0], in[1], in[2], 1e-3);
    std::vector<any_tensor> out{y, any_tensor({y.node(), 1}), any_tensor({y.node(), 2})};
    for (const any_tensor& d : detail::add_gradients({y}, {in[0], in[1], in[2]}, {in[3]})) out.push_back(d);
    return out;
}

// The same on the CPU, of the same numbers in double.
std::vector<any_array> on_cpu(const std::vector<const any_array*>& values, const test::build_function& make) {
    const graph g;
    const graph_scope scope(g);
    std::vector<any_tensor> in;
    std::vector<fed_value> feeds;
    for (const any_array* v : values) {
        in.push_back(untyped::placeholder(element_type::float64, v->extents()));
        feeds.push_back({in.back(), array_of<double>(v->extents(), [&](std::int64_t i) { return number_at(*v, i); })});
    }
    std::vector<any_tensor> out;
    {
        const device_scope there("/cpu:0");
        out = make(in);
    }
    session s(g);
    return s.run_untyped(std::move(feeds), out);
}

void check_close(const any_array& found, const any_array& wanted, double tolerance) {
    REQUIRE(found.extents() == wanted.extents());
    for (std::int64_t i = 0; i < found.elements(); ++i) {
        INFO(i << ": " << number_at(found, i) << " instead of " << number_at(wanted, i));
        REQUIRE(std::fabs(number_at(found, i) - number_at(wanted, i)) <=
                tolerance * (4 + std::fabs(number_at(wanted, i))));
    }
}

} // namespace

TEST_CASE_TEMPLATE("layer_norm and its gradients by cuDNN are those of the CPU", T, float, double, half, bfloat16) {
    const ask_dnn asked;
    std::mt19937_64 random(drawn_seed());
    std::uniform_real_distribution<double> draw(-2, 2);
    const double tolerance = std::is_same_v<T, double>  ? 1e-12
                             : std::is_same_v<T, float> ? 1e-5
                             : std::is_same_v<T, half>  ? 2e-3
                                                        : 2e-2;
    for (const extents& shape : {extents(3, 1), extents(2, 3, 5), extents(40, 64), extents(9)}) {
        CAPTURE(to_string(shape));
        const extents last{shape[shape.rank() - 1].size};
        const auto some = [&](std::int64_t) { return draw(random); };
        const any_array x = array_of<T>(shape, some), gamma = array_of<T>(last, some), beta = array_of<T>(last, some),
                        dy = array_of<T>(shape, some);
        cudnn::reset();
        const std::vector<any_array> found = run_on_gpu({&x, &gamma, &beta, &dy}, build);
        CHECK(cudnn::executed().size() == 2);
        const std::vector<any_array> wanted = on_cpu({&x, &gamma, &beta, &dy}, build);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            check_close(found[i], wanted[i], tolerance * std::sqrt(static_cast<double>(shape.elements())));
    }
}

TEST_CASE("statistics that nobody reads are nobody's memory") {
    const ask_dnn asked;
    cudnn::reset();
    const any_array x = array_of<float>(extents(4, 6), [](std::int64_t i) { return static_cast<double>(i * i); });
    const any_array ones = array_of<float>(extents(6), [](std::int64_t) { return 1; });
    const auto y_alone = [](const auto& in) {
        return std::vector<any_tensor>{untyped::layer_norm(in[0], in[1], in[1])};
    };
    const std::vector<any_array> found = run_on_gpu({&x, &ones}, y_alone);
    CHECK(cudnn::executed().size() == 1);
    check_close(found[0], on_cpu({&x, &ones}, y_alone)[0], 1e-5);
}

TEST_CASE("where cuDNN takes no layer normalisation the library's own kernel does it") {
    const ask_dnn asked;
    cudnn::reset();
    cudnn::refuse(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    const any_array x = array_of<float>(extents(4, 6), [](std::int64_t i) { return static_cast<double>(i * i); });
    const any_array ones = array_of<float>(extents(6), [](std::int64_t) { return 1; });
    const auto y_alone = [](const auto& in) {
        return std::vector<any_tensor>{untyped::layer_norm(in[0], in[1], in[1])};
    };
    const std::vector<any_array> found = run_on_gpu({&x, &ones}, y_alone);
    CHECK(cudnn::executed().empty());
    check_close(found[0], on_cpu({&x, &ones}, y_alone)[0], 1e-5);
    cudnn::reset();
}

#endif
