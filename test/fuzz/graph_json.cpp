// Reads a graph from any bytes: what is no sound graph is an error of two kinds; what is one is written and read again,
// and run where it is small, with gradients of what is floating. That may fail, with one of the library's errors.
// covers: graph/json io/json/json_value io/json/json_parse graph/json_write graph/graph graph/scope op/attributes core/device_name

#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/graph/json.hpp>
#include <tenon/tenon.hpp>

#include "fuzz/fuzzing.hpp"

namespace {

namespace tn = tenon;

constexpr std::int64_t most_nodes = 60, most_elements = 1 << 12;
constexpr std::int64_t size_of_others = 2; // sizes that are known in the step only

// The sizes that a value is given which may be fed; overfull where it would be large.
tn::extents sizes_to_feed(const tn::extents& declared) {
    tn::extents sizes;
    for (const tn::extent& e : declared) sizes.push_back(e.is_number() ? e : tn::extent(size_of_others));
    return sizes;
}

bool is_small(const tn::graph& g) {
    if (g.size() > most_nodes) return false;
    for (std::int64_t n = 0; n < g.size(); ++n) {
        if (std::string(g.at(n)->op->name) == "print") return false; // nobody wants to read it
        for (const tn::tensor_type& t : g.at(n)->outputs)
            if (sizes_to_feed(t.extents).elements() > most_elements) return false;
    }
    return true;
}

tn::any_array value_for(const tn::tensor_type& type) {
    tn::any_array a = tn::any_array::zeros(type.element, sizes_to_feed(type.extents));
    tn::detail::with_element(type.element, [&](auto zero) {
        using T = decltype(zero);
        for (std::int64_t i = 0; i < a.elements(); ++i) {
            if constexpr (std::is_same_v<T, std::string>) a.data<T>()[i] = "text";
            else if constexpr (tn::is_floating(tn::element_type_of<T>))
                a.data<T>()[i] = static_cast<T>(0.25F * static_cast<float>(i % 8 - 3));
            else a.data<T>()[i] = static_cast<T>(i % 2);
        }
    });
    return a;
}

// Nothing but the library's errors may come out of f.
template <class F> bool goes_well(F&& f) {
    try {
        f();
        return true;
    } catch (const tn::internal_error& e) {
        std::fprintf(stderr, "an internal error: %s\n", e.what());
        std::abort();
    } catch (const tn::error&) {
        return false;
    }
}

class runner {
public:
    explicit runner(const tn::graph& g) : scope_(g), graph_(g), session_(g, options()) {
        for (std::int64_t n = 0; n < g.size(); ++n) {
            tn::node* node = g.at(n);
            if (node->op->is(tn::op_flags::fed))
                for (std::size_t o = 0; o < node->outputs.size(); ++o) feed({node, static_cast<int>(o)});
            for (std::size_t o = 0; o < node->outputs.size(); ++o) {
                all_.emplace_back(tn::node_output{node, static_cast<int>(o)});
                if (tn::is_floating(node->outputs[o].element)) floating_.push_back(all_.back());
            }
            if (node->outputs.empty()) effects_.emplace_back(node);
        }
    }

    void run_everything() {
        goes_well([&] { session_.run_untyped({}, {}, {tn::initialize_variables()}); });
        // Together, as a step is; and where one fails, each for itself, so that it hides no other.
        if (run(all_, effects_)) return;
        for (const tn::any_tensor& t : all_) run({t}, {});
        for (const tn::operation& o : effects_) run({}, {o});
    }

    void run_gradients() {
        std::vector<tn::any_tensor> of;
        for (const tn::any_tensor& t : floating_)
            if (t.node()->inputs.empty() && of.size() < 4) of.push_back(t);
        if (of.empty()) return;
        const std::size_t last = floating_.size(), first = last > 4 ? last - 4 : 0;
        for (std::size_t i = first; i < last; ++i)
            goes_well([&] {
                const tn::any_tensor y = floating_[i];
                const std::vector<tn::any_tensor> once = tn::gradients(y.rank() == 0 ? y : tn::untyped::sum(y), of);
                run(once, {});
            });
    }

private:
    static tn::session_options options() {
        tn::session_options o;
        o.intra_op_threads = 1;
        o.inter_op_threads = 1;
        o.memory_limit = std::size_t{16} << 20;
        o.operation_timeout = 2;
        return o;
    }
    void feed(tn::node_output o) {
        const tn::any_tensor t(o);
        feeds_.push_back({t, value_for(t.type())});
    }
    bool run(const std::vector<tn::any_tensor>& fetched, const std::vector<tn::operation>& targets) {
        std::vector<tn::fed_value> feeds;
        for (const tn::fed_value& f : feeds_) feeds.push_back({f.tensor, f.value.share()});
        return goes_well([&] { session_.run_untyped(std::move(feeds), fetched, targets); });
    }

    tn::graph_scope scope_;
    tn::graph graph_;
    tn::session session_;
    std::vector<tn::fed_value> feeds_;
    std::vector<tn::any_tensor> all_, floating_;
    std::vector<tn::operation> effects_;
};

} // namespace

void try_input(const fuzz::input& in) {
    std::string written;
    tn::graph read;
    if (!fuzz::is_read<tn::invalid_argument_error, tn::data_loss_error>([&] {
            read = tn::graph_from_json(in.text());
            written = tn::to_json(read);
        }))
        return;
    // What was accepted must be accepted again, and be the same.
    fuzz::require_same(tn::to_json(tn::graph_from_json(written)), written);
    if (!is_small(read)) return;
    runner r(read);
    r.run_everything();
    r.run_gradients();
}
