// Fused elementwise kernels (PERFORMANCE P3, P4): relu(a x + b) sigmoid(c - x) of n floats, one thread, in a program
// built with plain -O2. Forward beside Eigen's array expression, all four gradients beside a loop written by hand, both
// built with -O3 -march=native; compiled for the expression's type, and by the interpreter. A node of 8 floats (P2).
#define TENON_COMPILE_EXPRESSIONS 1
#include <memory>
#include <random>
#include <vector>

#include <tenon/expr/fused.hpp>
#include <tenon/expr/fused_kernel.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/control/control.hpp>

#include "baseline/elementwise.hpp"
#include "ratio.hpp"

namespace tn = tenon;

namespace {

using vector = tn::shape<tn::dyn>;

// Numbers of -2 .. 2, of which few are drawn, since arrays are made often.
void fill(float* p, std::int64_t n) {
    static const std::vector<float> drawn = [] {
        std::mt19937 random(1);
        std::uniform_real_distribution<float> number(-2, 2);
        std::vector<float> v(4099);
        for (float& f : v) f = number(random);
        return v;
    }();
    static std::size_t next = 0;
    for (std::int64_t i = 0; i < n; ++i, next = next + 1 < drawn.size() ? next + 1 : 0) p[i] = drawn[next];
}

/// The kernel of a fused node for inputs and outputs of n elements (scalars stay scalars), and memory for them.
class bench {
public:
    bench(const tn::any_tensor& t, std::int64_t n, bool compiled) {
        const tn::node& node = *t.node();
        const auto sized = [&](const tn::tensor_type& type) {
            tn::extents e;
            for (const tn::extent& d : type.extents) e.push_back(d.is_number() ? d : tn::extent(n));
            return tn::tensor_type{type.element, e};
        };
        const auto memory = [&](const tn::tensor_type& type) {
            arrays_.emplace_back(type.element, type.extents);
            fill(static_cast<float*>(arrays_.back().data()), arrays_.back().elements());
            return arrays_.back().data();
        };
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            inputs_.push_back(sized(node.input_type(static_cast<int>(i))));
            std::size_t same = 0; // an operand that occurs twice has one array
            while (!(node.inputs[same] == node.inputs[i])) ++same;
            in_.push_back(same < i ? in_[same] : memory(inputs_.back()));
        }
        for (const tn::tensor_type& type : node.outputs) {
            outputs_.push_back(sized(type));
            out_.push_back(memory(outputs_.back()));
        }
        kernel_ = std::make_unique<tn::detail::fused_kernel>(
            tn::kernel_setup{node,
                             node.attributes,
                             {inputs_.data(), static_cast<int>(inputs_.size())},
                             {outputs_.data(), static_cast<int>(outputs_.size())}},
            tn::decode<tn::fused_op::attributes>(node.attributes), compiled);
        scratch_ = tn::any_array(tn::element_type::uint8, {static_cast<std::int64_t>(kernel_->scratch_bytes()) + 1});
    }
    void run() {
        kernel_->run({in_.data(), out_.data(), static_cast<std::byte*>(scratch_.data()), nullptr});
        benchmark::ClobberMemory();
    }

private:
    std::vector<tn::any_array> arrays_;
    std::vector<tn::tensor_type> inputs_, outputs_;
    std::vector<const void*> in_;
    std::vector<void*> out_;
    std::unique_ptr<tn::detail::fused_kernel> kernel_;
    tn::any_array scratch_;
};

struct graph_of_it {
    tn::tensor<float, vector> a = tn::placeholder<float, vector>("a"), b = tn::placeholder<float, vector>("b"),
                              c = tn::placeholder<float, vector>("c"), x = tn::placeholder<float, vector>("x"), y;
    tn::any_tensor gradients, plus, small;
    graph_of_it() {
        y = relu(a * x + b) * sigmoid(c - x);
        gradients = tn::detail::add_gradients({y}, {a, b, c, x})[0];
        plus = a + b;
        small = tanh(a);
    }
};
graph_of_it& it() {
    static graph_of_it g;
    return g;
}

void forward(benchmark::State& state, std::int64_t n, bool compiled) {
    bench k(it().y, n, compiled);
    for (auto _ : state) k.run();
}
void gradients(benchmark::State& state, std::int64_t n, bool compiled) {
    bench k(it().gradients, n, compiled);
    for (auto _ : state) k.run();
}
void both(benchmark::State& state, std::int64_t n, bool compiled) {
    bench f(it().y, n, compiled), g(it().gradients, n, compiled);
    for (auto _ : state) {
        f.run();
        g.run();
    }
}
void one_node(benchmark::State& state, bool plus) {
    bench k(plus ? it().plus : it().small, 8, false);
    for (auto _ : state) k.run();
}

struct floats {
    std::vector<tn::any_array> v;
    floats(int count, std::int64_t n) {
        for (int i = 0; i < count; ++i) {
            v.emplace_back(tn::element_type::float32, tn::extents(n));
            fill(v.back().data<float>(), n);
        }
    }
    float* operator[](std::size_t i) { return v[i].data<float>(); }
};
void eigen(benchmark::State& state, std::int64_t n) {
    floats f(5, n);
    for (auto _ : state) {
        baseline::eigen_forward(n, f[0], f[1], f[2], f[3], f[4]);
        benchmark::ClobberMemory();
    }
}
void by_hand(benchmark::State& state, std::int64_t n) {
    floats f(10, n);
    for (auto _ : state) {
        baseline::hand_gradients(n, f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9]);
        benchmark::ClobberMemory();
    }
}

} // namespace

int main(int argc, char** argv) {
    std::vector<ratio::row> rows;
    const auto add = [](const std::string& name, auto f, auto... arguments) {
        benchmark::RegisterBenchmark(name.c_str(), f, arguments...);
    };
    for (const std::int64_t n : {1000, 100000, 10000000}) {
        const std::string size = " " + std::to_string(n);
        const auto per = static_cast<double>(n);
        add("forward" + size, forward, n, true);
        add("forward interpreted" + size, forward, n, false);
        add("gradients" + size, gradients, n, true);
        add("gradients interpreted" + size, gradients, n, false);
        add("both" + size, both, n, true);
        add("eigen" + size, eigen, n);
        add("hand" + size, by_hand, n);
        rows.push_back({"P3 forward," + size + ", Eigen", "forward" + size, "eigen" + size, 1.0, per, "ns"});
        rows.push_back({"   interpreted", "forward interpreted" + size, "eigen" + size, 0, per, "ns"});
        rows.push_back(
            {"P4 four gradients," + size + ", by hand with y", "gradients" + size, "hand" + size, 0.9, per, "ns"});
        rows.push_back({"   interpreted", "gradients interpreted" + size, "hand" + size, 0, per, "ns"});
        rows.push_back({"   y, then four gradients", "both" + size, "hand" + size, 0, per, "ns"});
    }
    add("a node of 8: tanh", one_node, false);
    add("a node of 8: +", one_node, true);
    rows.push_back({"P2 a node of 8 floats, interpreted: tanh", "a node of 8: tanh", "", 0, 1, "ns"});
    rows.push_back({"   a node of 8 floats, interpreted: +", "a node of 8: +", "", 0, 1, "ns"});
    std::printf("by hand: %s\n", baseline::hand_gradients_kind());
    return ratio::run(argc, argv, rows);
}
