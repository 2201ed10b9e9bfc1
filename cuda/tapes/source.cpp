#include <cuda/tapes/source.hpp>

#include <algorithm>
#include <cstdio>

#include <cuda/tapes/hash.hpp>

namespace tenon::cuda::tapes {

namespace {

// As kernels/tape/functions.hpp calls them.
const char* stored_name(element_type e) {
    switch (e) {
    case element_type::float32: return "float";
    case element_type::float64: return "double";
    case element_type::float16: return "float16";
    case element_type::bfloat16: return "bfloat16";
    case element_type::boolean: return "boolean";
    default: return name_of(e);
    }
}
const char* computed_name(element_type e) { return e == element_type::boolean ? "bool" : stored_name(compute_type(e)); }

std::string hexadecimal(std::uint64_t bits, const char* suffix) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx%s", static_cast<unsigned long long>(bits), suffix);
    return text;
}
std::string literal(const instruction& i) {
    const number n = i.literal();
    switch (i.type) {
    case element_type::float32:
        return "float_of(" + hexadecimal(std::bit_cast<std::uint32_t>(n.to<float>()), "U") + ")";
    case element_type::float64:
        return "double_of(" + hexadecimal(std::bit_cast<std::uint64_t>(n.to<double>()), "ULL") + ")";
    case element_type::boolean: return i.bits != 0 ? "true" : "false";
    default: return "static_cast<" + std::string(computed_name(i.type)) + ">(" + hexadecimal(i.bits, "ULL") + ")";
    }
}
// From the bits in which a constant is given: its lowest bytes.
std::string constant(element_type e, int place) {
    const std::string bits = "a.constants[" + std::to_string(place) + "]";
    switch (e) {
    case element_type::float32: return "float_of(static_cast<uint32>(" + bits + "))";
    case element_type::float64: return "double_of(static_cast<uint64>(" + bits + "))";
    case element_type::boolean: return "(" + bits + " & 0xff) != 0";
    default: return "static_cast<" + std::string(computed_name(e)) + ">(" + bits + ")";
    }
}

struct places {
    int input[max_tape_inputs];    // among those that are read; -1
    int constant[max_tape_inputs]; // among those that are used; -1
    int inputs = 0, constants = 0;
};
places places_of(const tape& t) {
    places p;
    for (int i = 0; i < max_tape_inputs; ++i) p.input[i] = p.constant[i] = -1;
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        if (i.op == opcode::input && p.input[i.a] < 0) p.input[i.a] = p.inputs++;
        if (i.op == opcode::constant && p.constant[i.a] < 0) p.constant[i.a] = p.constants++;
    }
    return p;
}

class writer {
public:
    writer(const tape& t, const form& f) : t_(t), f_(f), at_(places_of(t)) {}

    std::string body() {
        types();
        run();
        store_sums();
        return std::move(text_);
    }

private:
    template <class... S> void line(int depth, const S&... parts) {
        text_.append(static_cast<std::size_t>(4 * depth), ' ');
        ((text_ += parts), ...);
        text_ += '\n';
    }
    static std::string text(int n) { return std::to_string(n); }

    void types() {
        const int sums = f_.count(fate::summed, t_), totals = f_.count(fate::totalled, t_);
        bool is_double = false;
        for (int o = 0; o < t_.output_count; ++o)
            is_double = is_double || (f_.fates[o] != fate::stored && t_.outputs[o].type == element_type::float64);
        line(1, "using index = ", f_.wide_index ? "uint64" : "uint32", ";");
        line(1, "using sum_type = ", is_double ? "double" : "float", ";");
        line(1, "static constexpr int width = ", text(f_.width), ", packs = ", text(f_.packs),
             ", dims = ", text(f_.dims), ", kept = ", text(f_.kept), ";");
        line(1, "static constexpr bool columns = ", f_.columns ? "true" : "false", ";");
        line(1, "static constexpr int most_sums = ", text(sums), ", most_totals = ", text(totals),
             ", most_groups = ", text(f_.groups), ";");
        line(1, "using arguments = arguments_of<", text(at_.inputs), ", ", text(t_.output_count), ", ",
             text(at_.constants), ", ", text(sums + totals), ", ", text(f_.groups), ", ", text(f_.dims), ">;");
        line(1, "static constexpr __device__ int groups(const arguments&) { return most_groups; }");
        line(1, "static constexpr __device__ int sums(const arguments&) { return most_sums; }");
        line(1, "static constexpr __device__ int totals(const arguments&) { return most_totals; }");
    }

    std::string value(int r) const { return "r" + text(r); }
    std::string computed(const instruction& i) const {
        if (i.op == opcode::input) return "widen(x" + text(i.a) + "[p].v[k])";
        if (i.op == opcode::constant) return constant(i.type, at_.constant[i.a]);
        if (i.op == opcode::literal) return literal(i);
        std::string call = info_of(i.op).name;
        if (i.op == opcode::cast) call += std::string("<") + stored_name(i.type) + ">";
        call += "(";
        for (int k = 0; k < register_operands(i); ++k) call += (k ? ", " : "") + value(operand_of(i, k));
        return call + ")";
    }

    void run() {
        line(1, "template <class T, int N, kept_by> using own = in_registers<T, N>;");
        line(1, "template <int N, int Packs, class At, class Sum, class Total>");
        line(1, "static __device__ __forceinline__ void run(const arguments& a, const At& at, const bool* is_there, "
                "Sum& sum, Total& total) {");
        for (int i = 0; i < t_.input_count; ++i)
            if (at_.input[i] >= 0) line(2, "pack<", stored_name(t_.inputs[i]), ", N> x", text(i), "[Packs] = {};");
        each_pack();
        for (int i = 0; i < t_.input_count; ++i) {
            if (at_.input[i] < 0) continue;
            const int group = f_.group_of[i];
            const char* how = group >= 0 && f_.along[group] ? "load" : "load_repeated";
            const std::string where = group < 0 ? "0" : "at[p * most_groups + " + text(group) + "]";
            line(3, "x", text(i), "[p] = ", how, "<", stored_name(t_.inputs[i]), ", N>(a.in[", text(at_.input[i]),
                 "], ", where, ");");
        }
        line(2, "}");
        each_pack();
        for (int o = 0; o < t_.output_count; ++o)
            if (f_.fates[o] == fate::stored) line(3, "pack<", stored_name(t_.outputs[o].type), ", N> y", text(o), ";");
        text_ += "#pragma unroll\n";
        line(3, "for (int k = 0; k < N; ++k) {");
        for (int r = 0; r < t_.length; ++r)
            line(4, "const ", computed_name(t_.code[r].type), " ", value(r), " = ", computed(t_.code[r]), ";");
        for (int o = 0, s = 0, total = 0; o < t_.output_count; ++o) {
            const std::string v = value(t_.outputs[o].reg);
            switch (f_.fates[o]) {
            case fate::stored:
                line(4, "y", text(o), ".v[k] = narrow<", stored_name(t_.outputs[o].type), ">(", v, ");");
                break;
            case fate::summed: line(4, "sum[columns ? ", text(s), " * N + k : ", text(s), "] += ", v, ";"), ++s; break;
            case fate::totalled: line(4, "total[", text(total++), "] += ", v, ";"); break;
            }
        }
        line(3, "}");
        for (int o = 0; o < t_.output_count; ++o)
            if (f_.fates[o] == fate::stored)
                line(3, "store<", stored_name(t_.outputs[o].type), ", N>(a.out[", text(o), "], at[p * most_groups], y",
                     text(o), ");");
        line(2, "}");
        line(1, "}");
    }
    void each_pack() {
        text_ += "#pragma unroll\n";
        line(2, "for (int p = 0; p < Packs; ++p) {");
        line(3, "if (!is_there[p]) continue;");
    }

    void store_sums() {
        line(1,
             "static __device__ __forceinline__ void store_sum(const arguments& a, int s, index at, double value) {");
        for (int o = 0, s = 0; o < t_.output_count; ++o)
            if (f_.fates[o] == fate::summed)
                line(2, "if (s == ", text(s++), ") store_rounded<", stored_name(t_.outputs[o].type), ">(a.out[",
                     text(o), "], at, value);");
        line(1, "}");
    }

    const tape& t_;
    const form& f_;
    const places at_;
    std::string text_;
};

} // namespace

namespace {

// A name that is the text's own, and the text, of which `body` is the tape and `call` what the kernel does.
kernel_source kernel_of(const char* kind, const std::string& body, const std::string& arguments,
                        const std::string& call) {
    const std::string id = hash_of(body + kind + arguments + call).text();
    const std::string tape = "tenon::cuda::tapes::code_" + id;
    const auto with = [&](std::string text) {
        for (std::size_t at; (at = text.find('$')) != std::string::npos;) text.replace(at, 1, tape);
        return text;
    };
    kernel_source k{.name = kind + id};
    k.text = "namespace tenon::cuda::tapes {\nstruct code_" + id + " {\n" + body +
             "};\n} // namespace tenon::cuda::tapes\nextern \"C\" __global__ void __launch_bounds__(256) " + k.name +
             "(const __grid_constant__ " + with(arguments) + " a) {\n    tenon::cuda::tapes::" + with(call) +
             "(a);\n}\n";
    return k;
}

} // namespace

kernel_source write_kernel(const tape& code, const form& f) {
    return kernel_of("tape_", writer(code, f).body(), "$::arguments",
                     f.kept < f.dims ? "run_sums<$>" : "run_elements<$>");
}

kernel_source write_group_kernel(const pass& p) {
    return kernel_of("tapes_", writer(p.code, p.shape).body(),
                     "tenon::cuda::tapes::group_of<$::arguments, " + std::to_string(most_in_group(p)) + ">",
                     "run_group<$>");
}

namespace {

// Packs are read and written where all that lies along the fastest dimension begins at a multiple of a pack.
bool is_packed(const pass& p, const kernel_call& c) {
    const form& f = p.shape;
    if (!p.whole_packs || f.width == 1) return false;
    const auto aligned = [&](const void* at, element_type e) {
        return reinterpret_cast<std::uintptr_t>(at) % (size_of(e) * static_cast<std::size_t>(f.width)) == 0;
    };
    for (int i = 0; i < p.code.input_count; ++i)
        if (p.code.loads(i) && f.group_of[i] >= 0 && f.along[f.group_of[i]] && !aligned(c.in[i], p.code.inputs[i]))
            return false;
    for (int o = 0; o < p.code.output_count; ++o)
        if (f.fates[o] == fate::stored && !aligned(c.out[p.made[static_cast<std::size_t>(o)]], p.code.outputs[o].type))
            return false;
    return true;
}

// Counts and writes at once, so that both agree: `word` is called for each word in order.
template <class F> void for_each_word(const pass& p, const kernel_call* c, const F& word) {
    const tape& t = p.code;
    const places at = places_of(t);
    const auto bits = [](const void* pointer) {
        return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
    };
    const auto in_order = [&](const int(&place)[max_tape_inputs], int count, auto&& value) {
        if (count == 0) word([] { return std::uint64_t{0}; });
        for (int k = 0; k < count; ++k)
            for (int i = 0; i < max_tape_inputs; ++i)
                if (place[i] == k) word([&] { return value(i); });
    };
    in_order(at.input, at.inputs, [&](int i) { return bits(c->in[i]); });
    for (int o = 0; o < t.output_count; ++o) word([&] { return bits(c->out[p.made[static_cast<std::size_t>(o)]]); });
    in_order(at.constant, at.constants, [&](int i) { return static_cast<std::uint64_t>(c->constants[i]); });
    const int sums = p.shape.count(fate::summed, t) + p.shape.count(fate::totalled, t);
    if (sums == 0) word([] { return std::uint64_t{0}; });
    for (int s = 0; s < sums; ++s) word([&] { return bits(c->partial[s]); });
    word([&] { return static_cast<std::uint64_t>(p.kept); });
    word([&] { return static_cast<std::uint64_t>(p.summed); });
    word([&] { return static_cast<std::uint64_t>(is_packed(p, *c)); });
    word([&] { return static_cast<std::uint64_t>(c->how.lanes); });
    word([&] { return static_cast<std::uint64_t>(c->how.chunks); });
    for (const std::int64_t size : p.sizes) {
        word([&] { return static_cast<std::uint64_t>(size); });
        word([&] { return divisor_of(size); });
    }
    for (const std::int64_t stride : p.strides) word([&] { return static_cast<std::uint64_t>(stride); });
}

} // namespace

std::vector<std::uint64_t> write_arguments(const pass& p, const kernel_call& c) {
    std::vector<std::uint64_t> words;
    for_each_word(p, &c, [&](const auto& value) { words.push_back(value()); });
    return words;
}

std::size_t argument_words(const pass& p) {
    std::size_t n = 0;
    for_each_word(p, nullptr, [&](const auto&) { ++n; });
    return n;
}

std::size_t most_in_group(const pass& p) {
    constexpr std::size_t most_words = 4096 / sizeof(std::uint64_t); // of a kernel's arguments
    return (most_words - 2) / (argument_words(p) + 1);
}

std::vector<std::uint64_t> write_group_arguments(const pass* const* passes, const kernel_call* calls, std::size_t count,
                                                 unsigned& blocks) {
    const std::size_t most = most_in_group(*passes[0]), each = argument_words(*passes[0]);
    std::vector<std::uint64_t> words(most + 2 + most * each);
    blocks = 0;
    words[0] = count;
    for (std::size_t m = 0; m < count; ++m) {
        blocks += calls[m].how.blocks;
        words[m + 2] = blocks;
        const std::vector<std::uint64_t> own = write_arguments(*passes[m], calls[m]);
        std::copy(own.begin(), own.end(), words.begin() + static_cast<std::ptrdiff_t>(most + 2 + m * each));
    }
    return words;
}

} // namespace tenon::cuda::tapes
