#pragma once

#include <functional>
#include <random>

#include <tenon/tenon.hpp>

/// What the families of random nodes work with.

namespace random_graphs {

namespace tn = tenon;
namespace u = tenon::untyped;
using tn::element_type;

class workshop {
public:
    explicit workshop(std::uint64_t seed) : random(seed) {}

    std::mt19937_64 random;
    std::vector<tn::any_tensor> tensors;   ///< to be read by further nodes, and fetched
    std::vector<tn::any_tensor> variables; ///< of them, parts of others and slots too
    std::vector<tn::any_tensor> wholes;    ///< of them: those in parts
    std::vector<tn::any_tensor> updates;   ///< of those
    std::vector<tn::any_tensor> placeholders;
    std::vector<tn::operation> operations;            ///< nodes without a tensor
    std::vector<std::vector<tn::operation>> together; ///< of them: optimisers of one table
    bool with_devices = false;
    bool with_pauses = false, with_late_sizes = false; ///< ops that wait
    bool with_trips = false;                           ///< and steps that are cut short

    int below(int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); }
    bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random) < p; }
    template <class L> const auto& one_of(const L& list) {
        return list[static_cast<std::size_t>(below(static_cast<int>(std::size(list))))];
    }
    template <class T> T one_of(std::initializer_list<T> list) {
        return list.begin()[below(static_cast<int>(list.size()))];
    }

    element_type any_element();
    element_type floating_element() {
        return one_of({element_type::float32, element_type::float32, element_type::float64});
    }
    std::int64_t any_size();
    /// One of `size` places; in a few graphs one that is outside, which fails the steps that look there.
    std::int64_t index(std::int64_t size);
    tn::extents any_sizes(int most_rank = 3);
    /// An array of ordinary numbers: mostly small multiples of a half, of which sums are exact.
    tn::any_array numbers(element_type e, const tn::extents& sizes);
    tn::any_tensor constant(element_type e, const tn::extents& sizes) { return u::constant(numbers(e, sizes)); }

    /// A tensor that is there already and fits; empty where none is found.
    tn::any_tensor pick(const std::function<bool(const tn::any_tensor&)>& fits);
    tn::any_tensor pick_floating(int least_rank = 0);
    tn::any_tensor pick_numeric();
    tn::any_tensor pick_static_floating(int rank);
    /// Of x's element type, of sizes that broadcast with x's.
    tn::any_tensor beside(const tn::any_tensor& x);
    /// |x| <= most, so that numbers do not run away.
    tn::any_tensor tamed(const tn::any_tensor& x, double most = 4);
    /// make(o), o being any optimiser.
    tn::operation with_an_optimizer(const std::function<tn::operation(const tn::optimizer&)>& make);
    /// Its operation, the updates, and the slots and counts that it has: variables, too.
    void keep_optimisation(const tn::operation& made);
};

using family = void (*)(workshop&); // adds to w.tensors, or nothing
const std::vector<family>& families();

void keep(workshop& w, const tn::any_tensor& t);

// Of which there are files of their own.
std::vector<family> elementwise_families();
std::vector<family> array_families();
std::vector<family> model_families();
std::vector<family> state_families();
std::vector<family> late_families();
std::vector<family> flow_families();
void variable(workshop& w);

} // namespace random_graphs
