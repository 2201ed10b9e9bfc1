// Elements whose sizes are known in the step have no places on a device.
// error[gcc]: In instantiation of .constexpr bool tenon::detail::can_be_prefetched
// error: tenon::prefetch_to_device: the places on the device have sizes that are numbers
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::tensor<float, tn::shape<tn::dyn, 3>>& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::prefetch_to_device(x, "/gpu:0");
#else
    return tn::prefetch_to_device(tn::as<float, tn::shape<32, 3>>(x), "/gpu:0");
#endif
}
