// What rows are computed with, as loops over arrays, once per instruction set. n is a multiple of 16.

namespace tenon::simd::TENON_SIMD_NS {

struct row_pack_ops {
    static void exponentials(const float* x, float* r, int n) {
        for (int i = 0; i < n; i += lanes) store(r + i, exp_below_one(load(x + i)));
    }
};

} // namespace tenon::simd::TENON_SIMD_NS
