// No kernel computes on what it was not given: lanes beyond the end of an array hold neither what lies in memory behind
// it nor what was left in working memory, and raise no flag that the elements themselves do not raise.
#include <cfenv>

#include "tests.hpp"

namespace un = tenon::untyped;
using tn::any_tensor;
using tn::element_type;

namespace {

// Flags of the processor: invalid, division by zero, overflow, underflow and, where there is one, denormal operand.
#if defined(__x86_64__)
constexpr unsigned all_flags = 0x3F, inexact = 0x20;
void clear_flags() { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~all_flags); }
unsigned flags() { return __builtin_ia32_stmxcsr() & all_flags & ~inexact; }
#else
void clear_flags() { std::feclearexcept(FE_ALL_EXCEPT); }
unsigned flags() {
    return static_cast<unsigned>(std::fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW));
}
#endif

// Bytes with a multiple of 64 as address, and behind them others, which as float32 and as float64 are signalling NaNs or
// denormal numbers.
class poisoned {
public:
    poisoned(std::size_t bytes, bool denormal) : memory_(bytes + 1024) {
        void* p = memory_.data();
        std::size_t space = memory_.size();
        begin_ = static_cast<std::byte*>(std::align(64, bytes, p, space));
        const std::uint32_t nan = 0x7FA00001, wide_nan[2] = {0x7FA00001, 0x7FF00001}, small = 0x00000101;
        std::byte* const end = memory_.data() + memory_.size();
        for (std::byte* at = begin_; at + 8 <= end; at += 8) {
            if (denormal) { // as float32 and as float64
                const std::uint32_t words[2] = {small, small};
                std::memcpy(at, words, 8);
            } else if ((at - begin_) % 16 == 0) std::memcpy(at, wide_nan, 8);
            else
                for (int w = 0; w < 2; ++w) std::memcpy(at + 4 * w, &nan, 4);
        }
    }
    std::byte* data() const { return begin_; }

private:
    std::vector<std::byte> memory_;
    std::byte* begin_;
};

struct result {
    unsigned raised = 0;
    std::vector<std::byte> bytes;
};

// Runs one node's kernel with all its inputs poisoned behind their ends, and its working memory as a whole. Every element
// of float inputs is `value`; of integer inputs 0.
result run_node(const any_tensor& t, double value, bool denormal) {
    const tn::node& n = *t.node();
    std::vector<tn::tensor_type> in;
    std::vector<poisoned> buffers;
    std::vector<const void*> inputs;
    for (const tn::node_output& i : n.inputs) {
        const tn::tensor_type& type = i.node->outputs[static_cast<std::size_t>(i.index)];
        in.push_back(type);
        const auto elements = static_cast<std::size_t>(type.extents.elements());
        const poisoned& b = buffers.emplace_back(elements * size_of(type.element), denormal);
        for (std::size_t k = 0; k < elements; ++k) {
            std::byte* const at = b.data() + k * size_of(type.element);
            const auto f = static_cast<float>(value);
            if (type.element == element_type::float32) std::memcpy(at, &f, 4);
            else if (type.element == element_type::float64) std::memcpy(at, &value, 8);
            else std::memset(at, 0, size_of(type.element));
        }
        inputs.push_back(b.data());
    }
    std::vector<poisoned> made;
    std::vector<void*> outputs;
    for (const tn::tensor_type& o : n.outputs) {
        made.emplace_back(static_cast<std::size_t>(o.extents.elements()) * size_of(o.element), denormal);
        outputs.push_back(made.back().data());
    }
    const tn::kernel_pointer k = n.op->cpu({n,
                                            n.attributes,
                                            {in.data(), static_cast<int>(in.size())},
                                            {n.outputs.data(), static_cast<int>(n.outputs.size())}});
    const poisoned scratch(k->scratch_bytes(), denormal);
    const tn::kernel_run r{inputs.data(), outputs.data(), scratch.data(), nullptr};
    result all;
    clear_flags();
    k->run(r);
    all.raised = flags();
    clear_flags();
    for (std::size_t o = 0; o < outputs.size(); ++o) {
        const tn::tensor_type& type = n.outputs[o];
        const auto* at = static_cast<const std::byte*>(outputs[o]);
        all.bytes.insert(all.bytes.end(), at,
                         at + static_cast<std::size_t>(type.extents.elements()) * size_of(type.element));
    }
    return all;
}

// One node for each size.
using maker = std::function<any_tensor(std::int64_t n, element_type e)>;

// 128 elements, and 8 in the registers that small nodes use, are whole packs: their flags are those of the elements.
void check(const std::string& name, const maker& make, double value) {
    for (const element_type e : {element_type::float32, element_type::float64}) {
        own_graph g;
        const unsigned own = run_node(make(128, e), value, true).raised | run_node(make(8, e), value, true).raised;
        for (std::int64_t n = 1; n <= 70; ++n) {
            INFO(name, " of ", n, " elements ", tn::name_of(e), ", each ", value);
            const any_tensor t = make(n, e);
            const result denormal = run_node(t, value, true), nan = run_node(t, value, false);
            CHECK((denormal.raised & ~own) == 0);
            CHECK((nan.raised & ~own) == 0);
            CHECK((denormal.bytes == nan.bytes));
        }
    }
}

any_tensor vector_of(std::int64_t n, element_type e) { return un::placeholder(e, {n}); }

} // namespace

TEST_CASE("elementwise instructions compute on the elements they are given alone") {
    int instructions = 0;
    for (int o = 0; o < tn::opcode_count; ++o) {
        const auto op = static_cast<tn::opcode>(o);
        const int operands = tn::info_of(op).operands;
        if (operands < 1 || operands > 3 || op == tn::opcode::cast || op == tn::opcode::select) continue;
        if (!tn::accepts_element(op, element_type::float32)) continue;
        ++instructions;
        for (const double value : {0.625, 1.0, 37.5})
            check(
                tn::info_of(op).name,
                [&](std::int64_t n, element_type e) {
                    std::vector<any_tensor> xs;
                    for (int k = 0; k < operands; ++k) xs.push_back(vector_of(n, e));
                    return tn::detail::add_instruction(op, xs);
                },
                value);
    }
    CHECK(instructions > 30);
}

TEST_CASE("fused chains keep their working memory to the elements they are given") {
    const auto chain = [](std::int64_t n, element_type e) {
        tn::tape t;
        const int x = t.emit_input(t.add_input(e)), y = t.emit_input(t.add_input(e));
        int r = t.emit(tn::opcode::multiply, e, x, y);
        for (int k = 0; k < 4; ++k)
            r = t.emit(tn::opcode::divide, e, t.emit(tn::opcode::tanh, e, r), t.emit(tn::opcode::exp, e, y));
        t.add_output(t.emit(tn::opcode::log, e, r), e);
        t.add_output(t.emit(tn::opcode::sqrt, e, r), e, 1);
        // The second input's one element gets the sum of the second output.
        return tn::detail::add_fused(std::make_shared<const tn::tape>(t), {},
                                     {vector_of(n, e), un::placeholder(e, {1})});
    };
    check("a chain", chain, 0.75);
}

TEST_CASE("reductions compute on the elements they are given alone") {
    struct named {
        const char* name;
        any_tensor (*f)(const any_tensor&, const tn::index_list&, bool, tn::called_from);
    };
    for (const named& r :
         {named{"sum", un::sum}, named{"mean", un::mean}, named{"prod", un::prod}, named{"min", un::min},
          named{"max", un::max}, named{"argmax", un::argmax}, named{"logsumexp", un::logsumexp}})
        for (const double value : {0.5, 1.0, -300.0})
            for (const int axis : {0, 1}) {
                if (std::string(r.name) == "prod" && value < 0) continue; // overflows by itself
                check(
                    std::string(r.name) + " along axis " + std::to_string(axis),
                    [&](std::int64_t n, element_type e) {
                        return r.f(un::placeholder(e, {axis == 0 ? 3 : n, axis == 0 ? n : 3}), {axis}, false,
                                   tn::caller());
                    },
                    value);
                check(
                    std::string(r.name) + " of few along axis " + std::to_string(axis),
                    [&](std::int64_t n, element_type e) {
                        return r.f(un::placeholder(e, {axis == 0 ? n : 3, axis == 0 ? 3 : n}), {axis}, false,
                                   tn::caller());
                    },
                    value);
            }
}

TEST_CASE("softmax, its losses and normalisation compute on the elements they are given alone") {
    const auto rows = [](std::int64_t n, element_type e) { return un::placeholder(e, {3, n}); };
    for (const double value : {0.5, 100.0, -100.0}) {
        for (const int axis : {0, 1}) {
            check(
                "softmax", [&](std::int64_t n, element_type e) { return un::softmax(rows(n, e), axis); }, value);
            check(
                "log_softmax", [&](std::int64_t n, element_type e) { return un::log_softmax(rows(n, e), axis); },
                value);
        }
        check(
            "cross entropy",
            [&](std::int64_t n, element_type e) { return un::softmax_cross_entropy(rows(n, e), rows(n, e)); }, value);
        check(
            "sparse cross entropy",
            [&](std::int64_t n, element_type e) {
                return un::sparse_softmax_cross_entropy(rows(n, e), un::placeholder(element_type::int32, {3}));
            },
            value);
        check(
            "sparse cross entropy of many rows",
            [&](std::int64_t n, element_type e) {
                return un::sparse_softmax_cross_entropy(un::placeholder(e, {n, 3}),
                                                        un::placeholder(element_type::int32, {n}));
            },
            value);
        check(
            "layer_norm",
            [&](std::int64_t n, element_type e) {
                return un::layer_norm(rows(n, e), vector_of(n, e), vector_of(n, e));
            },
            value);
        check(
            "attention",
            [&](std::int64_t n, element_type e) { return un::attention(rows(n, e), rows(n, e), rows(n, e)); }, value);
        check(
            "causal attention",
            [&](std::int64_t n, element_type e) {
                return un::attention(un::placeholder(e, {n, 5}), un::placeholder(e, {n, 5}), un::placeholder(e, {n, 3}),
                                     {.causal = true});
            },
            value);
    }
}

TEST_CASE("pooling computes on the channels it is given alone") {
    const tn::pool2d_options window{.window = {2, 2}};
    check(
        "max_pool2d",
        [&](std::int64_t n, element_type e) {
            return un::max_pool2d(un::placeholder(e, {1, 4, 4, n}), window);
        },
        0.5);
    check(
        "average_pool2d",
        [&](std::int64_t n, element_type e) {
            return un::average_pool2d(un::placeholder(e, {1, 4, 4, n}), window);
        },
        0.5);
}
