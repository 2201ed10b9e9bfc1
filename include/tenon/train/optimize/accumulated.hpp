#pragma once

#include <concepts>
#include <memory>
#include <string>

#include <tenon/train/optimize/optimizers.hpp>

/// Gradients of several small batches as one of a large batch.
///
///     auto train = tn::accumulated(tn::adam(1e-3), 4).minimize(loss);    // every fourth run changes the variables
///     for (...) sess.run(feed(x, small_batch), train);

namespace tenon {

/// An optimiser that has another one apply the mean of the gradients of so many runs, in the last of them; global_step() counts that one. Sums are
/// slots "accumulated", of the type that is computed in, saved with the others: training goes on in the middle of them. A sparse gradient is
/// accumulated as the dense one that it is. In the other runs the optimiser's slots and variables are written as they are. With a loss_scale, runs
/// of which one has a gradient that is not finite change nothing.
class accumulated final : public optimizer {
public:
    /// Throws invalid_argument_error unless runs >= 1.
    template <class O, class Runs>
    accumulated(const O& how, const Runs& runs) : accumulated(kept(how, runs), number_of(runs)) {}

    operation apply_gradients(const std::vector<gradient_and_variable>& gradients,
                              const minimize_options& o = {}) const override;
    std::string settings() const override;

private:
    accumulated(std::shared_ptr<const optimizer> how, std::int64_t runs);
    template <class O, class Runs> static std::shared_ptr<const optimizer> kept(const O& how, const Runs&) {
        constexpr bool good = std::derived_from<O, optimizer> && std::integral<Runs>;
        static_assert(good, "tenon::accumulated: it takes an optimiser, and of how many runs it has the mean gradient: "
                            "accumulated(adam(1e-3), 4)");
        if constexpr (good) return std::make_shared<const O>(how);
        else return nullptr;
    }
    template <class Runs> static std::int64_t number_of(const Runs& runs) {
        if constexpr (std::integral<Runs>) return static_cast<std::int64_t>(runs);
        else return 0;
    }
    bool takes_rows() const override { return how_->takes_rows(); }
    void begin(detail::update_setup& s) const override { how_->begin(s); }
    void write(detail::update_writer& w) const override { how_->write(w); }

    std::shared_ptr<const optimizer> how_;
    int runs_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/optimize/accumulated.ipp>
#endif
