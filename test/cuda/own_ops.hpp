#pragma once

#include <cstring>

#include <tenon/tenon.hpp>

#include "own_kernels.hpp"

/// Ops of a program's own, with kernels of its own for GPUs.

namespace own {

namespace tn = tenon;

/// Its input plus a number that grows by one from step to step, which the host tells its kernel.
struct told_op {
    static constexpr const char* name = "test_told";
    static constexpr tn::op_flags flags = tn::op_flags::stateful;
    struct attributes {
        bool recorded = true;
    };
    static tn::inferred infer(const attributes&, tn::type_list in, int) {
        return tn::inferred(in[0].element, in[0].extents);
    }
    struct kernel : tn::kernel {
        explicit kernel(const tn::kernel_setup& s) :
            n(s.inputs[0].extents.elements()), recorded(tn::decode<attributes>(s.attrs).recorded) {}
        std::size_t told_bytes() const override { return sizeof(std::int64_t); }
        void tell(std::byte* to) override {
            const std::int64_t now = next++;
            std::memcpy(to, &now, sizeof now);
        }
        void run(const tn::kernel_run& r) override {
            add_told(r.output<float>(0), r.input<float>(0), n, reinterpret_cast<const std::int64_t*>(r.told), r.stream);
        }
        bool may_be_recorded() const override { return recorded; }
        const std::int64_t n;
        const bool recorded;
        std::int64_t next = 0;
    };
    static tn::kernel_pointer prepare_gpu(const tn::kernel_setup& s) { return std::make_unique<kernel>(s); }
};
template <class T> T told(const T& x, bool recorded = true) {
    return tn::as<float, typename T::shape_type>(tn::add<told_op>({recorded}, {x}));
}

/// Its input, where its first element is not above 0; else it reads what is nobody's.
struct stumble_op {
    static constexpr const char* name = "test_stumble";
    struct attributes {};
    static tn::inferred infer(const attributes&, tn::type_list in, int) {
        return tn::inferred(in[0].element, in[0].extents);
    }
    struct kernel : tn::kernel {
        explicit kernel(const tn::kernel_setup& s) : n(s.inputs[0].extents.elements()) {}
        void run(const tn::kernel_run& r) override { stumble(r.output<float>(0), r.input<float>(0), n, r.stream); }
        const std::int64_t n;
    };
    static tn::kernel_pointer prepare_gpu(const tn::kernel_setup& s) { return std::make_unique<kernel>(s); }
};
template <class T> T stumble_over(const T& x, const char* name) {
    return tn::as<float, typename T::shape_type>(tn::add<stumble_op>({}, {x}, name));
}

} // namespace own
