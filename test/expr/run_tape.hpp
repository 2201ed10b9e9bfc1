#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/half.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/expr/fused_kernel.hpp>

/// Running tapes without a graph, and what they are compared with: one element at a time, with indices worked out from
/// scratch.

namespace tape_test {

using namespace tenon;

/// Elements of any type in memory, aligned to 64 bytes, with a guard behind them.
struct buffer {
    element_type element = element_type::none;
    extents sizes;
    std::vector<std::byte> memory;

    buffer() = default;
    buffer(element_type e, const extents& s) : element(e), sizes(s), memory(bytes() + 128, std::byte{0x5a}) {}
    buffer(const buffer& o) : buffer(o.element, o.sizes) { std::memcpy(data(), o.data(), bytes()); }
    buffer(buffer&&) = default;
    buffer& operator=(buffer&&) = default;

    std::size_t count() const { return static_cast<std::size_t>(sizes.elements()); }
    std::size_t bytes() const { return count() * size_of(element); }
    std::byte* data() { return memory.data() + gap(); }
    const std::byte* data() const { return memory.data() + gap(); }
    bool guard_is_whole() const {
        return std::all_of(data() + bytes(), memory.data() + memory.size(),
                           [](std::byte b) { return b == std::byte{0x5a}; });
    }
    double at(std::size_t i) const {
        const std::byte* p = data() + i * size_of(element);
        const auto as = [&]<class T>(T x) {
            std::memcpy(&x, p, sizeof x);
            return static_cast<double>(x);
        };
        switch (element) {
        case element_type::float32: return as(0.0F);
        case element_type::float64: return as(0.0);
        case element_type::float16: return as(tenon::half(0.0F));
        case element_type::bfloat16: return as(bfloat16(0.0F));
        case element_type::int8: return as(std::int8_t{});
        case element_type::int16: return as(std::int16_t{});
        case element_type::int32: return as(std::int32_t{});
        case element_type::int64: return as(std::int64_t{});
        case element_type::uint8: return as(std::uint8_t{});
        case element_type::uint16: return as(std::uint16_t{});
        case element_type::uint32: return as(std::uint32_t{});
        case element_type::uint64: return as(std::uint64_t{});
        default: return as(false);
        }
    }
    void set(std::size_t i, double value) {
        std::byte* p = data() + i * size_of(element);
        const auto as = [&]<class T>(T x) { std::memcpy(p, &x, sizeof x); };
        switch (element) {
        case element_type::float32: return as(static_cast<float>(value));
        case element_type::float64: return as(value);
        case element_type::float16: return as(tenon::half(static_cast<float>(value)));
        case element_type::bfloat16: return as(bfloat16(static_cast<float>(value)));
        case element_type::boolean: return as(value != 0);
        case element_type::int8: return as(static_cast<std::int8_t>(value));
        case element_type::int16: return as(static_cast<std::int16_t>(value));
        case element_type::int32: return as(static_cast<std::int32_t>(value));
        case element_type::int64: return as(static_cast<std::int64_t>(value));
        case element_type::uint8: return as(static_cast<std::uint8_t>(std::fabs(value)));
        case element_type::uint16: return as(static_cast<std::uint16_t>(std::fabs(value)));
        case element_type::uint32: return as(static_cast<std::uint32_t>(std::fabs(value)));
        default: return as(static_cast<std::uint64_t>(std::fabs(value)));
        }
    }

private:
    std::size_t gap() const { return (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64; }
};

inline buffer random_buffer(element_type e, const extents& s, std::mt19937& random, double low = -3, double high = 3) {
    buffer b(e, s);
    std::uniform_real_distribution<double> real(low, high);
    for (std::size_t i = 0; i < b.count(); ++i)
        b.set(i, e == element_type::boolean ? static_cast<double>(random() % 2)
                 : is_floating(e)           ? real(random)
                                            : std::round(real(random) * 10));
    return b;
}

struct options {
    simd::isa isa = simd::isa::baseline;
    bool compiled = false;
    int threads = 1;
    thread_pool* pool = nullptr;
    bool in_place = false; ///< outputs lie where inputs lie, wherever the kernel says they may
    std::vector<std::int64_t> merge{};
    std::uint32_t unwanted = 0; ///< bit o: output o has no memory
};

/// The outputs of a tape's kernel.
inline std::vector<buffer> run(const tape& t, const std::vector<std::int64_t>& constants,
                               const std::vector<buffer>& inputs, const options& how = {}) {
    fused_op::attributes a{
        .tape = std::shared_ptr<const tape>(std::shared_ptr<void>(), &t), .constants = constants, .merge = how.merge};
    std::vector<tensor_type> in_types, out_types;
    for (const buffer& b : inputs) in_types.push_back({b.element, b.sizes});
    const type_list in_list(in_types.data(), static_cast<int>(in_types.size()));
    const int outputs = fused_op::outputs(a, in_list.size());
    for (int o = 0; o < outputs; ++o) {
        const inferred r = fused_op::infer(a, in_list, o);
        if (!r) throw invalid_argument_error(words(r.what));
        out_types.push_back(r.type);
    }
    const node n;
    const attributes attrs;
    const simd::isa before = simd::best_isa();
    simd::set_isa_for_testing(how.isa);
    detail::fused_kernel kernel({n, attrs, in_list, type_list(out_types.data(), outputs), how.threads}, a,
                                how.compiled);

    std::vector<buffer> in, out;
    for (const buffer& b : inputs) in.emplace_back(b);
    for (const tensor_type& type : out_types) out.emplace_back(type.element, type.extents);
    std::vector<const void*> in_pointers;
    for (int i = 0; i < in_list.size(); ++i)
        in_pointers.push_back(t.loads(i) ? in[static_cast<std::size_t>(i)].data() : nullptr);
    std::vector<void*> out_pointers;
    std::vector<int> lies_at(out.size(), -1);
    std::vector<bool> taken(in.size());
    for (int o = 0; o < outputs; ++o) {
        const auto at = static_cast<std::size_t>(o);
        for (int i = 0; how.in_place && i < in_list.size() && lies_at[at] < 0; ++i)
            if (!taken[static_cast<std::size_t>(i)] && kernel.may_share(i, o)) lies_at[at] = i;
        if (lies_at[at] >= 0) taken[static_cast<std::size_t>(lies_at[at])] = true;
        out_pointers.push_back((how.unwanted >> o & 1U) != 0 ? nullptr
                               : lies_at[at] < 0             ? out[at].data()
                                                             : in[static_cast<std::size_t>(lies_at[at])].data());
    }
    buffer scratch(element_type::uint8, extents(static_cast<std::int64_t>(kernel.scratch_bytes())));
    kernel.run({in_pointers.data(), out_pointers.data(), scratch.data(), how.pool});
    simd::set_isa_for_testing(before);
    if (!scratch.guard_is_whole()) throw internal_error("wrote beyond its scratch memory");
    for (const buffer& b : in)
        if (!b.guard_is_whole()) throw internal_error("wrote beyond an input");
    for (int o = 0; o < outputs; ++o) {
        const auto at = static_cast<std::size_t>(o);
        if (lies_at[at] >= 0)
            std::memcpy(out[at].data(), in[static_cast<std::size_t>(lies_at[at])].data(), out[at].bytes());
        if (!out[at].guard_is_whole()) throw internal_error("wrote beyond an output");
    }
    return out;
}

/// Position in an operand of sizes `s` of the element that element `index` of `shape` is computed from.
inline std::size_t broadcast_index(const extents& shape, const extents& s, std::size_t index) {
    std::size_t at = 0, step = 1;
    for (int d = shape.rank() - 1; d >= 0; --d) {
        const auto n = static_cast<std::size_t>(shape[d].size);
        const int own = d - (shape.rank() - s.rank());
        if (own >= 0 && s[own].size != 1) {
            at += index % n * step;
            step *= n;
        }
        index /= n;
    }
    return at;
}

struct expected {
    std::vector<buffer> outputs;             ///< of outputs that are summed, in double
    std::vector<std::vector<double>> weight; ///< of those, the sums of magnitudes
};

/// What the kernel must give: each instruction on one element, by the same function.
inline expected run_naively(const tape& t, const std::vector<std::int64_t>& constants,
                            const std::vector<buffer>& inputs, simd::isa isa) {
    extents shape;
    for (const buffer& b : inputs) shape = broadcast(shape, b.sizes).extents;
    expected e;
    for (int o = 0; o < t.output_count; ++o) {
        const int like = t.outputs[o].like;
        const bool sums = like >= 0 && inputs[static_cast<std::size_t>(like)].sizes.elements() != shape.elements();
        e.outputs.emplace_back(sums ? element_type::float64 : t.outputs[o].type,
                               like < 0 ? shape : inputs[static_cast<std::size_t>(like)].sizes);
        if (sums) std::memset(e.outputs.back().data(), 0, e.outputs.back().bytes());
        e.weight.emplace_back(sums ? e.outputs.back().count() : 0);
    }
    alignas(64) std::byte value[max_tape_length][8];
    for (std::size_t k = 0; k < static_cast<std::size_t>(shape.elements()); ++k) {
        for (int r = 0; r < t.length; ++r) {
            const instruction& i = t.code[r];
            const auto type = [&](int a) { return compute_type(t.code[a].type); };
            if (i.op == opcode::input) {
                const buffer& b = inputs[static_cast<std::size_t>(i.a)];
                const std::byte* from = b.data() + broadcast_index(shape, b.sizes, k) * size_of(b.element);
                if (compute_type(b.element) == b.element) std::memcpy(value[r], from, size_of(b.element));
                else detail::apply_step(detail::find_load(isa, b.element), value[r], sizeof(float), 1, {from, 2});
            } else if (i.op == opcode::literal) {
                detail::with_element(i.type, [&]<class T>(const T&) {
                    if constexpr (!std::is_same_v<T, std::string>) {
                        const T n = i.literal().to<T>();
                        std::memcpy(value[r], &n, sizeof n);
                    }
                });
            } else if (i.op == opcode::constant) {
                std::memcpy(value[r], &constants[static_cast<std::size_t>(i.a)], 8);
            } else if (i.op == opcode::cast) {
                detail::apply_step(detail::find_cast(isa, type(i.a), i.type), value[r], size_of(compute_type(i.type)),
                                   1, {value[i.a], size_of(type(i.a))});
            } else {
                const auto operand = [&](int a) {
                    return a < 0 ? detail::step_operand{} : detail::step_operand{value[a], size_of(type(a))};
                };
                detail::apply_step(detail::find_step(isa, i.op, type(i.op == opcode::select ? i.b : i.a)), value[r],
                                   size_of(compute_type(i.type)), 1, operand(i.a), operand(i.b), operand(i.c));
            }
        }
        for (int o = 0; o < t.output_count; ++o) {
            const auto at = static_cast<std::size_t>(o);
            const tape_output& out = t.outputs[o];
            buffer& b = e.outputs[at];
            if (e.weight[at].empty()) {
                std::byte* to = b.data() + k * size_of(b.element);
                if (compute_type(out.type) == out.type) std::memcpy(to, value[out.reg], size_of(out.type));
                else detail::apply_step(detail::find_store(isa, out.type), to, 2, 1, {value[out.reg], sizeof(float)});
            } else {
                const std::size_t where = broadcast_index(shape, b.sizes, k);
                double v = 0;
                if (compute_type(out.type) == element_type::float64) std::memcpy(&v, value[out.reg], 8);
                else {
                    float f = 0;
                    std::memcpy(&f, value[out.reg], 4);
                    v = static_cast<double>(f);
                }
                b.set(where, b.at(where) + v);
                e.weight[at][where] += std::fabs(v);
            }
        }
    }
    return e;
}

inline bool same_bits(const buffer& a, const buffer& b) {
    if (a.element != b.element || a.bytes() != b.bytes()) return false;
    const std::size_t size = size_of(a.element);
    for (std::size_t i = 0; i < a.count(); ++i) {
        if (std::memcmp(a.data() + i * size, b.data() + i * size, size) == 0) continue;
        if (is_floating(a.element) && std::isnan(a.at(i)) && std::isnan(b.at(i))) continue;
        return false;
    }
    return true;
}

/// Equal to the bit, but for sums, which are compared to `tolerance` of the sum of their magnitudes.
inline bool matches(const buffer& got, const expected& e, std::size_t o) {
    if (e.weight[o].empty()) return same_bits(got, e.outputs[o]);
    const double tolerance = got.element == element_type::float64   ? 1e-12
                             : got.element == element_type::float32 ? 1e-6
                             : got.element == element_type::float16 ? 1e-3
                                                                    : 8e-3;
    for (std::size_t i = 0; i < got.count(); ++i) {
        const double want = e.outputs[o].at(i), have = got.at(i);
        if (std::isnan(want) && std::isnan(have)) continue;
        if (want == have) continue;
        const double largest = got.element == element_type::float16 ? 65504 : 3e38;
        if (std::fabs(want) > largest && std::isinf(have)) continue;
        if (!(std::fabs(want - have) <= tolerance * e.weight[o][i] + 1e-7)) return false;
    }
    return true;
}

/// A random sound tape, of instructions that the element types and `allowed` allow.
inline tape random_tape(
    std::mt19937& random, std::vector<std::int64_t>& constants, bool (*allowed)(opcode) = [](opcode) { return true; }) {
    constexpr element_type stored[] = {element_type::float32, element_type::float32,  element_type::float64,
                                       element_type::float16, element_type::bfloat16, element_type::int8,
                                       element_type::int16,   element_type::int32,    element_type::int64,
                                       element_type::uint8,   element_type::uint16,   element_type::uint32,
                                       element_type::uint64,  element_type::boolean};
    const auto any = [&](auto n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    constants.clear();
    for (;;) {
        tape t;
        const bool floats_only = any(2) == 0;
        const int inputs = 1 + any(4);
        for (int i = 0; i < inputs; ++i) t.emit_input(t.add_input(stored[floats_only ? any(2) : any(14)]));
        if (any(2)) t.emit(opcode::constant, element_type::float32, t.add_constant(element_type::float32));
        const int length = t.length + 1 + any(16);
        for (int tries = 0; t.length < length && tries < 1000; ++tries) {
            const auto op = static_cast<opcode>(any(opcode_count));
            if (!allowed(op)) continue;
            const int a = any(t.length), b = any(t.length), c = any(t.length);
            const element_type e = compute_type(t.code[a].type);
            if (op == opcode::literal) {
                t.emit_literal(any(7) - 3 + (is_floating(e) ? 0.25 : 0), e);
            } else if (op == opcode::cast) {
                if (!floats_only) t.emit(op, stored[any(14)], a);
            } else if (op == opcode::select) {
                if (t.code[c].type == element_type::boolean && compute_type(t.code[b].type) == e)
                    t.emit(op, e, c, a, b);
            } else if (info_of(op).operands > 0 && accepts_element(op, e)) {
                const int n = info_of(op).operands;
                if (n > 1 && compute_type(t.code[b].type) != e) continue;
                if (n > 2 && compute_type(t.code[c].type) != e) continue;
                t.emit(op, result_type(op, e), a, n > 1 ? b : -1, n > 2 ? c : -1);
            }
        }
        const int outputs = 1 + any(3);
        for (int o = 0; o < outputs; ++o) {
            const int r = any(2) ? t.length - 1 : any(t.length);
            const element_type e = compute_type(t.code[r].type);
            const element_type out = e == element_type::float32 && any(4) == 0
                                         ? (any(2) ? element_type::float16 : element_type::bfloat16)
                                         : e;
            t.add_output(r, out, is_floating(e) && any(2) ? any(inputs) : -1);
        }
        t = without_dead_code(t);
        if (tape_defect(t)) continue;
        for (int i = 0; i < t.constant_count; ++i) {
            const float f = static_cast<float>(any(100)) / 16 - 3;
            std::int64_t bits = 0;
            std::memcpy(&bits, &f, sizeof f);
            constants.push_back(bits);
        }
        return t;
    }
}

/// Sizes of `count` operands that broadcast to a shape of at most `most` elements.
inline std::vector<extents> random_sizes(std::mt19937& random, int count, std::int64_t most = 6000) {
    constexpr std::int64_t choices[] = {1, 1, 2, 3, 5, 8, 16, 17, 33, 130, 300, 1030, 0};
    extents shape;
    const int rank = static_cast<int>(random() % 5);
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) {
        std::int64_t size = choices[random() % (random() % 8 == 0 ? 13 : 12)];
        if (n * size > most) size = 2;
        n *= size;
        shape.push_back(size);
    }
    std::vector<extents> result;
    for (int i = 0; i < count; ++i) {
        extents s;
        const int dropped = random() % 3 == 0 ? static_cast<int>(random() % static_cast<unsigned>(rank + 1)) : 0;
        const bool full = random() % 2 == 0;
        for (int d = dropped; d < rank; ++d) s.push_back(!full && random() % 2 ? extent(1) : shape[d]);
        result.push_back(s);
    }
    return result;
}

inline std::vector<simd::isa> available() {
    std::vector<simd::isa> result;
    for (int i = 0; i < simd::isa_count; ++i)
        if (simd::has_isa(static_cast<simd::isa>(i))) result.push_back(static_cast<simd::isa>(i));
    return result;
}

} // namespace tape_test
