#pragma once

#include <string>

#include <tenon/ops/elementwise/constant.hpp>

/// Leases of a task (resources/lease.hpp), as ops see them: by the clock of the task on which they are, so that those who claim them
/// compare no clocks. Who leads a training holds one (train/session/monitored_session.hpp).

namespace tenon {

/// A lease. Its output stands for it; the value of that is the number of its term, which nobody needs. With a shared name it is
/// the lease of that name in its container, for all sessions of a task; without one a session's own.
struct lease_op {
    static constexpr const char* name = "lease";
    static constexpr op_flags flags = op_flags::source | op_flags::stateful | op_flags::resource;
    static constexpr element_types gpu_types = no_elements; // it lies in the host's memory
    struct attributes {
        std::string shared_name;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 0) return fault::components_differ;
        return inferred(element_type::int64, {});
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(lease, lease);

/// in: the lease; who claims it, a text; for how many seconds, double: 0 asks only who has it, a negative number gives it back; and
/// the largest number of a term that is known, int64. out: who has it now, "" nobody; the number of the term; the seconds
/// that are left of it.
struct claim_lease_op {
    static constexpr const char* name = "claim_lease";
    static constexpr op_flags flags = op_flags::stateful | op_flags::uses;
    static constexpr element_types gpu_types = no_elements;
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return 3; }
    static constexpr inferred infer(const attributes&, type_list in, int output) {
        if (in.size() != 4) return fault::expects_more_operands;
        for (int i = 1; i < 4; ++i)
            if (in[i].extents.rank() != 0) return fault::rank_too_high;
        if (in[1].element != element_type::string || in[2].element != element_type::float64)
            return fault::element_type_not_supported;
        if (in[3].element != element_type::int64) return fault::element_type_must_be_integer;
        return inferred(output == 0   ? element_type::string
                        : output == 1 ? element_type::int64
                                      : element_type::float64,
                        {});
    }
    static constexpr bool needs_value(const attributes&, int input) { return input > 0; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(lease, claim_lease);

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_lease)

#include <tenon/ops/state/lease.inl>

namespace tenon {

TENON_KERNEL(lease, detail::lease_kernel);
TENON_KERNEL(claim_lease, detail::claim_lease_kernel);

} // namespace tenon

#endif
