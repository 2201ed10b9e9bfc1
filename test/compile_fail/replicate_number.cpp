// What builds a replica takes its number.
// error[gcc]: In instantiation of .*replicate
// error: tenon::replicate: it takes a function of the replica's number
#include <tenon/tenon.hpp>

namespace tn = tenon;

int main() {
#ifdef TENON_EXPECT_ERROR
    tn::replicate({"/cpu:0", "/cpu:1"}, [] { (void)tn::variable("w", 1.0f); });
#else
    tn::replicate({"/cpu:0", "/cpu:1"}, [](int) { (void)tn::variable("w", 1.0f); });
#endif
}
