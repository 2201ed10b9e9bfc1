#include "tests.hpp"
#include "running.hpp"
#include "central_differences.hpp"

using namespace op_table;
using tenon::test::compare_slopes, tenon::test::slopes, tenon::test::weight;

namespace {

// The results and operands through which gradients flow.
struct flow {
    std::vector<any_tensor> results, operands;
};
flow flow_of(const entry& e, const sample& s, const built& b) {
    flow f;
    for (const any_tensor& t : b.results())
        if (is_floating(t.element()) && (e.slopes < 0 || t.index() < e.slopes)) f.results.push_back(t);
    for (std::size_t i = 0; i < b.operands.size(); ++i)
        if (is_floating(b.operands[i].element()) && !s.operands[i].slopeless) f.operands.push_back(b.operands[i]);
    return f;
}

} // namespace

TEST_CASE("gradients, and gradients of those, agree with differences") {
    for (const entry& e : entries()) {
        if (!e.no_gradient.empty() || !e.steps.empty()) continue;
        for (const sample& s : e.samples) {
            INFO(name_of(e, s, element_type::float64));
            const setting at = setting_of(s, element_type::float64);
            for (const known how : {known::numbers, known::names, known::nothing}) {
                INFO("sizes known as ", static_cast<int>(how));
                const built b = build(e, s, at, how);
                const graph_scope in(b.in);
                std::vector<any_array> values = values_for(s, at);
                std::vector<fed_value> feeds;
                for (std::size_t i = 0; i < values.size(); ++i) feeds.push_back({b.operands[i], std::move(values[i])});
                session sess(b.in);
                const silence quiet;
                const flow f = flow_of(e, s, b);
                REQUIRE(!f.results.empty());
                REQUIRE(!f.operands.empty());
                const slopes once = compare_slopes(sess, feeds, f.results, f.operands);
                CHECK(once.defect == "");
                if (e.one_order || how != known::numbers) continue;
                std::vector<any_tensor> all = f.operands; // what flows out is an operand of what flows in
                for (const any_tensor& w : once.weights) all.push_back(w);
                CHECK(compare_slopes(sess, feeds, once.gradients, all).defect == "");
            }
        }
    }
}

TEST_CASE("gradients in the other floating types are those in double, rounded") {
    for (const entry& e : entries()) {
        if (!e.no_gradient.empty() || !e.steps.empty()) continue;
        for (const sample& s : e.samples)
            for (const element_type t : {element_type::float32, element_type::float16, element_type::bfloat16}) {
                if (!e.elements.has(t)) continue;
                INFO(name_of(e, s, t));
                const auto gradients_in = [&](element_type u) {
                    const setting at = setting_of(s, u);
                    const built b = build(e, s, at);
                    const graph_scope in(b.in);
                    const flow f = flow_of(e, s, b);
                    // Operands that both types hold.
                    std::vector<any_array> values = values_for(s, setting_of(s, t)), given = values_for(s, at);
                    for (std::size_t i = 0; i < values.size(); ++i)
                        for (std::int64_t k = 0; k < values[i].elements(); ++k)
                            set_number(given[i], k, number_at(values[i], k));
                    const std::vector<any_array> plain_results = run(b, given);
                    any_tensor loss;
                    for (const any_tensor& y : f.results) {
                        any_array w(y.element(), plain_results[static_cast<std::size_t>(y.index())].extents());
                        for (std::int64_t i = 0; i < w.elements(); ++i) set_number(w, i, weight(i));
                        const any_tensor part = untyped::cast(untyped::multiply(y, untyped::constant(std::move(w))), u);
                        const any_tensor total = part.rank() == 0 ? part : untyped::sum(part);
                        loss = loss.node() ? untyped::add(loss, total) : total;
                    }
                    return fetch(b, given, tenon::gradients(loss, f.operands));
                };
                const std::vector<any_array> got = gradients_in(t), wanted = gradients_in(element_type::float64);
                const double eps = t == element_type::float32 ? 2e-5 : t == element_type::float16 ? 2e-2 : 0.15;
                for (std::size_t k = 0; k < got.size(); ++k) {
                    CHECK(got[k].element() == t);
                    double largest = 1;
                    for (std::int64_t i = 0; i < wanted[k].elements(); ++i)
                        largest = std::fmax(largest, std::fabs(number_at(wanted[k], i)));
                    for (std::int64_t i = 0; i < wanted[k].elements(); ++i)
                        CHECK(std::fabs(number_at(got[k], i) - number_at(wanted[k], i)) <= eps * largest);
                }
            }
    }
}
