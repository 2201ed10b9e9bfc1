// What trains takes the settings and the trial.
// error[gcc]: In instantiation of .*run
// error: tenon::grid_search::run: it takes a function of the settings and the trial
#include <tenon/models.hpp>

namespace tn = tenon;

struct settings {
    float rate = 0;
};

int main() {
    const tn::grid points(tn::axis("rate", &settings::rate, {0.1f}));
    tn::grid_search search(points, tn::devices_of(tn::task()));
#ifdef TENON_EXPECT_ERROR
    search.run([](const settings&) {});
#else
    search.run([](const settings&, tn::trial&) {});
#endif
}
