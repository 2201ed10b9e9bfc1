#include <tenon/runtime/plan/schedule.hpp>

#include "runtime/plan/handmade.hpp"
#include "tests.hpp"

// Operations that each thread takes its rows through: which they are, and what parts them.

using tn::opcode;
using tn::runtime::row_run;

namespace {

struct made : handmade::maker {
    explicit made(int threads = 2) { options.threads = threads; }
    int x = feed({64, 512});
    int w = feed({512, 512});
    int product(int a, int b, bool transposed = false) {
        return item(tn::matmul_definition, tn::encode(tn::matmul_op::attributes{.transpose_a = transposed}), {a, b});
    }
    // What the planner makes of it: the runs, as values that are computed in each.
    std::vector<std::vector<int>> runs() {
        for (std::size_t i = 0; i < program.items.size(); ++i) program.item(static_cast<int>(i)).find_reads();
        const tn::runtime::scheduled s = tn::runtime::schedule(program, options);
        std::vector<std::vector<int>> found;
        for (const row_run& r : s.row_runs) {
            found.emplace_back();
            for (std::size_t at = r.first; at < r.end(); ++at)
                found.back().push_back(program.item(s.order[at]).outputs[0]);
            CHECK(r.shares == options.threads);
        }
        return found;
    }
};
using values = std::vector<std::vector<int>>;

} // namespace

TEST_CASE("products of rows and what is done to their elements are one run") {
    made p;
    const int h = p.product(p.x, p.w), a = p.fused(opcode::relu, {h}), y = p.product(a, p.w);
    p.fetch(y);
    CHECK(p.runs() == values{{h, a, y}});
}

TEST_CASE("threads that do not divide the parts of rows, one thread, and short steps have none") {
    for (const int threads : {1, 3, 8}) {
        made p(threads);
        p.fetch(p.product(p.fused(opcode::relu, {p.product(p.x, p.w)}), p.w));
        CHECK(p.runs().empty());
    }
    made small;
    const int x = small.feed({32, 32});
    small.fetch(small.product(small.fused(opcode::relu, {small.product(x, x)}), x));
    CHECK(small.runs().empty());
}

TEST_CASE("what needs all rows of what a run computes comes after it: another operand of a product, its transpose") {
    made p;
    const int square = p.feed({512, 512});
    const int h = p.product(p.x, p.w), a = p.fused(opcode::relu, {h}), b = p.product(square, p.w),
              right = p.product(a, b), left = p.product(a, a, true), both = p.product(right, left);
    p.fetch(both);
    for (const std::vector<int>& run : p.runs()) {
        const auto has = [&](int v) { return std::find(run.begin(), run.end(), v) != run.end(); };
        CHECK_FALSE((has(b) && has(right)));
        CHECK_FALSE((has(a) && has(left)));
        CHECK_FALSE((has(left) && has(both)));
    }
}

TEST_CASE("operations that do not need each other are run together, whatever rows they have") {
    made p;
    const int other = p.feed({128, 512});
    const int a = p.product(p.x, p.w), b = p.product(other, p.w);
    p.fetch(a);
    p.fetch(b);
    CHECK(p.runs() == values{{a, b}});
}

TEST_CASE("a control dependency parts a run") {
    made p;
    const int a = p.product(p.x, p.w);
    const int b =
        p.item(tn::matmul_definition, tn::encode(tn::matmul_op::attributes{}), {p.x, p.w}, {.after = {p.number_of(a)}});
    p.fetch(a);
    p.fetch(b);
    CHECK(p.runs().empty());
}

TEST_CASE("what is independent of a run and has no rows of its own goes before it, what needs it behind it") {
    made p;
    const int one = p.feed({512}), small = p.fused(opcode::tanh, {one});
    const int h = p.product(p.x, p.w), line = p.fused(opcode::add, {h, small}), y = p.product(line, p.w);
    p.fetch(y);
    CHECK(p.runs() == values{{h, line, y}});
}

TEST_CASE("what a run computes has its memory until the run ends") {
    made p;
    const int h = p.product(p.x, p.w), a = p.fused(opcode::relu, {h}), y = p.product(a, p.w), z = p.product(y, p.w);
    p.fetch(z);
    for (std::size_t i = 0; i < p.program.items.size(); ++i) p.program.item(static_cast<int>(i)).find_reads();
    const tn::runtime::scheduled s = tn::runtime::schedule(p.program, p.options);
    REQUIRE(s.row_runs.size() == 1);
    std::vector<std::size_t> places;
    for (const int v : {h, a, y}) places.push_back(s.memory.locations[static_cast<std::size_t>(v)].offset);
    std::sort(places.begin(), places.end());
    for (std::size_t k = 1; k < places.size(); ++k) CHECK(places[k] - places[k - 1] >= 64 * 512 * sizeof(float));
}

TEST_CASE("what is written to variables is not run with what is not") {
    made p;
    const int v = p.variable({512, 512}), g = p.product(p.x, p.x, true), h = p.product(p.x, p.w);
    const int next = p.fused(opcode::subtract, {v, g});
    p.assign(v, next, {.target = true});
    p.fetch(h);
    for (const std::vector<int>& run : p.runs()) {
        const auto is_written = [&](int value) { return p.program.value(value).variable != nullptr; };
        const auto written = std::count_if(run.begin(), run.end(), is_written);
        CHECK((written == 0 || written == std::ssize(run)));
    }
}
