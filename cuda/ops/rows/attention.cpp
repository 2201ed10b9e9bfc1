// Attention: ops/rows/attention.hpp.

#include <cuda/device/context.hpp>
#include <cuda/device/wish.hpp>
#include <cuda/dnn/attention.hpp>
#include <cuda/kernels/rows/attention.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/indices.hpp>
#include <tenon/ops/rows/attention.hpp>
#include <tenon/ops/rows/attention_sizes.hpp>

namespace tenon::cuda {

namespace {

// cuDNN is asked, unless TENON_CUDA_ATTENTION is "own".
bool asks_dnn(const kernel_setup& s, const attention_layout& l) {
    return s.gpu && !is_wished("TENON_CUDA_ATTENTION", "own") && dnn::may_take(l, s.inputs[0].element);
}

struct attention_kernel_base : kernel {
    attention_kernel_base(const kernel_setup& s, int lengths_at) :
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

    /// Of scratch memory: a number for each query.
    std::size_t row_bytes() const {
        memory_pieces of;
        of.take(attention_scratch_bytes(element, layout));
        return of.taken();
    }

    const element_type element;
    const attention_layout layout;
    const int lengths; ///< the number of the input that has them, if there is one
    const std::string node_name;
    std::shared_ptr<const dnn::plan> plan; ///< nullptr: our own kernels
};

// in: q, k, v, (key lengths).
struct attention_kernel final : attention_kernel_base {
    explicit attention_kernel(const kernel_setup& s) : attention_kernel_base(s, 3) {
        if (asks_dnn(s, layout)) plan = dnn::find_plan(*s.gpu, dnn::attention_graph(layout, element));
    }
    // Logarithms that nobody reads are written nevertheless.
    std::size_t scratch_bytes() const override { return plan ? row_bytes() + plan->workspace_bytes() : 0; }
    void run(const kernel_run& r) override {
        find_bad_lengths(r);
        void* const logs = r.out[1] ? r.out[1] : r.scratch;
        if (!plan || !r.out[0] || !dnn::are_aligned({r.in[0], r.in[1], r.in[2], r.out[0], logs}))
            return attention(element, layout, r.in[0], r.in[1], r.in[2], lengths_of(r), r.out[0], r.out[1], r.stream);
        std::vector<void*> data;
        for (int i = 0; i < 3; ++i) data.push_back(const_cast<void*>(r.in[i]));
        data.insert(data.end(), {r.out[0], logs});
        plan->run(r.stream, data, r.scratch + row_bytes());
    }
    double cost() const override { return 8000 + products(); }
};

// in: q, k, v, y, logarithms, dy, (key lengths).
struct attention_gradient_kernel final : attention_kernel_base {
    explicit attention_gradient_kernel(const kernel_setup& s) : attention_kernel_base(s, 6) {
        if (!asks_dnn(s, layout)) return;
        part = dnn::gradient_part(layout, is_wished("TENON_CUDA_ATTENTION", "in_parts"));
        if (part.batch > 0) plan = dnn::find_plan(*s.gpu, dnn::attention_gradient_graph(part, element));
    }
    std::size_t scratch_bytes() const override { return row_bytes() + (plan ? plan->workspace_bytes() : 0); }
    void run(const kernel_run& r) override {
        find_bad_lengths(r);
        bool by_plan = plan && r.out[0] && r.out[1] && r.out[2];
        for (int i = 0; i < 6; ++i) by_plan = by_plan && dnn::are_aligned({r.in[i], r.out[i % 3]});
        if (!by_plan)
            return attention_gradient(element, layout, r.in[0], r.in[1], r.in[2], r.in[3], r.in[4], r.in[5],
                                      lengths_of(r), r.out[0], r.out[1], r.out[2], r.scratch, r.stream);
        const std::int64_t queries = part.rows(), keys = part.batch * part.keys;
        const auto bytes = static_cast<std::int64_t>(size_of(element));
        for (std::int64_t n = 0; n < layout.rows() / queries; ++n) {
            const auto at = [n](const void* tensor, std::int64_t step) -> void* {
                return static_cast<std::byte*>(const_cast<void*>(tensor)) + n * step;
            };
            const std::int64_t q = queries * layout.size * bytes, y = queries * layout.value_size * bytes;
            const std::int64_t k = keys * layout.size * bytes, v = keys * layout.value_size * bytes;
            const auto row = queries * static_cast<std::int64_t>(sizeof(float));
            plan->run(r.stream,
                      {at(r.in[0], q), at(r.in[1], k), at(r.in[2], v), at(r.in[3], y), at(r.in[4], row), at(r.in[5], y),
                       at(r.out[0], q), at(r.out[1], k), at(r.out[2], v), at(r.scratch, row)},
                      r.scratch + row_bytes());
        }
    }
    double cost() const override { return 20000 + 4 * products(); }

    attention_layout part; ///< that a plan takes
};

} // namespace

void register_attention() {
    enter({{"attention", prepare<attention_kernel>}, {"attention_gradient", prepare<attention_gradient_kernel>}});
}

} // namespace tenon::cuda
