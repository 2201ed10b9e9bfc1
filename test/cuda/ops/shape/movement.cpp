#include "../on_both.hpp"
#include "ops/untyped_run.hpp"

// Ops that move elements, of any sizes and attributes, give on a GPU the host's bits.

namespace {

using namespace tenon;
using namespace tenon::test;

std::vector<fed_value> feeding(const any_tensor& t, const any_array& value) { return test::fed(t, value); }

// f(element type, sizes) for many of them.
template <class F> void for_random_sizes(std::mt19937& random, int rounds, F&& f, int most_rank = max_rank) {
    for (const element_type e : of_each_size)
        for (int round = 0; round < rounds; ++round) f(e, random_sizes(random, most_rank));
}

} // namespace

TEST_CASE("transpose with any permutation") {
    std::mt19937 random = test::seeded();
    for_random_sizes(random, 20, [&](element_type e, const extents& sizes) {
        std::vector<int> order(static_cast<std::size_t>(sizes.rank()));
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        index_list axes;
        for (const int a : order) axes.push_back(random() % 2 ? a : a - sizes.rank());
        check_same("transpose", transpose_op::attributes{axes}, arrays(random_array(e, sizes, random)));
    });
    for (const element_type e : of_each_size)
        check_same("transpose", transpose_op::attributes{}, arrays(random_array(e, {67, 130}, random)));
}

TEST_CASE("broadcast_like from any of the sizes") {
    std::mt19937 random = test::seeded();
    for_random_sizes(random, 20, [&](element_type e, const extents& sizes) {
        extents x;
        for (int i = static_cast<int>(random() % 3); i < sizes.rank(); ++i)
            x.push_back(random() % 2 ? sizes[i] : extent(1));
        check_same("broadcast_like", broadcast_like_op::attributes{},
                   arrays(random_array(e, x, random), random_array(element_type::boolean, sizes, random)));
    });
}

TEST_CASE("slice, and what it is the gradient of, with steps both ways") {
    std::mt19937 random = test::seeded();
    for_random_sizes(random, 25, [&](element_type e, const extents& sizes) {
        std::vector<range> ranges;
        for (int i = 0; i < sizes.rank() && random() % 6 != 0; ++i) {
            const std::int64_t n = sizes[i].size;
            range r{unbounded, unbounded, 1 + static_cast<std::int64_t>(random() % 3)};
            if (random() % 3 == 0 && n > 0) r.step = -r.step;
            if (n > 0 && random() % 4 != 0) {
                std::int64_t low = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
                std::int64_t high = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
                if (low > high) std::swap(low, high);
                r.begin = r.step > 0 ? low : high;
                r.end = r.step > 0 ? high + 1 : low;
            }
            ranges.push_back(r);
        }
        const auto a = slice_op::attributes_of(ranges.data(), static_cast<int>(ranges.size()));
        const any_array x = random_array(e, sizes, random);
        check_same("slice", a, arrays(x.share()));
        const inferred part = slice_op::sliced(a, x.type());
        REQUIRE(part);
        check_same("slice_gradient", a, arrays(random_array(e, part.type.extents, random), x.share()));
    });
}

TEST_CASE("reverse of any dimensions") {
    std::mt19937 random = test::seeded();
    for_random_sizes(random, 15, [&](element_type e, const extents& sizes) {
        index_list axes;
        for (int i = 0; i < sizes.rank(); ++i)
            if (random() % 2) axes.push_back(i);
        check_same("reverse", reverse_op::attributes{axes}, arrays(random_array(e, sizes, random)));
    });
}

TEST_CASE("pad with any margins and values") {
    std::mt19937 random = test::seeded();
    for_random_sizes(
        random, 15,
        [&](element_type e, const extents& sizes) {
            index_list before, after;
            for (int i = 0; i < sizes.rank() && random() % 8 != 0; ++i) {
                before.push_back(static_cast<std::int64_t>(random() % 3));
                after.push_back(static_cast<std::int64_t>(random() % 3));
            }
            check_same("pad", pad_op::attributes{before, after, random() % 2 ? 7 : 0},
                       arrays(random_array(e, sizes, random)));
        },
        5);
}

TEST_CASE("tile any number of times, and the sum of the repetitions") {
    std::mt19937 random = test::seeded();
    for_random_sizes(
        random, 15,
        [&](element_type e, const extents& sizes) {
            index_list counts;
            extents tiled;
            for (const extent& n : sizes) {
                counts.push_back(random() % 12 == 0 ? 0 : 1 + static_cast<std::int64_t>(random() % 2));
                tiled.push_back(n.size * counts[counts.count - 1]);
            }
            const any_array x = random_array(e, sizes, random);
            check_same("tile", tile_op::attributes{counts}, arrays(x.share()));
            check_same("tile_gradient", tile_op::attributes{counts}, arrays(random_array(e, tiled, random), x.share()));
        },
        6);
}

TEST_CASE("one_hot of every integer type, along every axis, of indices that are none too") {
    std::mt19937 random = test::seeded();
    for (element_type e = element_type::int8; e <= element_type::uint64;
         e = static_cast<element_type>(static_cast<int>(e) + 1))
        for (const element_type to : of_each_size) {
            const extents sizes = random_sizes(random, max_rank - 1, 300);
            any_array indices(e, sizes);
            for (std::int64_t i = 0; i < indices.elements(); ++i)
                op_table::set_number(indices, i, static_cast<double>(random() % 9) - (is_signed_integer(e) ? 2 : 0));
            const int axis = static_cast<int>(random() % static_cast<unsigned>(sizes.rank() + 1));
            check_same("one_hot", one_hot_op::attributes{static_cast<std::int64_t>(random() % 7), axis, to},
                       arrays(indices.share()));
        }
    any_array ends(element_type::int8, {3}); // 255 and -1 have the same bits
    for (int i = 0; i < 3; ++i) op_table::set_number(ends, i, i - 2);
    check_same("one_hot", one_hot_op::attributes{256, -1, element_type::float32}, arrays(ends.share()));
}

TEST_CASE("concat and split_like, stack and unstack, split and split_evenly along every axis") {
    std::mt19937 random = test::seeded();
    for_random_sizes(random, 12, [&](element_type e, extents sizes) {
        if (sizes.rank() == 0) sizes.push_back(5);
        const int axis = static_cast<int>(random() % static_cast<unsigned>(sizes.rank()));
        const std::size_t count = 1 + random() % (random() % 8 == 0 ? 90 : 5);
        std::vector<any_array> parts;
        std::int64_t along = 0;
        for (std::size_t p = 0; p < count; ++p) {
            extents part = sizes;
            part[axis] = static_cast<std::int64_t>(random() % 4);
            along += part[axis].size;
            parts.push_back(random_array(e, part, random));
        }
        std::vector<bool> read(count);
        for (std::size_t p = 0; p < count; ++p) read[p] = random() % 4 != 0;
        read[0] = true;
        check_same("concat", axis_attributes{axis}, parts);
        extents whole = sizes;
        whole[axis] = along;
        std::vector<any_array> with_likes = arrays(random_array(e, whole, random));
        for (const any_array& p : parts) with_likes.push_back(p.share());
        check_same("split_like", axis_attributes{axis}, with_likes, read);
        const int parts_of_all = static_cast<int>(count);
        check_same("split_evenly", split_evenly_op::attributes{axis, parts_of_all}, arrays(with_likes[0].share()),
                   read);
        whole[axis] = 3 * parts_of_all;
        check_same("split", split_op::attributes{axis, parts_of_all, {}}, arrays(random_array(e, whole, random)), read);
        std::vector<any_array> equal;
        for (std::size_t p = 0; p < count; ++p) equal.push_back(random_array(e, sizes, random));
        if (sizes.rank() < max_rank) check_same("stack", axis_attributes{axis}, equal);
        whole[axis] = parts_of_all;
        check_same("unstack", unstack_op::attributes{axis, parts_of_all}, arrays(random_array(e, whole, random)), read);
    });
}

TEST_CASE("add_n of any number of tensors, in their order") {
    std::mt19937 random = test::seeded();
    for (const element_type e : {element_type::float32, element_type::float64, element_type::float16,
                                 element_type::bfloat16, element_type::int8, element_type::uint32, element_type::int64})
        for (const std::size_t count : {1u, 2u, 3u, 256u, 257u, 600u}) {
            const extents sizes = count > 3 ? random_sizes(random, 2, 40) : random_sizes(random);
            std::vector<any_array> all;
            for (std::size_t k = 0; k < count; ++k) {
                all.push_back(random_array(e, sizes, random));
                for (std::int64_t i = 0; is_floating(e) && i < all[k].elements(); ++i)
                    op_table::set_number(all[k], i, static_cast<double>(random()) / 4e9);
            }
            check_same("add_n", no_attributes{}, all);
        }
}

TEST_CASE("a variable on a GPU is assigned, read, and says whether it has a value") {
    const own_graph g;
    const auto here = on(device_name(std::string("/gpu:0")));
    const any_tensor start = untyped::placeholder(element_type::float32, {3, 5});
    const any_tensor v = untyped::variable("v", start);
    std::mt19937 random = test::seeded();
    const any_array first = random_array(element_type::float32, {3, 5}, random);
    session s(g);
    CHECK_THROWS_AS(s.run_untyped({}, {v}), failed_precondition_error);
    s.run_untyped(feeding(start, first), {}, {initialize_variables()});
    CHECK(s.run_untyped({}, {v})[0] == first);
    const any_array second = random_array(element_type::float32, {3, 5}, random);
    const any_tensor given = untyped::placeholder(element_type::float32, {3, 5});
    const any_tensor assigned = untyped::assign(v, given);
    CHECK(s.run_untyped(feeding(given, second), {assigned})[0] == second);
    CHECK(s.run_untyped({}, {v})[0] == second);
}

TEST_CASE("is_initialized on a GPU") {
    const own_graph g;
    const auto here = on(device_name(std::string("/gpu:0")));
    const any_tensor v = untyped::variable("v", untyped::constant(any_array::zeros(element_type::float32, {2})));
    const any_tensor has = add<is_initialized_op>({}, {v});
    session s(g);
    for (int i = 0; i < 3; ++i) CHECK_FALSE(*s.run_untyped({}, {has})[0].data<bool>());
    s.run_untyped({}, {}, {initialize_variables()});
    for (int i = 0; i < 3; ++i) CHECK(*s.run_untyped({}, {has})[0].data<bool>());
}
