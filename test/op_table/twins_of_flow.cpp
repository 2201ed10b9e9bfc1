#include "twins.hpp"

// As twins.cpp, of control flow.

using namespace op_table;

TEST_CASE("typed and untyped: bodies") {
    twins t;
    const auto x = t.operand<float, matrix>();
    const auto c = t.operand<float, shape<4>>();
    const auto flag = t.given<bool, shape<>>({1});
    const auto twice = [](const std::vector<any_tensor>& v) {
        return std::vector<any_tensor>{untyped::add(v[0], v[0])};
    };
    t.same("cond",
           cond(
               flag, [&] { return x + x; }, [&] { return x; }),
           untyped::cond(
               flag, [&] { return twice({x}); }, [&] { return std::vector<any_tensor>{x}; })[0]);
    t.same("scan", scan([](const auto& a, const auto& b) { return std::pair(a + b, a); }, c, x).second,
           untyped::scan(
               [](const std::vector<any_tensor>& a, const std::vector<any_tensor>& b) {
                   return tenon::detail::carried_and_given{{untyped::add(a[0], b[0])}, {a[0]}};
               },
               {c}, {x})[1]);
    const auto limit = t.given<float, shape<>>({1000});
    t.same("while_loop",
           while_loop([&](const auto& v) { return sum(v * v) < limit; }, [](const auto& v) { return v + v; }, x),
           untyped::while_loop(
               [&](const std::vector<any_tensor>& v) {
                   return untyped::less(untyped::sum(untyped::multiply(v[0], v[0])), limit);
               },
               twice, {x})[0]);
}
