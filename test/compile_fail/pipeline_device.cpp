// A stage is said with its device.
// error[gcc]: In instantiation of .tenon::ill_shaped tenon::pipeline\(
// error: a stage has a device: write stage\(.?"/gpu:0.?", layer\)
#include <tenon/tenon.hpp>

namespace tn = tenon;

int main() {
#ifdef TENON_EXPECT_ERROR
    const auto pipe = tn::pipeline({.micro_batches = 2}, tn::nn::dense<2>());
#else
    const auto pipe = tn::pipeline({.micro_batches = 2}, tn::stage("/gpu:0", tn::nn::dense<2>()));
#endif
    (void)pipe;
}
