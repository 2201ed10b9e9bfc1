// Attention: ops/rows/attention.hpp.

#include <cuda/kernels/rows/attention.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/indices.hpp>
#include <tenon/ops/rows/attention.hpp>
#include <tenon/ops/rows/attention_sizes.hpp>

namespace tenon::cuda {

namespace {

struct attention_kernel : kernel {
    explicit attention_kernel(const kernel_setup& s, int lengths_at = 3) :
        element(s.inputs[0].element), layout(layout_of(s, lengths_at)), lengths(lengths_at), node_name(s.node.name) {}

    std::size_t told_bytes() const override { return layout.has_lengths ? refusable_indices::bytes : 0; }
    void tell(std::byte* to) override {
        if (layout.has_lengths) refusable_indices::tell(to);
    }
    bool may_refuse() const override { return layout.has_lengths; }
    void refuse(const std::byte* told) const override {
        if (!layout.has_lengths) return;
        if (const bad_index* const first = refusable_indices::first_of(told))
            throw invalid_argument_error(attention_op::refusal(node_name, first->value, first->place, layout.keys));
    }
    void run(const kernel_run& r) override {
        find_bad_lengths(r);
        attention(element, layout, r.in[0], r.in[1], r.in[2], lengths_of(r), r.out[0], r.out[1], r.stream);
    }
    double cost() const override { return 8000 + products(); }

protected:
    static attention_layout layout_of(const kernel_setup& s, int lengths_at) {
        const detail::attention_sizes z = detail::sizes_of_attention(s);
        attention_layout l;
        l.batch = z.batch;
        l.heads = z.heads;
        l.key_heads = z.key_heads;
        l.queries = z.queries;
        l.keys = z.keys;
        l.size = z.size;
        l.value_size = z.value_size;
        l.scale = z.scale;
        l.causal = z.causal;
        l.has_lengths = s.inputs.size() > lengths_at;
        l.wide_lengths = l.has_lengths && s.inputs[lengths_at].element == element_type::int64;
        return l;
    }
    const void* lengths_of(const kernel_run& r) const { return layout.has_lengths ? r.in[lengths] : nullptr; }
    /// Finds lengths that cannot be.
    void find_bad_lengths(const kernel_run& r) const {
        if (layout.has_lengths && r.told)
            check_indices({r.in[lengths], layout.wide_lengths, layout.batch}, layout.keys + 1,
                          refusable_indices::found(r.told), nullptr, r.stream);
    }
    /// Nanoseconds of both products.
    double products() const {
        return static_cast<double>(layout.rows()) * static_cast<double>(layout.keys) *
               static_cast<double>(layout.size + layout.value_size) * (layout.causal ? 0.5 : 1) * 2e-4;
    }

    const element_type element;
    const attention_layout layout;
    const int lengths; ///< the number of the input that has them, if there is one
    const std::string node_name;
};

struct attention_gradient_kernel final : attention_kernel {
    explicit attention_gradient_kernel(const kernel_setup& s) : attention_kernel(s, 6) {}
    void run(const kernel_run& r) override {
        find_bad_lengths(r);
        attention_gradient(element, layout, r.in[0], r.in[1], r.in[2], r.in[3], r.in[4], r.in[5], lengths_of(r),
                           r.out[0], r.out[1], r.out[2], r.scratch, r.stream);
    }
    std::size_t scratch_bytes() const override { return attention_scratch_bytes(element, layout); }
    double cost() const override { return 20000 + 4 * products(); }
};

} // namespace

void register_attention() {
    enter({{"attention", prepare<attention_kernel>}, {"attention_gradient", prepare<attention_gradient_kernel>}});
}

} // namespace tenon::cuda
