// Examples hold three types of elements.
// error[gcc]: template constraint failure for .*FeatureElement<T>.* class tenon::fixed_feature
// error[clang]: constraints not satisfied for class template 'fixed_feature' .with T = int
// error[clang]: does not satisfy 'FeatureElement'
// lines: 16
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::tensor<std::string, tn::shape<8>>& serialized) {
#ifdef TENON_EXPECT_ERROR
    return tn::parse_example(serialized, tn::fixed_feature<std::int32_t>("label"));
#else
    return tn::parse_example(serialized, tn::fixed_feature<std::int64_t>("label"));
#endif
}
