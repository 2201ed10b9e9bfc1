#pragma once

// A part of plan/schedule.ipp: what threads do without waiting for each other after each kernel.

#include <tenon/runtime/plan/rewrite/update_chains.hpp>

namespace tenon::runtime::detail {

/// Brings operations that are row runs together in an order of the program's items, and divides their kernels. `waits`: by position, those
/// that must end before it. What is long is left out: its own shares are small beside it, and even out what else the machine does.
class row_run_finder {
public:
    row_run_finder(program& p, const plan_options& o, const edges& waits, std::vector<int>& order) :
        p_(p), o_(o), waits_(waits), order_(order), state_(order.size()) {}

    std::vector<row_run> run() {
        std::vector<row_run> found;
        std::vector<int> made;
        made.reserve(order_.size());
        const auto enter = [&](int at) {
            made.push_back(order_[static_cast<std::size_t>(at)]);
            state(at) = is::placed;
        };
        for (int at = 0; at < std::ssize(order_);) {
            if (state(at) == is::placed) ++at;
            else if (!grow(at)) enter(at);
            else {
                for (const int b : before_) enter(b);
                row_run& r = found.emplace_back(row_run{made.size(), o_.threads, {}});
                for (const int m : run_) {
                    enter(m);
                    r.kernels.push_back(rows_of(m));
                    r.kernels.back()->divide(o_.threads);
                }
            }
        }
        order_ = std::move(made);
        return found;
    }

private:
    enum class is : char { unknown, running, later, placed };
    static constexpr double least_cost = 4e3;                     // ns: several times what it takes to meet
    static constexpr double worth_a_share = 1e3, most_cost = 5e5; // of one operation
    static constexpr std::ptrdiff_t most_bytes = 4 << 20;         // of results, which are to stay in caches
    static constexpr int farthest = 64;                           // that are looked at

    is& state(int at) { return state_[static_cast<std::size_t>(at)]; }
    const program_item& item(int at) const { return p_.item(order_[static_cast<std::size_t>(at)]); }
    row_kernel* rows_of(int at) const { return dynamic_cast<row_kernel*>(item(at).kernel); }

    // What is not mixed: updates are between two gates of the step, and so is what is written to variables.
    std::pair<bool, bool> kind_of(const program_item& it) const {
        const auto is_variable = [&](int v) { return p_.value(v).variable != nullptr; };
        return {belongs_to_updates(p_, it), std::any_of(it.outputs.begin(), it.outputs.end(), is_variable)};
    }

    // Finds the operations of a run that begins with this one, and what is to go before them. The others are passed by.
    bool grow(int first) {
        before_.clear();
        run_.clear();
        if (!joins(first, false)) return false;
        const auto kind = kind_of(item(first));
        double cost = 0;
        std::ptrdiff_t bytes = 0;
        std::vector<int> later;
        for (int at = first, seen = 0; at < std::ssize(order_) && seen < farthest; ++at) {
            if (state(at) == is::placed) continue;
            ++seen;
            const program_item& it = item(at);
            const bool is_variable = it.op->is(op_flags::variable);
            if (!is_variable && kind_of(it) != kind) break;
            bool waits_for_run = false, waits_for_later = false;
            for (const int w : waits_[static_cast<std::size_t>(at)]) {
                waits_for_run = waits_for_run || state(w) == is::running;
                waits_for_later = waits_for_later || state(w) == is::later;
            }
            std::ptrdiff_t more = 0;
            for (const int v : it.outputs) more += bytes_of(p_.value(v).type);
            if (!waits_for_later && bytes + more <= most_bytes && joins(at, waits_for_run)) {
                state(at) = is::running;
                run_.push_back(at);
                cost += it.kernel->cost();
                bytes += more;
            } else if (waits_for_run || waits_for_later || !(is_variable || has_no_effects(*it.op))) {
                state(at) = is::later;
                later.push_back(at);
            } else before_.push_back(at);
        }
        for (const std::vector<int>* all : {&run_, &later})
            for (const int at : *all) state(at) = is::unknown;
        return run_.size() > 1 && cost >= least_cost;
    }

    bool joins(int at, bool waits_for_run) {
        const program_item& it = item(at);
        const row_kernel* const kernel = rows_of(at);
        const double cost = it.kernel->cost();
        return kernel && kernel->rows() >= o_.threads && cost <= most_cost && kernel->can_divide(o_.threads) &&
               !o_.device(it.device).streams() && (waits_for_run ? reads_by_rows(at, *kernel) : cost >= worth_a_share);
    }

    // Whether all that an operation waits for in the run is there when the same share of it is.
    bool reads_by_rows(int at, const row_kernel& kernel) {
        const auto position = static_cast<std::size_t>(at);
        for (std::size_t k = 0; k < waits_[position].size(); ++k) {
            const int from = waits_[position][k];
            if (state(from) == is::running &&
                (waits_.why(position, k) != edge_kind::data || !reads_rows_of(item(at), kernel, from)))
                return false;
        }
        return true;
    }
    bool reads_rows_of(const program_item& it, const row_kernel& kernel, int from) const {
        const row_kernel& other = *rows_of(from);
        const number_list& made = item(from).outputs;
        for (std::size_t i = 0; i < it.inputs.size(); ++i) {
            const auto output = std::find(made.begin(), made.end(), p_.root(it.inputs[i]));
            if (!it.read[i] || output == made.end()) continue;
            if (other.rows() != kernel.rows() || !kernel.is_by_rows(static_cast<int>(i)) ||
                !other.gives_rows(static_cast<int>(output - made.begin())) ||
                p_.value(it.inputs[i]).type.extents[0].size != kernel.rows())
                return false;
        }
        return true;
    }

    program& p_;
    const plan_options& o_;
    const edges& waits_;
    std::vector<int>& order_;
    std::vector<is> state_; // by position
    std::vector<int> before_, run_;
};

} // namespace tenon::runtime::detail
