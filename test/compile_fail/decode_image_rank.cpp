// The sizes of an image are three.
// error[gcc]: with S = tenon::shape<28, 28>
// error: tenon: an image has three sizes
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::tensor<std::string, tn::shape<>>& file) {
#ifdef TENON_EXPECT_ERROR
    return tn::decode_png<tn::shape<28, 28>>(file);
#else
    return tn::decode_png<tn::shape<28, 28, 1>>(file);
#endif
}
