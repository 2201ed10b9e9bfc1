#include <nlohmann/json.hpp>

#include <tenon/ops/text/strings.hpp>

#include "ops/untyped_run.hpp"
#include "tests.hpp"
#include "runtime/place/explained.hpp"
#include "runtime/support.hpp"

// What an explanation says of bytes of sizes that only a step tells.

using tn::bytes_known;

namespace {

inline constexpr struct kept : tn::dim<"kept"> {} kept;

tn::session_options with_gpu() { return {.gpus = tn::simulated_gpu(1, std::size_t{16} << 20)}; }

const tn::placement_explanation::edge& edge_of(const tn::placement_explanation& e, const tn::any_tensor& t) {
    for (const auto& edge : e.edges)
        if (edge.tensor == t.name()) return edge;
    FAIL("no edge of " << t.name());
    return e.edges.front();
}

// [n] of which the first `count` are true.
tn::array<bool, tn::shape<tn::dyn>> first_of(std::int64_t n, std::int64_t count) {
    tn::array<bool, tn::shape<tn::dyn>> mask(n);
    for (std::int64_t i = 0; i < count; ++i) mask(i) = true;
    return mask;
}

struct chosen {
    tn::tensor<float, tn::shape<tn::dyn, 2>> x = tn::placeholder<float, tn::shape<tn::dyn, 2>>("x");
    tn::tensor<bool, tn::shape<tn::dyn>> mask = tn::placeholder<bool, tn::shape<tn::dyn>>("mask");
};

} // namespace

TEST_CASE_FIXTURE(in_graph,
                  "bytes that only a step tells are at most what the op can give, and then those of the last step") {
    const chosen from;
    const auto rows = tn::on("/cpu:0", [&] { return tn::boolean_mask(from.x, from.mask); });
    const auto twice = tn::on("/gpu:0", [&] { return tn::tensor<float, tn::shape<tn::dyn, 2>>(rows * 2.0f); });
    const auto back = tn::on("/cpu:0", [&] { return tn::tensor<float, tn::shape<tn::dyn, 2>>(twice + 1.0f); });
    tn::session s(with_gpu());
    const tn::array<float, tn::shape<tn::dyn, 2>> five(5);
    const auto explained = [&](std::int64_t count) {
        return s.explain_placement(tn::feed(from.x, five), tn::feed(from.mask, first_of(5, count)), back);
    };
    auto e = explained(3);
    for (const tn::any_tensor& t : {tn::any_tensor(rows), tn::any_tensor(twice)}) {
        CHECK(edge_of(e, t).known == bytes_known::at_most);
        CHECK(edge_of(e, t).bytes == 5 * 2 * 4);
        CHECK(edge_of(e, t).type.extents[0].is_dynamic());
    }
    CHECK(e.crossing_known() == bytes_known::at_most);
    CHECK(contains(e.to_text(), "at most 40 bytes\n"));
    CHECK(contains(e.to_text(), "in each step at most 80 bytes cross\n"));
    CHECK(contains(e.to_dot(), "at most 40 B"));
    CHECK(nlohmann::json::parse(e.to_json()).at("crossing_known") == "at most");
    for (const std::int64_t count : {3, 1, 0}) {
        s.run(tn::feed(from.x, five), tn::feed(from.mask, first_of(5, count)), back);
        e = explained(3); // whatever the mask would be
        for (const tn::any_tensor& t : {tn::any_tensor(rows), tn::any_tensor(twice)}) {
            CHECK(edge_of(e, t).known == bytes_known::last_step);
            CHECK(edge_of(e, t).bytes == count * 2 * 4);
        }
        CHECK(e.crossing_bytes() == 2 * count * 2 * 4);
    }
    CHECK(contains(e.to_text(), "0 bytes, as in the last step\n"));
    CHECK(contains(e.to_text(), "in each step 0 bytes cross, where sizes are those of the last step\n"));
    // Other sizes are another request, of which no step was run.
    const tn::array<float, tn::shape<tn::dyn, 2>> seven(7);
    e = s.explain_placement(tn::feed(from.x, seven), tn::feed(from.mask, first_of(7, 3)), back);
    CHECK(edge_of(e, rows).known == bytes_known::at_most);
    CHECK(edge_of(e, rows).bytes == 7 * 2 * 4);
}

TEST_CASE_FIXTURE(in_graph, "a name for what a step tells stands for the most it can be, whoever else has it") {
    const chosen a;
    const auto other = tn::placeholder<bool, tn::shape<3>>("other");
    const auto rows = tn::on("/cpu:0", [&] { return tn::boolean_mask<kept>(a.x, a.mask); });
    const auto few = tn::on("/cpu:0", [&] { return tn::boolean_mask<kept>(tn::constant({1.0f, 2.0f, 3.0f}), other); });
    const auto sized = tn::on("/cpu:0", [&] { return tn::ones_like(rows); });
    const auto there = tn::on("/gpu:0", [&] { return tn::tensor<float, tn::shape<kept, 2>>(sized + 1.0f); });
    const auto both = tn::on("/gpu:0", [&] { return tn::tensor<float, tn::shape<kept>>(few * 2.0f); });
    tn::session s(with_gpu());
    const tn::array<float, tn::shape<tn::dyn, 2>> five(5);
    const auto fed = [&] { return std::pair(tn::feed(a.x, five), tn::feed(a.mask, first_of(5, 2))); };
    auto e = s.explain_placement(fed().first, fed().second, there);
    CHECK(edge_of(e, sized).known == bytes_known::at_most);
    CHECK(edge_of(e, sized).bytes == 5 * 2 * 4);
    const tn::array<bool, tn::shape<3>> two{true, false, true};
    e = s.explain_placement(fed().first, fed().second, tn::feed(other, two), there, both);
    CHECK(edge_of(e, few).known == bytes_known::at_most);
    CHECK(edge_of(e, few).bytes >= 2 * 4);
    CHECK(edge_of(e, few).bytes <= 5 * 4);
    s.run(fed().first, fed().second, tn::feed(other, two), there, both);
    e = s.explain_placement(fed().first, fed().second, tn::feed(other, two), there, both);
    CHECK(edge_of(e, sized).bytes == 2 * 2 * 4);
    CHECK(edge_of(e, few).bytes == 2 * 4);
    CHECK(e.crossing_known() == bytes_known::last_step);
}

TEST_CASE_FIXTURE(in_graph, "where nothing is known of a size before the step, the explanation says so") {
    const auto text = tn::placeholder<std::string, tn::shape<>>("text");
    const auto numbers =
        tn::on("/cpu:0", [&] { return tn::to_number<float>(tn::string_split(text, std::string(","))); });
    const auto there = tn::on("/gpu:0", [&] { return tn::tensor<float, tn::shape<tn::dyn>>(numbers * 2.0f); });
    tn::session s(with_gpu());
    const tn::array<std::string, tn::shape<>> three(std::string("1,2,3"));
    auto e = s.explain_placement(tn::feed(text, three), there);
    CHECK(edge_of(e, numbers).known == bytes_known::not_yet);
    CHECK(edge_of(e, numbers).bytes == 0);
    CHECK(contains(e.to_text(), "as many bytes as the step tells\n"));
    CHECK(contains(e.to_text(), "in each step 0 bytes cross, and what only the step tells\n"));
    s.run(tn::feed(text, three), there);
    e = s.explain_placement(tn::feed(text, three), there);
    CHECK(edge_of(e, numbers).known == bytes_known::last_step);
    CHECK(edge_of(e, numbers).bytes == 3 * 4);
}

TEST_CASE_FIXTURE(in_graph, "between tasks of a process the last step's sizes are known, whichever task tells them") {
    const tn::task ps({.job = "ps"}), worker({.job = "worker"});
    const chosen from;
    const auto rows = tn::on("/job:worker", [&] { return tn::boolean_mask(from.x, from.mask); });
    const auto sum = tn::on("/job:ps", [&] { return tn::sum(rows); });
    const tn::array<float, tn::shape<tn::dyn, 2>> four(4);
    for (const auto& tasks : {std::vector<tn::task>{ps, worker}, std::vector<tn::task>{worker, ps}}) {
        tn::session s(tasks, g);
        const auto bytes = [&](bytes_known known) {
            const auto e = s.explain_placement(tn::feed(from.x, four), tn::feed(from.mask, first_of(4, 3)), sum);
            CHECK(edge_of(e, rows).known == known);
            return edge_of(e, rows).bytes;
        };
        CHECK(bytes(bytes_known::at_most) == 4 * 2 * 4);
        s.run(tn::feed(from.x, four), tn::feed(from.mask, first_of(4, 3)), sum);
        CHECK(bytes(bytes_known::last_step) == 3 * 2 * 4);
    }
}

TEST_CASE_FIXTURE(in_graph, "explanations and reports of lists known at run time are fed as runs are") {
    const auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x");
    const auto y = tn::on("/gpu:0", [&] { return tn::tensor<float, tn::shape<tn::dyn>>(tn::exp(x) * 2.0f); });
    tn::session s(with_gpu());
    const tn::array<float, tn::shape<tn::dyn>> values(100);
    const auto feeds = [&] { return tn::test::fed(x, values.untyped()); };
    CHECK(s.explain_placement_untyped(feeds(), {y}).to_text() == s.explain_placement(tn::feed(x, values), y).to_text());
    CHECK(s.explain_placement_untyped(feeds(), {y}).crossing_bytes() == 400);
    const tn::step_report typed = s.report(tn::feed(x, values), y), untyped = s.report_untyped(feeds(), {y});
    CHECK(untyped.order == typed.order);
    CHECK(untyped.peak_bytes == typed.peak_bytes);
    CHECK(untyped.peak_bytes >= 400);
    const tn::operation nothing = tn::group(y);
    CHECK(s.report_untyped(feeds(), {}, {nothing}).nodes == s.report(tn::feed(x, values), nothing).nodes);
    CHECK_THROWS_AS(s.report_untyped({}, {y}), tn::invalid_argument_error); // x is not fed
    CHECK_THROWS_AS(s.explain_placement_untyped({y}), tn::invalid_argument_error);
}
