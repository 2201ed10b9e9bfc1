// What rows are computed with, as loops over arrays, once per instruction set. n is a multiple of 16.

namespace tenon::simd::TENON_SIMD_NS {

struct row_pack_ops {
    static void exponentials(const float* x, float* r, int n) {
        for (int i = 0; i < n; i += lanes) store(r + i, exp_below_one(load(x + i)));
    }
    /// e^x / 2^k beside `first`, and k; whether their sum is near.
    template <class T> static bool beside(T first, const T* x, T* r, int n, T* k) {
        const auto near = exp_reference<T>::of(broadcast<T>(first));
        *k = (broadcast<T>(beside_power<T>::middle) - near.base).v[0][0];
        pack<T> sum = {};
        for (int i = 0; i < n; i += lanes) {
            const pack<T> e = near.exp(load(x + i));
            store(r + i, e);
            sum = sum + e;
        }
        return is_near(reduce_add(sum));
    }
};

} // namespace tenon::simd::TENON_SIMD_NS
