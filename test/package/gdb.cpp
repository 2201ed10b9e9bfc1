// What gdb is asked to show by gdb.sh.

#include <tenon/core/array/array.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/state/state.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

void stop(const tn::any_array&) {}

int main() {
    tn::array<float> a{{1, 2, 3}, {4, 5, 6.5f}};
    tn::array<std::int64_t, tn::shape<2>> b{-1, 2};
    tn::array<std::string> texts{"one", "two"};
    tn::any_array none;
    tn::half h(1.5f);
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    const auto w = tn::variable<float, tn::shape<3, 2>>("w", tn::zeros());
    const auto y = tn::matmul(x, w);
    const tn::any_tensor t = y;
    stop(none);
    return t.rank() == 2 ? 0 : 1;
}
