// One example is parsed by a function of its own.
// error[gcc]: parse_example: rank is too low: \[\]
// error[clang]: serialized_rule<1>, tenon::fault::rank_too_low
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::tensor<std::string, tn::shape<>>& serialized) {
    const auto label = tn::fixed_feature<std::int64_t>("label");
#ifdef TENON_EXPECT_ERROR
    return tn::parse_example(serialized, label);
#else
    return tn::parse_single_example(serialized, label);
#endif
}
