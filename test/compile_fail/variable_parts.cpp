// error[gcc]: said_in_partition
// error: how many parts a variable has is said as \{\.partition = \{\.parts = 4\}\}
#include <tenon/ops/random/initializers.hpp>
#include <tenon/ops/state/state.hpp>

void program() {
    auto fits = tenon::variable<float, tenon::shape<8, 3>>("w", tenon::zeros(), {.partition = {.parts = 4}});
#ifdef TENON_EXPECT_ERROR
    auto wrong = tenon::variable<float, tenon::shape<8, 3>>("v", tenon::zeros(), {.parts = 4});
#endif
}
