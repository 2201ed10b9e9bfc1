#pragma once

#include "tests.hpp"
#include "running.hpp"

/// What a typed function and the untyped one of its name make, side by side.

namespace op_table {

inline constexpr struct batch_size : dim<"batch"> {} batch;
using matrix = shape<batch, 4>;

/// Two nodes of one op, with equal attributes, of equal nodes.
inline void check_same_node(const node* a, const node* b) {
    if (a == b) return;
    REQUIRE(a->op == b->op);
    CHECK(a->attributes == b->attributes);
    CHECK(a->controls.size() == b->controls.size());
    REQUIRE(a->inputs.size() == b->inputs.size());
    for (std::size_t i = 0; i < a->inputs.size(); ++i) {
        CHECK(a->inputs[i].index == b->inputs[i].index);
        check_same_node(a->inputs[i].node, b->inputs[i].node);
    }
}

/// A graph in which both are written, of operands that it feeds.
class twins {
public:
    template <class T, class S> auto operand(double low = -2, double high = 2) {
        return filled<T, S>([&](std::int64_t i, std::int64_t n) {
            return low + (high - low) * (static_cast<double>(i * 7 % n) + 0.4) / static_cast<double>(n);
        });
    }
    template <class T, class S> auto given(std::vector<double> values) {
        return filled<T, S>(
            [&](std::int64_t i, std::int64_t) { return values[static_cast<std::size_t>(i) % values.size()]; });
    }

    /// The same op with the same attributes last, types that agree, and the same bits; of what is a formula of several
    /// instructions, which are written in one order only where types are known, the same but for `rounding`.
    template <class E> void same(const char* name, const E& typed, const any_tensor& untyped, double rounding = 0) {
        INFO(name);
        const any_tensor t = tenon::detail::as_tensor(typed);
        CHECK(t.type() == untyped.type());
        CHECK(t.node()->op == untyped.node()->op);
        // A fused node's tape may hold all of an expression.
        if (std::string(t.node()->op->name) != "fused") CHECK(t.node()->attributes == untyped.node()->attributes);
        session s(in_);
        std::vector<fed_value> feeds;
        for (const fed_value& f : fed_) feeds.push_back({f.tensor, f.value.share()});
        const std::vector<any_array> got = s.run_untyped(std::move(feeds), {t, untyped});
        if (rounding > 0) {
            for (std::int64_t i = 0; i < got[0].elements(); ++i)
                CHECK(number_at(got[1], i) == doctest::Approx(number_at(got[0], i)).epsilon(rounding));
            return;
        }
        std::vector<any_array> one, other;
        one.push_back(got[0].share());
        other.push_back(got[1].share());
        CHECK(difference(one, other) == "");
    }
    /// For several results: a tuple, a pair or an array of them.
    template <class Tuple>
    void same_parts(const char* name, const Tuple& typed, const std::vector<any_tensor>& untyped) {
        REQUIRE(std::tuple_size_v<Tuple> == untyped.size());
        [&]<std::size_t... I>(std::index_sequence<I...>) { (same(name, std::get<I>(typed), untyped[I]), ...); }
        (std::make_index_sequence<std::tuple_size_v<Tuple>>{});
    }
    /// Of what has an effect: the same nodes.
    template <class A, class B> void same_operation(const char* name, const A& typed, const B& untyped) {
        INFO(name);
        check_same_node(typed.node(), untyped.node());
    }

private:
    template <class T, class S, class F> auto filled(F&& f) {
        const auto x = placeholder<T, S>();
        extents sizes;
        for (const extent& e : S::extents) sizes.push_back(e.is_number() ? e : extent(3));
        any_array a(element_type_of<T>, sizes);
        for (std::int64_t i = 0; i < a.elements(); ++i) set_number(a, i, f(i, a.elements()));
        fed_.push_back({x, std::move(a)});
        return x;
    }
    own_graph in_;
    std::vector<fed_value> fed_;
};

} // namespace op_table
