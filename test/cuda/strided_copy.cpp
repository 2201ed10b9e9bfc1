#include <cuda/kernels/shape/framed_copy.hpp>
#include <cuda/kernels/shape/index_walk.hpp>
#include <cuda/kernels/shape/joined_rows.hpp>
#include <cuda/kernels/shape/strided_copy.hpp>
#include <tenon/dense/strided_copy.hpp>

#include "device_array.hpp"

// The copies that movement ops are made of, against the host's.

namespace {

using tenon::cuda::copied_dimension;
using tenon::cuda::joined_rows;
using tenon::cuda::strided_copy;

// A view whose elements lie apart, and how much memory it takes.
struct views {
    std::vector<copied_dimension> dims;
    std::int64_t from_offset = 0, to_offset = 0; // of index 0, .., 0
    std::int64_t from_size = 0, to_size = 0;

    // Sizes in the order of the destination; order[i]: the place of dimension i in the source.
    views(const std::vector<std::int64_t>& sizes, const std::vector<std::size_t>& order, std::mt19937& random,
          bool plainly) {
        const std::size_t rank = sizes.size();
        dims.resize(rank);
        std::vector<std::size_t> of_source(rank);
        for (std::size_t i = 0; i < rank; ++i) of_source[order[i]] = i;
        from_size = place(sizes, of_source, random, plainly, true, &copied_dimension::from_step, from_offset);
        std::vector<std::size_t> in_order(rank);
        std::iota(in_order.begin(), in_order.end(), std::size_t{0});
        to_size = place(sizes, in_order, random, plainly, false, &copied_dimension::to_step, to_offset);
        for (std::size_t i = 0; i < rank; ++i) dims[i].size = sizes[i];
    }

private:
    std::int64_t place(const std::vector<std::int64_t>& sizes, const std::vector<std::size_t>& outermost_first,
                       std::mt19937& random, bool plainly, bool repeats, std::int64_t copied_dimension::*step,
                       std::int64_t& offset) {
        std::int64_t next = 1;
        for (std::size_t k = outermost_first.size(); k-- > 0;) {
            const std::size_t i = outermost_first[k];
            const auto what = plainly ? 9 : random() % 10;
            if (what == 0 && repeats) {
                dims[i].*step = 0;
                continue;
            }
            if (what == 1) next *= 2; // every second one
            if (what == 2) next += 3; // with room between
            const bool backwards = what == 3;
            dims[i].*step = backwards ? -next : next;
            if (backwards && sizes[i] > 0) offset += (sizes[i] - 1) * next;
            next *= std::max<std::int64_t>(sizes[i], 1);
        }
        return next;
    }
};

template <class T> std::vector<T> numbered(std::int64_t n) {
    std::vector<T> all(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<T>(i * 2654435761u + (i >> 8));
    return all;
}

template <class T> void check_copy(const views& v, std::int64_t most, std::int64_t shift) {
    INFO("elements of ", sizeof(T), " bytes, ", most, " at most in a launch, ", shift, " beside 256 bytes");
    std::vector<tenon::detail::copied_dimension> dims;
    for (const copied_dimension& d : v.dims) {
        dims.push_back({d.size, d.from_step, d.to_step});
        INFO("size ", d.size, ", steps ", d.from_step, " and ", d.to_step);
    }
    const std::vector<T> from = numbered<T>(v.from_size + shift);
    std::vector<T> wanted(static_cast<std::size_t>(v.to_size + shift), T{7});
    tenon::detail::strided_copy(dims.data(), static_cast<int>(dims.size()), sizeof(T))
        .run(from.data() + shift + v.from_offset, wanted.data() + shift + v.to_offset, nullptr);
    const tenon::cuda::testing::device_array<T> there(from);
    tenon::cuda::testing::device_array<T> got(std::vector<T>(wanted.size(), T{7}));
    strided_copy(v.dims.data(), static_cast<int>(v.dims.size()), sizeof(T), most)
        .run(there.get() + shift + v.from_offset, got.get() + shift + v.to_offset, nullptr);
    CHECK(got.read() == wanted);
}

void check_all_elements(const views& v, std::mt19937& random, std::int64_t most = strided_copy::most_in_a_launch) {
    const auto shift = static_cast<std::int64_t>(random() % 3);
    check_copy<std::uint8_t>(v, most, shift * 4);
    check_copy<std::uint16_t>(v, most, shift);
    check_copy<std::uint32_t>(v, most, shift);
    check_copy<std::uint64_t>(v, most, shift);
}

std::vector<std::size_t> shuffled(std::size_t n, std::mt19937& random) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    return order;
}

} // namespace

TEST_CASE("a quotient by a product and a shift is the quotient") {
    std::mt19937 random = tenon::cuda::testing::seeded();
    std::vector<std::uint32_t> numbers{
        1, 2, 3, 5, 7, 31, 32, 33, 641, 65535, 65536, 65537, (1u << 31) - 2, (1u << 31) - 1};
    for (int i = 0; i < 200; ++i)
        numbers.push_back(std::max(1u, static_cast<std::uint32_t>(random()) >> (1 + random() % 31)));
    for (const std::uint32_t by : numbers) {
        const tenon::cuda::divider d(by);
        for (const std::uint32_t x : numbers)
            for (const std::uint32_t y : {x, x - 1, x / by * by, x / by * by - (x >= by)}) {
                std::uint32_t rest = y;
                CHECK(d.divide(rest) == y / by);
                CHECK(rest == y % by);
            }
    }
}

TEST_CASE("a strided copy of any views of up to 16 dimensions is the host's") {
    std::mt19937 random = tenon::cuda::testing::seeded();
    const auto up_to = [&](std::size_t n) { return static_cast<std::int64_t>(random() % (n + 1)); };
    for (int round = 0; round < 60; ++round) {
        const std::size_t rank = random() % 17;
        std::vector<std::int64_t> sizes;
        std::int64_t elements = 1;
        for (std::size_t i = 0; i < rank; ++i) {
            sizes.push_back(elements > 2000 ? 1 + up_to(1) : 1 + up_to(rank < 4 ? 20 : 4));
            elements *= sizes.back();
        }
        check_all_elements(views(sizes, shuffled(rank, random), random, round % 3 == 0), random);
    }
}

TEST_CASE("a strided copy moves nothing where a size is 0, and one element where there are no dimensions") {
    std::mt19937 random = tenon::cuda::testing::seeded();
    check_all_elements(views({3, 0, 4}, {0, 1, 2}, random, true), random);
    check_all_elements(views({}, {}, random, true), random);
}

TEST_CASE("rows and repeated elements are moved 16 bytes at once where they lie so, and right where they do not") {
    std::mt19937 random = tenon::cuda::testing::seeded();
    for (const std::int64_t width : {1, 2, 4, 7, 16, 48, 50}) {
        views rows({5, width}, {0, 1}, random, true);
        rows.dims[0].from_step = width + 16; // rows that do not follow each other
        rows.from_size = 5 * (width + 16);
        check_all_elements(rows, random);
        views repeated({5, width}, {0, 1}, random, true);
        repeated.dims[0].from_step = 1;
        repeated.dims[1].from_step = 0;
        check_all_elements(repeated, random);
    }
}

TEST_CASE("matrices that change rows for columns go by tiles, whatever their sizes and wherever the batch is") {
    std::mt19937 random = tenon::cuda::testing::seeded();
    for (const std::int64_t rows : {8, 31, 32, 33, 70})
        for (const std::int64_t columns : {8, 32, 45}) {
            check_all_elements(views({columns, rows}, {1, 0}, random, true), random);
            check_all_elements(views({2, columns, rows}, {0, 2, 1}, random, true), random);
            check_all_elements(views({columns, 3, rows}, {2, 1, 0}, random, true), random);
        }
}

TEST_CASE("a copy of more elements than a launch counts goes in parts") {
    std::mt19937 random = tenon::cuda::testing::seeded();
    for (const std::int64_t most : {1, 5, 64, 1000})
        for (int round = 0; round < 4; ++round)
            check_all_elements(views({3, 5, 8, 9}, shuffled(4, random), random, round % 2 == 0), random, most);
}

TEST_CASE("elements of views of more than 2^31 bytes are found") {
    const std::int64_t far = std::int64_t{1} << 33;
    tenon::cuda::index_walk w;
    w.add(1000, far, 1);
    w.add(1, 5, 5);
    w.add(2'000'000, -3 * far, 1000);
    for (const std::int64_t i : {0, 1, 999'999, 1'999'999})
        for (const std::int64_t k : {0, 7, 999}) {
            std::int64_t from = 2, to = 3;
            w.find(static_cast<std::uint32_t>(i * 1000 + k), from, to);
            CHECK(from == 2 + k * far - 3 * i * far);
            CHECK(to == 3 + i * 1000 + k);
        }
}

TEST_CASE("a tensor is put into another with one value around it, in one pass or, where it is too large, in two") {
    std::mt19937 random = tenon::cuda::testing::seeded();
    for (int round = 0; round < 60; ++round) {
        const int rank = static_cast<int>(random() % 6);
        const std::int64_t multiple = std::int64_t{1} << random() % 5, most = round % 4 == 0 ? 50 : 1 << 30;
        std::vector<tenon::cuda::framed_dimension> dims(static_cast<std::size_t>(rank));
        std::int64_t all = 1, held = 1, offset = 0;
        for (std::size_t i = dims.size(); i-- > 0;) {
            tenon::cuda::framed_dimension& d = dims[i];
            const std::int64_t each = i + 1 == dims.size() ? multiple : 1; // so that wide units fit now and then
            d.count = static_cast<std::int64_t>(random() % 5) * each;
            d.step = random() % 3 == 0 ? 2 : 1;
            d.begin = static_cast<std::int64_t>(random() % 3) * each;
            d.size =
                d.begin + std::max<std::int64_t>(d.count * d.step, 1) + static_cast<std::int64_t>(random() % 3) * each;
            if (random() % 3 == 0) d = {d.count, 0, d.count, 1, 0};
            d.from_step = held;
            if (random() % 5 == 0 && d.count > 0) {
                offset += (d.count - 1) * held;
                d.from_step = -held;
            }
            held *= d.count;
            all *= d.size;
        }
        const auto check = [&]<class T>(T) {
            INFO(rank, " dimensions, multiples of ", multiple, ", ", sizeof(T), " bytes, ", most, " in a launch");
            const std::vector<T> from = numbered<T>(held);
            const T around = static_cast<T>(0x123456789abcdef1);
            std::vector<T> wanted(static_cast<std::size_t>(all), around);
            for (std::int64_t i = 0; i < all; ++i) {
                std::int64_t rest = i, at = offset;
                bool inside = true;
                for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d].size) {
                    const std::int64_t k = rest % dims[d].size - dims[d].begin;
                    inside = inside && k >= 0 && k % dims[d].step == 0 && k / dims[d].step < dims[d].count;
                    at += k / dims[d].step * dims[d].from_step;
                }
                if (inside) wanted[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>(at)];
            }
            const tenon::cuda::testing::device_array<T> there(from);
            const tenon::cuda::testing::device_array<T> got(wanted.size());
            tenon::cuda::framed_copy(dims.data(), rank, sizeof(T), around, most)
                .run(there.get() + offset, got.get(), nullptr);
            CHECK(got.read() == wanted);
        };
        check(std::uint8_t());
        check(std::uint16_t());
        check(std::uint32_t());
        check(std::uint64_t());
    }
}

TEST_CASE("parts are joined into rows and taken out of them, any number of them") {
    std::mt19937 random = tenon::cuda::testing::seeded();
    for (int round = 0; round < 40; ++round) {
        const std::int64_t rows = static_cast<std::int64_t>(random() % 6) + (round % 8 == 0 ? 0 : 1);
        const std::size_t count = round % 5 == 0 ? 60 + random() % 90 : 1 + random() % 8;
        const std::int64_t multiple = std::int64_t{1} << random() % 5;
        std::vector<std::int64_t> widths;
        for (std::size_t p = 0; p < count; ++p) widths.push_back(static_cast<std::int64_t>(random() % 7) * multiple);
        const std::int64_t row = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
        const std::int64_t most = round % 3 == 0 ? 16 : strided_copy::most_in_a_launch;
        const auto check = [&]<class T>(T) {
            INFO(rows, " rows of ", count, " parts, multiples of ", multiple, ", of ", sizeof(T), " bytes, ", most,
                 " in a launch");
            const std::vector<T> whole = numbered<T>(rows * row);
            std::vector<std::vector<T>> parts(count);
            for (std::int64_t r = 0, at = 0; r < rows; ++r)
                for (std::size_t p = 0; p < count; ++p)
                    for (std::int64_t c = 0; c < widths[p]; ++c)
                        parts[p].push_back(whole[static_cast<std::size_t>(at++)]);
            const joined_rows all(rows, widths, sizeof(T), most);
            std::vector<tenon::cuda::testing::device_array<T>> there;
            std::vector<const void*> from;
            for (const std::vector<T>& p : parts) {
                there.emplace_back(p);
                from.push_back(there.back().get());
            }
            tenon::cuda::testing::device_array<T> joined(whole.size());
            all.join(from.data(), joined.get(), nullptr);
            CHECK(joined.read() == whole);
            std::vector<tenon::cuda::testing::device_array<T>> got;
            std::vector<void*> to;
            const std::size_t unread = random() % count;
            for (std::size_t p = 0; p < count; ++p) {
                got.emplace_back(parts[p].size());
                to.push_back(p == unread ? nullptr : got.back().get());
            }
            all.take_apart(joined.get(), to.data(), nullptr);
            for (std::size_t p = 0; p < count; ++p)
                if (p != unread) CHECK(got[p].read() == parts[p]);
        };
        check(std::uint8_t());
        check(std::uint16_t());
        check(std::uint32_t());
        check(std::uint64_t());
    }
}
