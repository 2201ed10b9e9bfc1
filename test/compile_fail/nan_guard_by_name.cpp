// error: deleted function.*nan_guard
// error: give_the_tensor_not_its_name
#include <tenon/train/session/session_hook.hpp>

void program(tenon::tensor<float, tenon::shape<>> loss) {
    auto fits = tenon::nan_guard(loss);
#ifdef TENON_EXPECT_ERROR
    auto wrong = tenon::nan_guard("loss");
#endif
}
