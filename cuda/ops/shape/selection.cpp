// What comes back from elements that a mask has chosen. The ops that choose run on the host, which must know how many there are.

#include <tenon/ops/shape/masked_rows_kernel.hpp>

#include <cuda/kernels/shape/gather.hpp>
#include <cuda/kernels/shape/mask_places.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/shape/indices.hpp>

namespace tenon::cuda {

namespace {

// The rows of the gradient are gathered into x's: those that the mask does not choose have no index among them, and become 0.
class boolean_mask_gradient_kernel final : public kernel {
public:
    explicit boolean_mask_gradient_kernel(const kernel_setup& s) :
        mask_(s), row_bytes_(static_cast<std::size_t>(mask_.part) * size_of(s.outputs[0].element)) {}
    std::size_t scratch_bytes() const override {
        memory_pieces of;
        (void)memory(of);
        return of.taken();
    }
    bool may_refuse() const override { return true; }
    std::size_t told_bytes() const override { return sizeof(std::int64_t); }
    void tell(std::byte* to) override { *reinterpret_cast<std::int64_t*>(to) = 0; }
    void refuse(const std::byte* told) const override {
        mask_.check_chosen(*reinterpret_cast<const std::int64_t*>(told));
    }
    void run(const kernel_run& r) override {
        memory_pieces scratch(r.scratch);
        const pieces m = memory(scratch);
        list_mask_places(r.in[1], mask_.places, m.places, m.counts, reinterpret_cast<std::int64_t*>(r.told), r.stream);
        if (r.out[0])
            gather_rows(r.in[0], {m.places, has_wide_places(mask_.places), mask_.places}, r.out[0], 1, mask_.chosen,
                        row_bytes_, r.stream);
    }

private:
    struct pieces {
        void* places;
        std::int64_t* counts;
    };
    pieces memory(memory_pieces& of) const {
        return {of.take(static_cast<std::size_t>(mask_.places) * place_bytes(mask_.places)),
                of.take<std::int64_t>(mask_parts * sizeof(std::int64_t))};
    }

    const detail::masked_rows mask_;
    const std::size_t row_bytes_;
};

} // namespace

void register_selection() {
    enter({{"boolean_mask_gradient", [](const kernel_setup& s) -> kernel_pointer {
                return std::make_unique<boolean_mask_gradient_kernel>(s);
            }}});
}

} // namespace tenon::cuda
