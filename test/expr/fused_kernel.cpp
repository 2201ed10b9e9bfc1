#include <doctest/doctest.h>

#include "run_tape.hpp"

using namespace tape_test;

namespace {

std::vector<buffer> random_inputs(const tape& t, const std::vector<extents>& sizes, std::mt19937& random) {
    std::vector<buffer> inputs;
    for (int i = 0; i < t.input_count; ++i)
        inputs.push_back(random_buffer(t.inputs[i], sizes[static_cast<std::size_t>(i)], random));
    return inputs;
}

std::string shown(const tape& t, const std::vector<buffer>& inputs) {
    std::string text;
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        text += std::string(info_of(i.op).name) + ":" + name_of(i.type) + "(" + std::to_string(i.a) + "," +
                std::to_string(i.b) + "," + std::to_string(i.c) + ") ";
    }
    for (int o = 0; o < t.output_count; ++o)
        text += "-> " + std::to_string(t.outputs[o].reg) + ":" + name_of(t.outputs[o].type) + " like " +
                std::to_string(t.outputs[o].like) + " ";
    for (const buffer& b : inputs) text += to_string(tensor_type{b.element, b.sizes}) + " ";
    return text;
}

/// x + y, and its derivative.
tape sum_tape(element_type e = element_type::float32) {
    tape t;
    const int x = t.emit_input(t.add_input(e)), y = t.emit_input(t.add_input(e));
    t.add_output(t.emit(opcode::add, compute_type(e), x, y), e);
    return t;
}

} // namespace

TEST_CASE("the interpreter computes random tapes over random shapes as one element at a time does, to the bit") {
    std::mt19937 random(1);
    for (const simd::isa isa : available()) {
        for (int repeat = 0; repeat < 1500; ++repeat) {
            std::vector<std::int64_t> constants;
            const tape t = random_tape(random, constants);
            const auto inputs = random_inputs(t, random_sizes(random, t.input_count), random);
            const expected want = run_naively(t, constants, inputs, isa);
            options how{.isa = isa, .in_place = random() % 2 != 0};
            const auto got = run(t, constants, inputs, how);
            for (std::size_t o = 0; o < got.size(); ++o) {
                INFO(name_of(isa), " repeat ", repeat, " output ", o, " in place ", how.in_place, ": ",
                     shown(t, inputs));
                REQUIRE(matches(got[o], want, o));
            }
        }
    }
}

TEST_CASE("several threads give what one gives, and outputs that nobody reads need no memory") {
    std::mt19937 random(2);
    thread_pool pool(3);
    for (int repeat = 0; repeat < 60; ++repeat) {
        std::vector<std::int64_t> constants;
        const tape t = random_tape(random, constants);
        const auto inputs = random_inputs(t, random_sizes(random, t.input_count, 400000), random);
        options one, many;
        one.isa = many.isa = simd::best_isa();
        many.threads = 3;
        many.pool = &pool;
        many.unwanted = t.output_count > 1 && random() % 2 ? 1 : 0;
        const auto a = run(t, constants, inputs, one), b = run(t, constants, inputs, many);
        for (std::size_t o = 0; o < a.size(); ++o) {
            if ((many.unwanted >> o & 1U) != 0) continue;
            INFO("repeat ", repeat, " output ", o, ": ", shown(t, inputs));
            const bool summed = t.outputs[o].like >= 0;
            if (!summed) REQUIRE(same_bits(a[o], b[o]));
            else
                for (std::size_t k = 0; k < a[o].count(); ++k) {
                    const double x = a[o].at(k), y = b[o].at(k);
                    if (std::isnan(x) || std::isinf(x)) continue; // checked above, where all is in one order
                    // Sums in double differ by their rounding at most.
                    REQUIRE(std::fabs(x - y) <= 1e-2 * std::fabs(x) + 1e-3);
                }
        }
    }
}

TEST_CASE("the sum of ten million ones in float is exact") {
    tape t;
    const int x = t.emit_input(t.add_input(element_type::float32));
    t.add_input(element_type::float32);
    t.add_output(x, element_type::float32, 1);
    for (const extents& sizes : {extents(10000000), extents(10000, 1000), extents(1000000, 10)})
        for (const extents& like : {extents(), sizes.rank() == 2 ? extents(sizes[1]) : extents(1),
                                    sizes.rank() == 2 ? extents(sizes[0], extent(1)) : extents(1)}) {
            buffer ones(element_type::float32, sizes);
            for (std::size_t i = 0; i < ones.count(); ++i) ones.set(i, 1);
            std::vector<buffer> in;
            in.push_back(std::move(ones));
            in.emplace_back(element_type::float32, like);
            for (const simd::isa isa : available()) {
                const auto got = run(t, {}, in, options{.isa = isa});
                for (std::size_t i = 0; i < got[0].count(); ++i)
                    REQUIRE(got[0].at(i) == static_cast<double>(10000000 / static_cast<std::int64_t>(got[0].count())));
            }
        }
}

TEST_CASE("outputs that are merged are added together, full, summed and in half") {
    std::mt19937 random(3);
    for (const element_type e : {element_type::float32, element_type::float64, element_type::float16}) {
        tape t;
        const int x = t.emit_input(t.add_input(e)), y = t.emit_input(t.add_input(e));
        const element_type c = compute_type(e);
        t.add_output(t.emit(opcode::multiply, c, x, y), e, 0);
        t.add_output(t.emit(opcode::add, c, x, y), e, 1);
        t.add_output(t.emit(opcode::subtract, c, x, y), e, 0);
        const double tolerance = e == element_type::float64 ? 1e-13 : e == element_type::float32 ? 1e-5 : 1e-2;
        for (const extents& rows : {extents(7, 300), extents(300), extents(7, 1), extents()}) {
            std::vector<buffer> in;
            in.push_back(random_buffer(e, rows, random));
            in.push_back(random_buffer(e, extents(7, 300), random));
            options apart, merged;
            apart.isa = merged.isa = simd::best_isa();
            merged.merge = {-1, -1, 0};
            const auto a = run(t, {}, in, apart), m = run(t, {}, in, merged);
            REQUIRE(m.size() == 2);
            CHECK(same_bits(m[1], a[1]));
            for (std::size_t i = 0; i < m[0].count(); ++i)
                CHECK(std::fabs(m[0].at(i) - (a[0].at(i) + a[2].at(i))) <=
                      tolerance * (std::fabs(a[0].at(i)) + std::fabs(a[2].at(i)) + 1));
        }
    }
}

TEST_CASE("an empty iteration space writes nothing, and sums over nothing are zero") {
    tape t;
    const int x = t.emit_input(t.add_input(element_type::float32)),
              b = t.emit_input(t.add_input(element_type::float32));
    const int y = t.emit(opcode::multiply, element_type::float32, x, b);
    t.add_output(y, element_type::float32);
    t.add_output(y, element_type::float32, 1);
    std::mt19937 random(4);
    std::vector<buffer> in;
    in.push_back(random_buffer(element_type::float32, extents(0, 5), random));
    in.push_back(random_buffer(element_type::float32, extents(5), random));
    const auto got = run(t, {}, in);
    CHECK(got[0].count() == 0);
    for (std::size_t i = 0; i < 5; ++i) CHECK(got[1].at(i) == 0);
}

TEST_CASE("an output may lie where an input of its size lies, and nowhere else") {
    const node n;
    const attributes attrs;
    fused_op::attributes a;
    tape t = sum_tape();
    a.tape = std::shared_ptr<const tape>(std::shared_ptr<void>(), &t);
    const tensor_type full{element_type::float32, extents(4, 5)}, row{element_type::float32, extents(5)};
    const tensor_type in[] = {full, row}, out[] = {full};
    detail::fused_kernel k({n, attrs, type_list(in, 2), type_list(out, 1)}, a);
    CHECK(k.may_share(0, 0));
    CHECK_FALSE(k.may_share(1, 0));
    tape narrow = t;
    narrow.outputs[0].type = element_type::float16;
    a.tape = std::shared_ptr<const tape>(std::shared_ptr<void>(), &narrow);
    const tensor_type smaller[] = {{element_type::float16, extents(4, 5)}};
    detail::fused_kernel h({n, attrs, type_list(in, 2), type_list(smaller, 1)}, a);
    CHECK_FALSE(h.may_share(0, 0));
}

TEST_CASE("large work is estimated to cost more than small work") {
    const node n;
    const attributes attrs;
    fused_op::attributes a;
    const tape t = sum_tape();
    a.tape = std::shared_ptr<const tape>(std::shared_ptr<void>(), &t);
    const auto cost = [&](std::int64_t size) {
        const tensor_type s{element_type::float32, extents(size)};
        const tensor_type in[] = {s, s}, out[] = {s};
        return detail::fused_kernel({n, attrs, type_list(in, 2), type_list(out, 1)}, a).cost();
    };
    CHECK(cost(8) < 30);
    CHECK(cost(1000000) > 20000);
    CHECK(cost(1000000) < 2000000);
}

TEST_CASE("neighbouring dimensions that are repeated alike are one") {
    const auto layout = [](std::initializer_list<extents> sizes) {
        std::vector<tensor_type> types;
        for (const extents& s : sizes) types.push_back({element_type::float32, s});
        return detail::make_layout(type_list(types.data(), static_cast<int>(types.size())));
    };
    auto l = layout({extents(2, 3, 4), extents(2, 3, 4)});
    CHECK(l.rank == 1);
    CHECK(l.cols == 24);
    CHECK(l.operands[0].full);
    l = layout({extents(2, 3, 4), extents(3, 4)});
    CHECK(l.rank == 2);
    CHECK(l.rows == 2);
    CHECK(l.cols == 12);
    CHECK(l.operands[1].strides[0] == 0);
    CHECK(l.operands[1].strides[1] == 1);
    l = layout({extents(2, 3, 4), extents(2, 1, 4)});
    CHECK(l.rank == 3);
    CHECK(l.rows == 6);
    CHECK(l.row_offset(1, 5) == 4);
    l = layout({extents(5, 1), extents(1, 7)});
    CHECK(l.rows == 5);
    CHECK(l.cols == 7);
    CHECK(l.repeats_cols(0));
    CHECK_FALSE(l.operands[1].full);
    l = layout({extents(1, 6, 1), extents(6, 1)});
    CHECK(l.rank == 1);
    CHECK(l.cols == 6);
    l = layout({extents(), extents(1)});
    CHECK(l.elements() == 1);
}

TEST_CASE("pixels become the floats that they are, on every instruction set") {
    constexpr int n = 256 + 13;
    std::vector<std::uint8_t> pixels(n);
    for (int i = 0; i < n; ++i) pixels[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i);
    for (const simd::isa isa : available()) {
        std::vector<float> made(n, -1);
        detail::apply_step(detail::find_cast(isa, element_type::uint8, element_type::float32), made.data(),
                           sizeof(float), n, {pixels.data(), 1});
        for (int i = 0; i < n; ++i) {
            INFO(name_of(isa), " element ", i);
            REQUIRE(made[static_cast<std::size_t>(i)] == static_cast<float>(i % 256));
        }
    }
}
