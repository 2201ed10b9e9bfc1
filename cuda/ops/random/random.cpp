// Random numbers, the same as the CPU's.

#include <tenon/ops/random/random.hpp>
#include <tenon/ops/random/random.inl>

#include <cuda/kernels/random/permutation.hpp>
#include <cuda/kernels/shape/gather.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/random/random_run.hpp>
#include <cuda/ops/shape/indices.hpp>

namespace tenon::cuda {

namespace {

using distribution = random_part_op::distribution;

// What random_uniform, random_normal and random_part make, from place `first` of the stream's numbers on.
class floating_kernel final : public random_run_kernel {
public:
    floating_kernel(const kernel_setup& s, const random_part_op::attributes& a) :
        random_run_kernel(s, a.seed, a.of), type_(s.outputs[0]), of_(a) {
        (void)detail::random_fill(s, a.kind, a.a, a.b); // which says what is wrong with them
        detail::check_stretch(a, type_);
    }
    void run(const kernel_run& r) override {
        const std::int64_t n = type_.extents.elements();
        if (!r.out[0] || n == 0) return;
        const random_place at = place(r, of_.first);
        const element_type e = type_.element;
        if (of_.kind == distribution::uniform) random_uniform(e, r.out[0], n, at, of_.a, of_.b, r.stream);
        else if (of_.kind == distribution::normal) random_normal(e, r.out[0], n, at, of_.a, of_.b, r.stream);
        else random_truncated_normal(e, r.out[0], n, at, of_.a, of_.b, r.stream);
    }

private:
    const tensor_type type_;
    const random_part_op::attributes of_;
};

kernel_pointer prepare_floating(const kernel_setup& s, distribution kind, double a, double b, std::int64_t seed) {
    random_part_op::attributes all{.kind = kind, .a = a, .b = b, .seed = seed, .of = s.node.name};
    return std::make_unique<floating_kernel>(s, all);
}
kernel_pointer prepare_uniform(const kernel_setup& s) {
    const auto a = decode<random_uniform_op::attributes>(s.attrs);
    return prepare_floating(s, distribution::uniform, a.low, a.high, a.seed);
}
kernel_pointer prepare_normal(const kernel_setup& s) {
    const auto a = decode<random_normal_op::attributes>(s.attrs);
    return prepare_floating(s, a.truncated ? distribution::truncated_normal : distribution::normal, a.mean, a.deviation,
                            a.seed);
}
kernel_pointer prepare_part(const kernel_setup& s) {
    return std::make_unique<floating_kernel>(s, decode<random_part_op::attributes>(s.attrs));
}

class integers_kernel final : public random_run_kernel {
public:
    explicit integers_kernel(const kernel_setup& s) :
        integers_kernel(s, decode<random_integers_op::attributes>(s.attrs)) {}
    integers_kernel(const kernel_setup& s, const random_integers_op::attributes& a) :
        random_run_kernel(s, a.seed), type_(s.outputs[0]), of_(a) {
        detail::check_integers("random_integers", type_.element, a.low, a.high);
    }
    void run(const kernel_run& r) override {
        const std::int64_t n = type_.extents.elements();
        if (!r.out[0] || n == 0) return;
        random_integers(size_of(type_.element), r.out[0], n, place(r), of_.low,
                        static_cast<std::uint64_t>(of_.high) - static_cast<std::uint64_t>(of_.low), r.stream);
    }

private:
    const tensor_type type_;
    const random_integers_op::attributes of_;
};

// A permutation of 0 .. n-1 in scratch memory, behind the run.
class permutation_work {
public:
    permutation_work(const kernel_setup& s, std::int64_t n) :
        n_(n), key_bytes_(key_bytes_of(n, true)), bits_(key_bits_of(n, true)) {
        s.gpu->use();
        sort_bytes_ = sort_pairs_bytes(n, key_bytes_, bits_);
    }
    void take(memory_pieces& of) const { (void)memory(of); }
    /// Integers of so many bytes.
    void make(memory_pieces& scratch, std::uint64_t key, const std::uint64_t* run, void* to, std::size_t to_bytes,
              void* stream) const {
        const auto [m, sort] = memory(scratch);
        choose_places(m, key_bytes_, n_, key, run, stream);
        sort_pairs(sort, sort_bytes_, m.keys, m.sorted_keys, m.steps, m.sorted_steps, n_, key_bytes_, bits_, stream);
        follow_places(m, key_bytes_, n_, to, to_bytes, stream);
    }

private:
    std::pair<permutation_memory, void*> memory(memory_pieces& of) const {
        const std::size_t keys = static_cast<std::size_t>(n_) * key_bytes_;
        const std::size_t steps = static_cast<std::size_t>(n_) * sizeof(std::int64_t);
        const permutation_memory m{of.take(keys), of.take(keys), of.take<std::int64_t>(steps),
                                   of.take<std::int64_t>(steps), of.take<std::int64_t>(steps)};
        return {m, of.take(sort_bytes_)};
    }

    const std::int64_t n_;
    const std::size_t key_bytes_;
    const int bits_;
    std::size_t sort_bytes_ = 0;
};

class permutation_kernel final : public random_run_kernel {
public:
    explicit permutation_kernel(const kernel_setup& s) :
        random_run_kernel(s, s.attrs.get<std::int64_t>("seed")),
        type_(s.outputs[0]),
        work_(s, type_.extents.elements()) {
        detail::check_permutation(s.node.name, type_);
    }
    std::size_t scratch_bytes() const override {
        memory_pieces of;
        of.take(run_bytes);
        work_.take(of);
        return of.taken();
    }
    void run(const kernel_run& r) override {
        if (!r.out[0] || type_.extents.elements() == 0) return;
        memory_pieces scratch(r.scratch);
        scratch.take(run_bytes);
        work_.make(scratch, key(), run_of(r), r.out[0], size_of(type_.element), r.stream);
    }

private:
    const tensor_type type_;
    const permutation_work work_;
};

class shuffle_kernel final : public random_run_kernel {
public:
    explicit shuffle_kernel(const kernel_setup& s) :
        random_run_kernel(s, s.attrs.get<std::int64_t>("seed")),
        rows_(s.inputs[0].extents[0].size),
        row_bytes_(rows_ == 0 ? 0 : static_cast<std::size_t>(bytes_of(s.inputs[0]) / rows_)),
        work_(s, rows_) {}
    std::size_t scratch_bytes() const override {
        memory_pieces of;
        of.take(run_bytes);
        of.take(order_bytes());
        work_.take(of);
        return of.taken();
    }
    void run(const kernel_run& r) override {
        if (!r.out[0] || row_bytes_ == 0) return;
        memory_pieces scratch(r.scratch);
        scratch.take(run_bytes);
        void* const order = scratch.take(order_bytes());
        work_.make(scratch, key(), run_of(r), order, sizeof(std::int64_t), r.stream);
        gather_rows(r.in[0], {order, true, rows_}, r.out[0], 1, rows_, row_bytes_, r.stream);
    }

private:
    std::size_t order_bytes() const { return static_cast<std::size_t>(rows_) * sizeof(std::int64_t); }

    const std::int64_t rows_;
    const std::size_t row_bytes_;
    const permutation_work work_;
};

} // namespace

void register_random() {
    enter({{"random_uniform", prepare_uniform},
           {"random_normal", prepare_normal},
           {"random_part", prepare_part},
           {"random_integers", prepare<integers_kernel>},
           {"random_permutation", prepare<permutation_kernel>},
           {"random_shuffle", prepare<shuffle_kernel>}});
}

} // namespace tenon::cuda
