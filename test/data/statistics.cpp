// Statistics of data sets against the textbook's two passes over the same numbers in float64.
#include <tenon/input.hpp>

#include "tests.hpp"

using tn::dyn;

namespace {

inline constexpr struct rows : tn::dim<"rows"> {} rows;

struct two_passes {
    double mean = 0, deviation = 0;
};
// Of x[channel], x[channel + channels], ..
template <class T> two_passes of_channel(const std::vector<T>& x, std::size_t channel, std::size_t channels) {
    two_passes r;
    double n = 0;
    for (std::size_t i = channel; i < x.size(); i += channels, ++n) r.mean += static_cast<double>(x[i]);
    r.mean /= n;
    for (std::size_t i = channel; i < x.size(); i += channels) {
        const double d = static_cast<double>(x[i]) - r.mean;
        r.deviation += d * d;
    }
    r.deviation = std::sqrt(r.deviation / n);
    return r;
}

bool agree(double a, double b, double scale) { return std::abs(a - b) <= 1e-12 * scale; }

struct flat {
    std::int32_t rooms = 0;
    double area = 0;
    tn::array<float, tn::shape<2>> place;
    static constexpr auto fields() {
        return tn::record_fields("rooms", &flat::rooms, "area", &flat::area, "place", &flat::place);
    }
};

} // namespace

TEST_CASE_TEMPLATE("mean and deviation of each channel are those of two passes in float64", T, float, double, tn::half,
                   tn::bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t, bool) {
    for (const unsigned seed : {1u, 2u, 3u}) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        const std::int64_t elements = 1 + random() % 50;
        tn::array<T, tn::shape<dyn, 5, 4, 3>> images(elements);
        for (T& x : images) x = static_cast<T>(random() % 120);
        const std::vector<T> all(images.begin(), images.end());

        const auto found = tn::data::moments<0>(tn::data::slices(images));
        static_assert(std::is_same_v<decltype(found.mean), tn::array<double, tn::shape<3>>>);
        CHECK(found.count == elements * 20);
        const auto of_batches = tn::data::moments<0>(tn::data::slices(images).template batch<rows>(7));
        const auto of_untyped = tn::untyped::moments(tn::data::slices(images).untyped(), 0);
        for (int c = 0; c < 3; ++c) {
            const two_passes right = of_channel(all, static_cast<std::size_t>(c), 3);
            CHECK(agree(found.mean(c), right.mean, 120));
            CHECK(agree(found.deviation(c), right.deviation, 120));
            CHECK(agree(of_batches.mean(c), right.mean, 120));
            CHECK(agree(of_batches.deviation(c), right.deviation, 120));
            CHECK(of_untyped.mean.template data<double>()[c] == found.mean(c));
            CHECK(of_untyped.deviation.template data<double>()[c] == found.deviation(c));
        }
    }
}

TEST_CASE("small differences of large numbers are not lost") {
    std::mt19937 random(4);
    std::vector<double> all;
    tn::array<double, tn::shape<dyn>> x(10'000);
    for (double& v : x) {
        v = 1e9 + static_cast<double>(random() % 1000) / 1000;
        all.push_back(v);
    }
    const auto found = tn::data::moments<0>(tn::data::slices(x)); // one by one
    const two_passes right = of_channel(all, 0, 1);
    CHECK(std::abs(found.mean() - right.mean) < 1e-5);
    CHECK(std::abs(found.deviation() - right.deviation) < 1e-7); // mean(x^2) - mean(x)^2 would be wrong in every digit
    CHECK(right.deviation > 0.28);
}

TEST_CASE("a component is named by its number or by its member, and a scalar has one mean") {
    const auto flats = tn::data::range(4).map_host([](std::int64_t i) {
        flat f;
        f.rooms = static_cast<std::int32_t>(i);
        f.area = i % 2 == 0 ? 50 : 70;
        f.place(0) = static_cast<float>(i);
        f.place(1) = 7;
        return f;
    });
    const auto area = tn::data::moments<&flat::area>(flats);
    static_assert(std::is_same_v<decltype(area.mean), tn::array<double, tn::shape<>>>);
    CHECK(area.mean() == 60);
    CHECK(area.deviation() == 10);
    CHECK(area.count == 4);
    CHECK(tn::data::moments<0>(flats).mean() == 1.5);
    const auto place = tn::data::moments<&flat::place>(flats);
    CHECK(place.mean(0) == 1.5);
    CHECK(place.mean(1) == 7);
    CHECK(place.deviation(1) == 0);
    CHECK(tn::data::moments<2>(flats).deviation(0) == place.deviation(0));
}

TEST_CASE("what normalize() makes with them has mean 0 and deviation 1") {
    std::mt19937 random(5);
    tn::array<std::uint8_t, tn::shape<dyn, 6, 6, 3>> images(40);
    int i = 0;
    for (std::uint8_t& x : images) x = static_cast<std::uint8_t>(random() % (i++ % 3 == 0 ? 50u : 200u));
    const auto set = tn::data::slices(images);
    const auto pixels = tn::data::moments<0>(set);
    const auto normal = set.batch<rows>(16).map([&](auto x) {
        return tn::normalize(tn::cast<float>(x), tn::cast<float>(tn::constant(pixels.mean.copy())),
                             tn::cast<float>(tn::constant(pixels.deviation.copy())));
    });
    const auto after = tn::data::moments<0>(normal);
    for (int c = 0; c < 3; ++c) {
        CHECK(std::abs(after.mean(c)) < 1e-6);
        CHECK(std::abs(after.deviation(c) - 1) < 1e-6);
    }
}

TEST_CASE("numbers that are none stay visible; sets without numbers, texts and unequal channels are refused") {
    tn::array<float, tn::shape<dyn, 2>> x(3);
    for (float& v : x) v = 1;
    x(1, 0) = std::numeric_limits<float>::quiet_NaN();
    const auto found = tn::data::moments<0>(tn::data::slices(x));
    CHECK(std::isnan(found.mean(0)));
    CHECK(std::isnan(found.deviation(0)));
    CHECK(found.mean(1) == 1);

    CHECK_THROWS_WITH_AS((void)tn::data::moments<0>(tn::data::range(0)),
                         "moments: component 0, int64[]: the data set holds no numbers", tn::invalid_argument_error);
    CHECK_THROWS_AS((void)tn::untyped::moments(tn::data::tensors(std::string("a")).untyped(), 0),
                    tn::invalid_argument_error);
    CHECK_THROWS_AS((void)tn::untyped::moments(tn::data::range(3).untyped(), 1), tn::invalid_argument_error);
    const auto growing =
        tn::data::range(1, 3).map_host([](std::int64_t n) { return tn::array<float, tn::shape<dyn>>(n); });
    CHECK_THROWS_WITH_AS((void)tn::untyped::moments(growing.untyped(), 0),
                         "moments: component 0, float[?]: the elements differ in how many channels they have, the last "
                         "size: 1 before, then 2",
                         tn::invalid_argument_error);
}
