// Columns that the devices do not divide.
// error[gcc]: In instantiation of .class tenon::nn::column_parallel_dense_layer<5, 2
// error: tenon::nn::column_parallel_dense: the number of devices does not divide the number of units
#include <tenon/tenon.hpp>

namespace tn = tenon;

int main() {
#ifdef TENON_EXPECT_ERROR
    const auto layer = tn::nn::column_parallel_dense<5>({"/gpu:0", "/gpu:1"});
#else
    const auto layer = tn::nn::column_parallel_dense<6>({"/gpu:0", "/gpu:1"});
#endif
    (void)layer;
}
