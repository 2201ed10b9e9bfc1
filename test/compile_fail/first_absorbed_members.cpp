// What is asked of a mistaken call's result, and printed of it, adds no error; nor do functions of one's own.
// error[gcc]: matmul: inner dimensions differ: \[batch, 784\] x \[300, 10\]
// error[clang]: matmul_op.*inner_dimensions_differ
#include <tenon/tenon.hpp>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

template <tn::Operand X> auto layer(const X& x) {
    using element = typename X::element_type;
    return relu(x) * static_cast<element>(2);
}

std::string program(const images& x, const tn::tensor<float, tn::shape<300, 10>>& w,
                    const tn::tensor<float, tn::shape<784, 10>>& fits) {
    (void)w, (void)fits;
#ifdef TENON_EXPECT_ERROR
    auto bad = matmul(x, w);
#else
    auto bad = matmul(x, fits);
#endif
    std::string text = to_string(bad.type()) + to_string(bad.extents()) + bad.name() + "!";
    std::cout << bad << bad.type() << bad.name() << bad + 1.0f << '\n';
    std::printf("%s %d\n", bad.name().c_str(), static_cast<int>(bad.rank()));
    std::int64_t count = bad.extents()[0].size;
    for (int i = 0; i < bad.rank(); ++i) count += bad.extents()[i].size;
    if (bad.element() == tn::element_type::float32 && bad.type() == x.type() && bad.node()->name == "bad") return "bad";
    std::vector<tn::any_tensor> all{bad, x};
    all.push_back(bad);
    all.emplace_back(bad);
    auto [low, high] = tn::split<2, 1>(bad);
    auto [m, v] = tn::moments<0>(layer(bad));
    tn::operation step = tn::group(bad, low, high, m, v);
    return text + step.name() + std::to_string(count);
}
