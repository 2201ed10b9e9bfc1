#pragma once

#if defined(TENON_WITH_ONEDNN) && TENON_WITH_ONEDNN
#include <oneapi/dnnl/dnnl_version.h>
#endif

#if defined(DNNL_VERSION_MAJOR) && DNNL_VERSION_MAJOR == 2
#define BASELINE_ONEDNN 1

#include <cstdint>
#include <unordered_map>

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.hpp>

namespace baseline {

/// From now on OpenMP, which oneDNN divides its work by, uses one thread for what this thread does.
inline void use_one_openmp_thread() {
    using setter = void (*)(int);
    if (const auto set = reinterpret_cast<setter>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(1);
}

/// A primitive with its operands: made once, run many times.
struct bound_primitive {
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> operands;

    void run(const dnnl::stream& stream) const { primitive.execute(stream, operands); }
};

/// A matrix in memory: element (i, j) at data[i * row + j * column].
struct matrix {
    float* data;
    std::int64_t rows, columns, row, column;

    matrix transposed() const { return {data, columns, rows, column, row}; }
    dnnl::memory::desc description() const { return {{rows, columns}, dnnl::memory::data_type::f32, {row, column}}; }
};

inline matrix dense_matrix(float* data, std::int64_t rows, std::int64_t columns) {
    return {data, rows, columns, columns, 1};
}

enum class after_product { nothing, bias, bias_relu };

/// c = f(a * b + bias).
inline bound_primitive make_product(const dnnl::engine& engine, matrix a, matrix b, matrix c, float* bias,
                                    after_product after) {
    using dnnl::memory;
    dnnl::primitive_attr attributes;
    if (after == after_product::bias_relu) {
        dnnl::post_ops relu;
        relu.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
        attributes.set_post_ops(relu);
    }
    const memory::desc of_bias({1, c.columns}, memory::data_type::f32, memory::format_tag::ab);
    const auto wanted = after == after_product::nothing
                            ? dnnl::matmul::desc(a.description(), b.description(), c.description())
                            : dnnl::matmul::desc(a.description(), b.description(), of_bias, c.description());
    const dnnl::matmul::primitive_desc chosen(wanted, attributes, engine);
    bound_primitive product{dnnl::matmul(chosen),
                            {{DNNL_ARG_SRC, {a.description(), engine, a.data}},
                             {DNNL_ARG_WEIGHTS, {b.description(), engine, b.data}},
                             {DNNL_ARG_DST, {c.description(), engine, c.data}}}};
    if (after != after_product::nothing) product.operands.emplace(DNNL_ARG_BIAS, memory(of_bias, engine, bias));
    return product;
}

/// c += scale * a * b.
inline bound_primitive make_scaled_update(const dnnl::engine& engine, matrix a, matrix b, matrix c, float scale) {
    dnnl::primitive_attr attributes;
    attributes.set_output_scales(0, {scale});
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
    const dnnl::matmul::primitive_desc chosen({a.description(), b.description(), c.description()}, attributes, engine);
    return {dnnl::matmul(chosen),
            {{DNNL_ARG_SRC, {a.description(), engine, a.data}},
             {DNNL_ARG_WEIGHTS, {b.description(), engine, b.data}},
             {DNNL_ARG_DST, {c.description(), engine, c.data}}}};
}

} // namespace baseline
#endif
