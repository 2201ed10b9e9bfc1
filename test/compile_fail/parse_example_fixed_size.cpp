// A feature of fixed length has sizes that are numbers.
// error[gcc]: template constraint failure for .*FixedShape<S>.* class tenon::fixed_feature
// error[clang]: constraints not satisfied for class template 'fixed_feature'
// error[clang]: does not satisfy 'FixedShape'
// lines: 16
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::tensor<std::string, tn::shape<8>>& serialized) {
#ifdef TENON_EXPECT_ERROR
    return tn::parse_example(serialized, tn::fixed_feature<float, tn::shape<tn::dyn, 3>>("points"));
#else
    return tn::parse_example(serialized, tn::padded_feature<float, tn::shape<tn::dyn, 3>>("points"));
#endif
}
