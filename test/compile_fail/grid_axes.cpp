// Axes of one grid set members of one struct.
// error[gcc]: In instantiation of .*grid<S>::grid
// error: tenon::grid: all axes are of members of one struct of settings
#include <tenon/models.hpp>

namespace tn = tenon;

struct settings {
    float rate = 0;
};
struct others {
    int hidden = 0;
};

int main() {
    const tn::axis rate("rate", &settings::rate, {0.1f, 0.01f});
#ifdef TENON_EXPECT_ERROR
    const tn::grid points(rate, tn::axis("hidden", &others::hidden, {50}));
#else
    const tn::grid points(rate);
#endif
}
