#include <simd/simd_support.hpp>

using namespace simd_test;
using tenon::bfloat16;
using tenon::half;

namespace {

template <class To, class From> To reference_convert(From x) {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
        using limits = std::numeric_limits<To>;
        const auto wide = static_cast<long double>(x);
        if (std::isnan(wide)) return 0;
        if (wide >= static_cast<long double>(limits::max())) return limits::max();
        if (wide <= static_cast<long double>(limits::min())) return limits::min();
    }
    return static_cast<To>(x);
}

} // namespace

TEST_CASE("convert is static_cast, but saturates where that is undefined and makes NaN 0") {
    on_each_isa([]<class P>(P) {
        on_each_number([]<class From>(tag<From>) {
            on_each_number([]<class To>(tag<To>) {
                check_unary<From, To>((std::string("convert to ") + (std::is_floating_point_v<To> ? "floating " : "") +
                                       (std::is_signed_v<To> ? "signed " : "unsigned ") + std::to_string(sizeof(To)) +
                                       " from " + (std::is_floating_point_v<From> ? "floating" : "integer"))
                                          .c_str(),
                                      P::which, P::template convert<To, From>, reference_convert<To, From>);
            });
            check_unary<From, bool>("convert to bool", P::which, P::template convert<bool, From>,
                                    [](From x) { return x != 0; });
            bool truth[16];
            From number[16];
            for (int i = 0; i < 16; ++i) truth[i] = i % 3 == 0;
            P::template convert<From, bool>(truth, number, 16);
            for (int i = 0; i < 16; ++i) CHECK(number[i] == From(i % 3 == 0 ? 1 : 0));
        });
    });
}

TEST_CASE("half and bfloat16 are widened exactly and rounded to nearest even") {
    on_each_isa([]<class P>(P) {
        const auto check = []<class T>(tag<T>) {
            std::vector<T> all(65536);
            for (unsigned i = 0; i < 65536; ++i) all[i] = T::from_bits(static_cast<std::uint16_t>(i));
            std::vector<float> wide(65536);
            P::template reformat<float, T>(all.data(), wide.data(), 65536);
            int wrong = 0;
            for (unsigned i = 0; i < 65536; ++i) wrong += same(wide[i], float(all[i])) ? 0 : 1;
            CHECK(wrong == 0);
            // Around every one of them: the ties, and their neighbours.
            std::vector<float> between;
            for (unsigned i = 0; i < 65536; ++i) {
                const float x = wide[i];
                const float next = float(T::from_bits(static_cast<std::uint16_t>(i + 1)));
                const float tie = x + (next - x) / 2;
                for (float y : {x, tie, std::nextafter(tie, x), std::nextafter(tie, next)}) between.push_back(y);
            }
            const float max = float(std::numeric_limits<T>::max());
            for (std::size_t i = 0; i < 16; ++i) between.push_back(max * (1 + static_cast<float>(i) * 0x1p-13F));
            const auto any = samples<float>(5);
            between.insert(between.end(), any.begin(), any.end());
            const int n = static_cast<int>(between.size()) / 16 * 16;
            std::vector<T> narrow(between.size());
            std::vector<float> rounded(between.size());
            P::template reformat<T, float>(between.data(), narrow.data(), n);
            P::template round_to<T>(between.data(), rounded.data(), n);
            wrong = 0;
            for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
                const T expected(between[i]);
                wrong += std::isnan(between[i]) ? (std::isnan(float(narrow[i])) ? 0 : 1)
                                                : (narrow[i].bits() == expected.bits() ? 0 : 1);
                wrong += same(rounded[i], float(expected)) ? 0 : 1;
            }
            CHECK(wrong == 0);
        };
        check(tag<half>{});
        check(tag<bfloat16>{});
    });
}
