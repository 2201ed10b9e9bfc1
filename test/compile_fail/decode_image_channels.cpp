// An image has 1 to 4 channels.
// error[gcc]: decode_image: numbers of channels differ: \[\]
// error[clang]: decode_image_rule<.*>, tenon::fault::channels_differ
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::tensor<std::string, tn::shape<>>& file) {
#ifdef TENON_EXPECT_ERROR
    return tn::decode_png<tn::shape<28, 28, 5>>(file);
#else
    return tn::decode_png<tn::shape<28, 28, 4>>(file);
#endif
}
