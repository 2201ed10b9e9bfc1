// A number that is no tensor.
// error[gcc]: In instantiation of .*tenon::while_loop\(
// error: tenon::while_loop: what it begins with are tensors: write constant\(0\)
#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f() {
#ifdef TENON_EXPECT_ERROR
    return tn::while_loop([](const auto& i) { return i < 5; }, [](const auto& i) { return i + 1; }, 0);
#else
    return tn::while_loop([](const auto& i) { return i < 5; }, [](const auto& i) { return i + 1; }, tn::constant(0));
#endif
}
