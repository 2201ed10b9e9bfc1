// Feature lists are a tf.SequenceExample's.
// error[gcc]: tenon::parse_example\(.*sequence_feature<float,
// error: tenon::parse_example: a sequence_feature is read by parse_sequence_example
#include <tenon/input.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

auto f(const tn::tensor<std::string, tn::shape<batch>>& serialized) {
    const auto frames = tn::sequence_feature<float, tn::shape<tn::dyn, 3>>("frames");
#ifdef TENON_EXPECT_ERROR
    return tn::parse_example(serialized, frames);
#else
    return tn::parse_sequence_example(serialized, frames);
#endif
}
