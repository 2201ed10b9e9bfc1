#include <cuda/tapes/source.hpp>

#include "real_nvrtc.hpp"
#include "run_on_gpu.hpp"

using namespace tape_test;
using namespace tenon::cuda::tapes;

namespace {

constexpr element_type stored_types[] = {
    element_type::float32, element_type::float64, element_type::float16, element_type::bfloat16, element_type::int8,
    element_type::int16,   element_type::int32,   element_type::int64,   element_type::uint8,    element_type::uint16,
    element_type::uint32,  element_type::uint64,  element_type::boolean};

/// Tapes that together have all instructions on elements of one type, and conversions of them to all others.
std::vector<tape> tapes_of_all_instructions(element_type e) {
    std::vector<tape> all;
    tape t;
    int a = 0, b = 0, c = 0, p = 0;
    const auto begin = [&] {
        t = tape{};
        a = t.emit_input(t.add_input(e));
        b = t.emit_input(t.add_input(e));
        c = t.emit(opcode::constant, compute_type(e), t.add_constant(compute_type(e)));
        p = t.emit_input(t.add_input(element_type::boolean));
    };
    const auto give = [&](int r, element_type stored) {
        t.add_output(r, stored);
        if (t.output_count < max_tape_outputs) return;
        all.push_back(t);
        begin();
    };
    begin();
    const element_type computed = compute_type(e);
    for (int k = 0; k < opcode_count; ++k) {
        const auto op = static_cast<opcode>(k);
        const int n = info_of(op).operands;
        if (op == opcode::cast) {
            for (const element_type to : stored_types) give(t.emit(op, to, a), to);
        } else if (op == opcode::literal) {
            give(t.emit_literal(1, computed), e);
        } else if (op == opcode::select) {
            give(t.emit(op, computed, p, a, c), e);
        } else if (n > 0 && accepts_element(op, e) &&
                   (is_exact(op) || e == computed)) { // float's are those of 16 bits too
            const element_type result = result_type(op, computed);
            give(t.emit(op, result, a, n > 1 ? b : -1, n > 2 ? c : -1), result == computed ? e : result);
        }
    }
    if (t.output_count > 0) all.push_back(t);
    for (tape& made : all) made = without_dead_code(made);
    return all;
}

std::vector<tensor_type> types_of(const tape& t, const std::vector<extents>& sizes) {
    std::vector<tensor_type> types;
    for (int i = 0; i < t.input_count; ++i) types.push_back({t.inputs[i], sizes[static_cast<std::size_t>(i)]});
    return types;
}
std::vector<kernel_source> sources_of(const tape& t, const std::vector<extents>& sizes) {
    const auto types = types_of(t, sizes);
    std::vector<kernel_source> all;
    for (const pass& p : make_passes(t, type_list(types.data(), t.input_count))) {
        all.push_back(write_kernel(p.code, p.shape));
        if (!p.sums()) all.push_back(write_group_kernel(p));
    }
    return all;
}

tape product_and_sums() {
    tape t;
    const int x = t.emit_input(t.add_input(element_type::float32)),
              y = t.emit_input(t.add_input(element_type::float32));
    const int r = t.emit(opcode::multiply, element_type::float32, x, y);
    t.add_output(r, element_type::float32);
    t.add_output(r, element_type::float32, 1);
    return t;
}

} // namespace

TEST_CASE("NVRTC compiles every instruction on every type for the oldest and the newest GPU it knows") {
    const auto real = real_nvrtc();
    if (!real) return;
    std::string text = prelude();
    int kernels = 0;
    for (const element_type e : stored_types)
        for (const tape& t : tapes_of_all_instructions(e)) {
            REQUIRE(tape_defect(t) == nullptr);
            const auto types = types_of(t, std::vector<extents>(static_cast<std::size_t>(t.input_count), extents(96)));
            for (pass& p : make_passes(t, type_list(types.data(), t.input_count))) {
                p.shape.width = 1; // packs are repetitions, which take their time
                text += write_kernel(p.code, p.shape).text;
                ++kernels;
            }
        }
    CHECK(kernels > 13);
    for (const int architecture : {real->architectures().front(), real->architectures().back()}) {
        const std::string image = real->compile(text, real->target(architecture));
        CHECK(image.starts_with("\x7f"
                                "ELF"));
    }
    // Beyond what it knows, the driver goes on.
    CHECK(real->target(real->architectures().back() + 10) == "compute_" + std::to_string(real->architectures().back()));
    CHECK_THROWS_AS((void)real->target(real->architectures().front() - 1), unavailable_error);
}

TEST_CASE("NVRTC compiles random tapes and the sums of their gradients") {
    const auto real = real_nvrtc();
    if (!real) return;
    const auto seed = std::random_device{}();
    INFO("seed ", seed);
    std::mt19937 random(seed);
    std::string text = prelude();
    std::vector<std::string> names;
    for (int k = 0; k < 8; ++k) {
        std::vector<std::int64_t> constants;
        tape t = random_tape(random, constants, is_exact);
        const gradient_tape g = vjp(t);
        if (k % 2 && !g.code.overfull && g.code.output_count > 0 && !tape_defect(g.code)) t = g.code;
        auto sizes = random_sizes(random, t.input_count);
        for (extents& s : sizes)
            if (s.elements() == 0) s = extents();
        for (const kernel_source& s : sources_of(t, sizes))
            if (std::find(names.begin(), names.end(), s.name) == names.end()) text += s.text, names.push_back(s.name);
    }
    CHECK_NOTHROW((void)real->compile(text, real->target(real->architectures().front())));
}

TEST_CASE("what does not compile is an error with the compiler's words") {
    const auto real = real_nvrtc();
    if (!real) return;
    const std::string target = real->target(real->architectures().front());
    CHECK_ERROR(internal_error, "error", real->compile("this is no program", target));
    CHECK_ERROR(internal_error, target, real->compile("this is no program", target));
}

TEST_CASE("a source knows the class of a layout and no sizes") {
    const tape t = product_and_sums();
    const auto text = [&](const extents& x, const extents& y) { return sources_of(t, {x, y}).back().text; };
    const std::string bias = text(extents(1234, 5678), extents(5678));
    CHECK(bias == text(extents(7, 10, 3), extents(10, 3)));
    CHECK(bias.find("1234") == std::string::npos);
    CHECK(bias.find("5678") == std::string::npos);
    CHECK(bias != text(extents(1234, 5678), extents(1234, 1)));
    CHECK(bias != text(extents(1234, 5678), extents()));
    CHECK(text(extents(5, 6), extents(5, 6)) == text(extents(30), extents(30)));
    // Dimensions of one element are none.
    CHECK(bias == text(extents(7, 1, 3), extents(1, 3)));
}

TEST_CASE(
    "of one operand a thread reads two packs before it computes; of more operands, for sums and in long code one") {
    const auto packs = [](const tape& t, const std::vector<extents>& sizes) {
        const std::string text = sources_of(t, sizes).back().text, name = "packs = ";
        return std::stoi(text.substr(text.find(name) + name.size()));
    };
    tape t;
    const int r = t.emit_input(t.add_input(element_type::float32));
    const auto roots_of = [&](int times) {
        tape u = t;
        int last = r;
        for (int k = 0; k < times; ++k) last = u.emit(opcode::sqrt, element_type::float32, last);
        u.add_output(last, element_type::float32);
        return u;
    };
    CHECK(packs(roots_of(1), {extents(5000)}) == 2);
    CHECK(packs(roots_of(40), {extents(5000)}) == 1);
    const tape product = product_and_sums();
    tape only_product = product;
    only_product.output_count = 1;
    CHECK(packs(only_product, {extents(5000), extents(5000)}) == 1);
    CHECK(packs(only_product, {extents(5000), extents()}) == 2); // a number is no operand to wait for
    CHECK(packs(product, {extents(5000), extents()}) == 1);
}

TEST_CASE("an element is computed once, wherever blocks and packs end") {
    gpu_context gpu(0);
    tape t;
    const int x = t.emit_input(t.add_input(element_type::float32));
    t.add_output(t.emit(opcode::add, element_type::float32, x, x), element_type::float32);
    std::vector<std::unique_ptr<gpu_tape>> kernels;
    std::vector<buffer> inputs;
    for (const std::int64_t n : {1, 1023, 1024, 1028, 2044, 2048, 2049, 5000, 70001}) {
        inputs.emplace_back(element_type::float32, extents(n));
        for (std::size_t k = 0; k < inputs.back().count(); ++k) inputs.back().set(k, static_cast<double>(k + 1));
        kernels.push_back(std::make_unique<gpu_tape>(gpu, t, std::vector<std::int64_t>{},
                                                     std::vector<tensor_type>{{element_type::float32, extents(n)}}));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::vector<buffer> in{inputs[i]};
        kernels[i]->settle(in);
        gpu_tape::how in_place;
        in_place.in_place = true; // what is computed twice is doubled twice
        const buffer y = std::move(kernels[i]->run(in, in_place)[0]);
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < y.count(); ++k) wrong += y.at(k) != 2 * static_cast<double>(k + 1);
        CHECK_MESSAGE(wrong == 0, "of ", y.count());
    }
}

TEST_CASE("elements are counted in 64 bits where there are more than 2^31") {
    const tape t = product_and_sums();
    const auto text = [&](std::int64_t n) { return sources_of(t, {extents(n), extents(n)}).back().text; };
    CHECK(text((std::int64_t{1} << 31) - 1).find("using index = uint32") != std::string::npos);
    CHECK(text(std::int64_t{1} << 31).find("using index = uint64") != std::string::npos);
}

TEST_CASE("literals are written to the bit") {
    const auto written = [](number n, element_type e) {
        tape t;
        t.add_output(t.emit_literal(n, e), e);
        return sources_of(t, {}).back().text;
    };
    CHECK(written(0.1, element_type::float32).find("0x3dcccccdU") != std::string::npos);
    CHECK(written(0.1, element_type::float64).find("0x3fb999999999999aULL") != std::string::npos);
    CHECK(written(-0.0, element_type::float32).find("0x80000000U") != std::string::npos);
    CHECK(written(std::numeric_limits<double>::infinity(), element_type::float32).find("0x7f800000U") !=
          std::string::npos);
    CHECK(written((std::int64_t{1} << 53) + 1, element_type::int64).find("0x20000000000001ULL") != std::string::npos);
    CHECK(written(-1, element_type::int8).find("0xffffffffffffffffULL") != std::string::npos);
}

TEST_CASE("a pass writes what it is called with: as many words as its arguments have") {
    // Divisors are exact at the edges of 31 bits.
    const std::uint64_t edges[] = {1, 2, 3, 5, 7, 640, 641, 65535, 65536, 65537, 1000003, 0x7ffffffe, 0x7fffffff};
    for (const std::uint64_t d : edges)
        for (const std::uint64_t n : edges)
            for (const std::uint64_t less : {0u, 1u}) {
                const std::uint64_t by = divisor_of(static_cast<std::int64_t>(d)), m = n - less;
                const std::uint64_t high = (m * (by & 0xffffffff)) >> 32;
                CHECK((((high + m) & 0xffffffff) >> (by >> 32)) == m / d);
            }
}

TEST_CASE("outputs that are summed over different dimensions take a pass each, of which the last stores elements") {
    tape t;
    int reg[4];
    for (int& r : reg) r = t.emit_input(t.add_input(element_type::float32));
    const int all = t.emit(opcode::fma, element_type::float32, reg[0], reg[1],
                           t.emit(opcode::add, element_type::float32, reg[2], reg[3]));
    for (const int like : {-1, 0, 1, 2, 3}) t.add_output(all, element_type::float32, like);
    const auto types = types_of(t, {extents(8, 5), extents(5), extents(8, 1), extents()});
    const auto passes = make_passes(t, type_list(types.data(), 4));
    REQUIRE(passes.size() == 2);
    CHECK(passes[0].made == std::vector<int>{2, 4}); // columns, and the total
    CHECK(passes[1].made == std::vector<int>{3, 0, 1});
    CHECK(passes[0].kept == 5);
    CHECK(passes[1].kept == 8);
}
