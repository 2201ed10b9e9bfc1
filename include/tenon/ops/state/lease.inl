#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/op/step.hpp>
#include <tenon/graph/resource_use.hpp>
#include <tenon/resources/lease.hpp>
#include <tenon/resources/resources.hpp>

/// The kernels of ops/state/lease.hpp.

namespace tenon::detail {

class lease_resource final : public resource {
public:
    static constexpr const char* kind = "lease";
    explicit lease_resource(std::string n) : name(std::move(n)) {}
    void describe(resource_info& to) const override {
        const std::lock_guard lock(guard);
        const lease::standing s = is.at(std::chrono::steady_clock::now());
        to.description = "term " + std::to_string(s.term) + (s.holder.empty() ? ", nobody's" : " of " + s.holder);
    }

    const std::string name;
    mutable std::mutex guard; // of what follows
    lease is;
};

// The lease that a node stands for, on the device that `s` is for.
inline std::shared_ptr<lease_resource> lease_of(const node& n, const kernel_setup& s) {
    require_made_by<lease_op>(n, s, "lease");
    const resource_identity id(n, decode<lease_op::attributes>(n.attributes).shared_name, s);
    return s.resources->find_or_make<lease_resource>(id.container, id.name,
                                                     [&] { return std::make_shared<lease_resource>(id.name); });
}

struct lease_kernel final : kernel {
    explicit lease_kernel(const kernel_setup& s) : of(lease_of(s.node, s)) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const std::lock_guard lock(of->guard);
        *r.output<std::int64_t>(0) = of->is.at({}).term;
    }
    double cost() const override { return 2; }
    std::shared_ptr<lease_resource> of;
};

struct claim_lease_kernel final : kernel {
    explicit claim_lease_kernel(const kernel_setup& s) : of(lease_of(*s.node.inputs[0].node, s)) {}
    void run(const kernel_run& r) override {
        const std::string& who = *r.input<std::string>(1);
        const double seconds = *r.input<double>(2);
        const std::int64_t known = *r.input<std::int64_t>(3);
        constexpr double most = 1e6;
        constexpr std::int64_t most_known = std::int64_t{1} << 62;
        if (!(seconds <= most))
            throw invalid_argument_error("claim_lease: a lease is claimed for " + detail::text_of_number(seconds) +
                                         " s; give a number up to " + std::to_string(static_cast<int>(most)));
        if (seconds > 0 && who.empty())
            throw invalid_argument_error("claim_lease: who claims the lease \"" + of->name + "\" has no name");
        if (known < 0 || known > most_known)
            throw invalid_argument_error("claim_lease: there is no term " + std::to_string(known));
        const lease::time_point now = r.step ? r.step->now() : std::chrono::steady_clock::now();
        lease::standing is;
        {
            const std::lock_guard lock(of->guard);
            if (seconds > 0) {
                const auto length = std::chrono::duration<double>(seconds);
                is = of->is.claim(who, now, std::chrono::duration_cast<lease::duration>(length), known);
            } else if (seconds < 0) is = of->is.give_back(who, now);
            else is = of->is.at(now);
        }
        if (r.out[1]) *r.output<std::int64_t>(1) = is.term;
        if (r.out[2]) *r.output<double>(2) = std::chrono::duration<double>(is.left).count();
        if (r.out[0]) *r.output<std::string>(0) = std::move(is.holder);
    }
    double cost() const override { return 2; }
    std::shared_ptr<lease_resource> of;
};

} // namespace tenon::detail
