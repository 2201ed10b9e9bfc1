#pragma once

#include <tenon/op/widened.hpp>
#include <tenon/simd/pack.hpp>

#define TENON_SIMD_FILE <tenon/op/widened.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon::detail {

template <class From, class To> void convert_in_parts(const From* from, To* to, std::int64_t n, thread_pool* pool) {
    const auto f = TENON_SIMD_BEST(convert_elements<From, To>);
    parallel_for(pool, n, 1 << 17,
                 [&](std::int64_t begin, std::int64_t end) { f(from + begin, to + begin, end - begin); });
}

TENON_INLINE void widen(const void* from, element_type element, float* to, std::int64_t n, thread_pool* pool) {
    if (element == element_type::float16) convert_in_parts(static_cast<const half*>(from), to, n, pool);
    else convert_in_parts(static_cast<const bfloat16*>(from), to, n, pool);
}
TENON_INLINE void narrow(const float* from, void* to, element_type element, std::int64_t n, thread_pool* pool) {
    if (element == element_type::float16) convert_in_parts(from, static_cast<half*>(to), n, pool);
    else convert_in_parts(from, static_cast<bfloat16*>(to), n, pool);
}

TENON_INLINE widened_kernel::widened_kernel(const kernel_setup& s, kernel_pointer floats) :
    floats_(std::move(floats)), input_count_(s.inputs.size()), output_count_(s.outputs.size()) {
    const auto make = [&](const tensor_type& t) {
        operand o{t.element};
        if (t.element == compute_type(t.element)) return o;
        o.size = t.extents.elements();
        o.offset = bytes_;
        bytes_ += (static_cast<std::size_t>(o.size) * sizeof(float) + 63) / 64 * 64;
        return o;
    };
    for (int i = 0; i < input_count_; ++i) inputs_[i] = make(s.inputs[i]);
    for (int o = 0; o < output_count_; ++o) outputs_[o] = make(s.outputs[o]);
}
TENON_INLINE void widened_kernel::run(const kernel_run& r) {
    const void* in[most];
    void* out[most];
    const auto copy_of = [&](const operand& x) { return reinterpret_cast<float*>(r.scratch + x.offset); };
    for (int i = 0; i < input_count_; ++i) {
        const operand& x = inputs_[i];
        in[i] = r.in[i];
        if (x.size == 0 || !in[i]) continue;
        widen(in[i], x.element, copy_of(x), x.size, r.pool);
        in[i] = copy_of(x);
    }
    for (int o = 0; o < output_count_; ++o) out[o] = r.out[o] && outputs_[o].size > 0 ? copy_of(outputs_[o]) : r.out[o];
    floats_->run({in, out, r.scratch + bytes_, r.pool});
    for (int o = 0; o < output_count_; ++o)
        if (const operand& x = outputs_[o]; r.out[o] && x.size > 0)
            narrow(copy_of(x), r.out[o], x.element, x.size, r.pool);
}

} // namespace tenon::detail
