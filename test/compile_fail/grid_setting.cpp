// A setting is what can be shown and kept.
// error[gcc]: In instantiation of .*axis
// error: tenon::axis: a setting is a number, a truth, a text or an enumerator
// lines: 16
#include <vector>

#include <tenon/models.hpp>

namespace tn = tenon;

struct settings {
    std::vector<int> sizes{};
    int hidden = 0;
};

int main() {
#ifdef TENON_EXPECT_ERROR
    const tn::axis a("sizes", &settings::sizes, {std::vector<int>{1}});
#else
    const tn::axis a("hidden", &settings::hidden, {1});
#endif
}
