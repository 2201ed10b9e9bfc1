// Attention: ops/rows/attention.hpp.

#include <cuda/device/wish.hpp>
#include <cuda/dnn/attention.hpp>
#include <cuda/kernels/rows/attention.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/indices.hpp>
#include <tenon/ops/rows/attention_by_formula.hpp>

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
        attention_layout l{detail::sizes_of_attention(s)};
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

    /// Of scratch memory: a number for each query, lengths as a plan takes them, and what a plan works in.
    struct scratch {
        std::byte *rows, *workspace = nullptr;
        std::int32_t* lengths = {};
        std::size_t bytes = 0;
    };
    scratch scratch_of(std::byte* begin) const {
        memory_pieces of(begin);
        scratch s{.rows = of.take<std::byte>(attention_scratch_bytes(element, layout))};
        if (!plan) return {s.rows, nullptr, nullptr, of.taken()};
        if (layout.has_lengths)
            s.lengths = of.take<std::int32_t>(2 * static_cast<std::size_t>(layout.batch) * sizeof(std::int32_t));
        s.workspace = memory_pieces::aligned(of.take<std::byte>(plan->workspace_bytes() + memory_pieces::slack));
        s.bytes = of.taken();
        return s;
    }
    /// What a plan takes of sequences from `first` on. Lengths that cannot be are 0 in it: what cuDNN would read by them is nobody's.
    void give_lengths(std::vector<void*>& data, const scratch& s, std::int64_t first) const {
        if (layout.has_lengths) data.insert(data.end(), {s.lengths + first, s.lengths + layout.batch + first});
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
    std::size_t scratch_bytes() const override { return plan ? scratch_of(nullptr).bytes : 0; }
    void run(const kernel_run& r) override {
        find_bad_lengths(r);
        const scratch room = scratch_of(r.scratch);
        void* const logs = r.out[1] ? r.out[1] : room.rows;
        if (!plan || !r.out[0] || !dnn::are_aligned({r.in[0], r.in[1], r.in[2], r.out[0], logs}))
            return attention(element, layout, r.in[0], r.in[1], r.in[2], lengths_of(r), r.out[0], r.out[1], r.stream);
        std::vector<void*> data;
        for (int i = 0; i < 3; ++i) data.push_back(const_cast<void*>(r.in[i]));
        data.insert(data.end(), {r.out[0], logs});
        if (layout.has_lengths) narrow_lengths(layout, lengths_of(r), room.lengths, r.stream);
        give_lengths(data, room, 0);
        plan->run(r.stream, data, room.workspace);
        if (layout.has_lengths)
            clear_without_keys(layout, lengths_of(r),
                               {{r.out[0], layout.y, layout.heads, layout.queries, layout.value_size}},
                               static_cast<float*>(r.out[1]), r.stream);
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
    std::size_t scratch_bytes() const override { return scratch_of(nullptr).bytes; }
    void run(const kernel_run& r) override {
        find_bad_lengths(r);
        bool by_plan = plan && r.out[0] && r.out[1] && r.out[2];
        for (int i = 0; i < 6; ++i) by_plan = by_plan && dnn::are_aligned({r.in[i], r.out[i % 3]});
        if (!by_plan)
            return attention_gradient(element, layout, r.in[0], r.in[1], r.in[2], r.in[3], r.in[4], r.in[5],
                                      lengths_of(r), r.out[0], r.out[1], r.out[2], r.scratch, r.stream);
        const auto bytes = static_cast<std::int64_t>(size_of(element));
        const scratch room = scratch_of(r.scratch);
        if (layout.has_lengths) narrow_lengths(layout, lengths_of(r), room.lengths, r.stream);
        const std::int64_t keys = part.batch * part.key_heads, rows = part.rows();
        for (std::int64_t n = 0; n < layout.rows() / rows; ++n) {
            const std::int64_t sequence = n * keys / layout.key_heads, key_head = n * keys % layout.key_heads;
            const auto from = [&](const void* tensor, const detail::attention_steps& by, std::int64_t head) -> void* {
                return static_cast<std::byte*>(const_cast<void*>(tensor)) +
                       (sequence * by.batch + head * by.head) * bytes;
            };
            const auto of_queries = [&](const void* tensor, const detail::attention_steps& by) {
                return from(tensor, by, key_head * layout.group());
            };
            const auto of_rows = [&](const void* tensor) -> void* {
                return static_cast<float*>(const_cast<void*>(tensor)) + n * rows;
            };
            std::vector<void*> data{of_queries(r.in[0], layout.q),
                                    from(r.in[1], layout.k, key_head),
                                    from(r.in[2], layout.v, key_head),
                                    of_queries(r.in[3], layout.y),
                                    of_rows(r.in[4]),
                                    of_queries(r.in[5], layout.dy),
                                    of_queries(r.out[0], layout.dq),
                                    from(r.out[1], layout.dk, key_head),
                                    from(r.out[2], layout.dv, key_head),
                                    of_rows(room.rows)};
            give_lengths(data, room, sequence);
            plan->run(r.stream, data, room.workspace);
        }
        if (layout.has_lengths)
            clear_without_keys(layout, lengths_of(r),
                               {{r.out[0], layout.dq, layout.heads, layout.queries, layout.size},
                                {r.out[1], layout.dk, layout.key_heads, layout.keys, layout.size},
                                {r.out[2], layout.dv, layout.key_heads, layout.keys, layout.value_size}},
                               nullptr, r.stream);
    }
    double cost() const override { return 20000 + 4 * products(); }

    attention_layout part; ///< that a plan takes
};

// Neither cuDNN nor our own kernels add a mask.
template <class Kernel> kernel_pointer prepare_attention(const kernel_setup& s) {
    if (detail::sizes_of_attention(s).masked) return std::make_unique<detail::attention_by_formula>(s);
    return std::make_unique<Kernel>(s);
}

} // namespace

void register_attention() {
    enter({{"attention", prepare_attention<attention_kernel>},
           {"attention_gradient", prepare_attention<attention_gradient_kernel>}});
}

} // namespace tenon::cuda
