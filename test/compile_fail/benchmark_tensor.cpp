// A tensor has no time of its own.
// error[gcc]: In instantiation of .*tenon::benchmark\(
// error: tenon::benchmark: a kernel is timed
#include <tenon/debug/benchmark.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;

auto f(tn::session& s, const tn::tensor<float, tn::shape<4>>& x) {
#ifdef TENON_EXPECT_ERROR
    (void)s;
    return tn::benchmark(x);
#else
    return tn::benchmark([&] { s.run(x); });
#endif
}
