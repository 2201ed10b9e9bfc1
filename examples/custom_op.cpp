// An op written outside of the library, as docs/adding-an-op.md teaches: the running sum along the last axis.
#include <tenon/tenon.hpp>

#include <cmath>
#include <cstdio>
#include <memory>

namespace tn = tenon;

/// y[.., i] = x[.., 0] + ... + x[.., i], or from the other end with `reverse`. Element types float and double.
struct running_sum_op {
    static constexpr const char* name = "running_sum";

    struct attributes {
        bool reverse = false;
        static constexpr void fields(auto&& field) { field("reverse", &attributes::reverse); }
        friend constexpr bool operator==(const attributes&, const attributes&) = default;
    };

    // The rule: asked by the compiler, by the graph, and by the planner.
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) {
        if (in.size() != 1) return tn::fault::expects_more_operands;
        if (in[0].element != tn::element_type::float32 && in[0].element != tn::element_type::float64)
            return tn::fault::element_type_not_supported;
        if (in[0].extents.rank() < 1) return tn::fault::rank_too_low;
        return in[0];
    }
    // The gradient of a running sum is the running sum of the gradient, from the other end.
    static void gradient(tn::gradient_context& g) {
        const auto a = g.attributes<attributes>();
        g.set(0, tn::add<running_sum_op>({.reverse = !a.reverse}, {g.output_gradient()}));
    }
    static tn::kernel_pointer prepare(const tn::kernel_setup& s);
};

/// The function users call.
template <bool Reverse = false, tn::OperandOrIllShaped X> auto running_sum(const X& x) {
    return tn::apply_op<running_sum_op, running_sum_op::attributes{.reverse = Reverse}>(x);
}

/// Registers the op, so that graphs that are read from files know it too.
inline const tn::op_definition& running_sum_definition = tn::definition_of<running_sum_op>();

// The kernel: made once for fixed sizes, run in every step.
template <class T> struct running_sum_kernel final : tn::kernel {
    explicit running_sum_kernel(const tn::kernel_setup& s)
        : reverse(s.attrs.get<std::int64_t>("reverse") != 0), columns(s.inputs[0].extents[s.inputs[0].extents.rank() - 1].size),
          rows(columns == 0 ? 0 : s.inputs[0].extents.elements() / columns) {}

    void run(const tn::kernel_run& r) override {
        for (std::int64_t i = 0; i < rows; ++i) {
            const T* x = r.input<T>(0) + i * columns;
            T* y = r.output<T>(0) + i * columns;
            T sum = 0;
            for (std::int64_t k = 0; k < columns; ++k) {
                const std::int64_t at = reverse ? columns - 1 - k : k;
                sum += x[at];
                y[at] = sum;
            }
        }
    }
    double cost() const override { return static_cast<double>(rows * columns); }
    // Each element is read before it is written, so the result may lie where x lay.
    bool may_share(int, int) const override { return true; }

    bool reverse;
    std::int64_t columns, rows;
};

tn::kernel_pointer running_sum_op::prepare(const tn::kernel_setup& s) {
    if (s.inputs[0].element == tn::element_type::float32) return std::make_unique<running_sum_kernel<float>>(s);
    return std::make_unique<running_sum_kernel<double>>(s);
}

int main() {
    auto x = tn::placeholder<double, tn::shape<2, 4>>("x");
    auto y = running_sum(x);
    auto loss = tn::sum(y * y);
    auto [dx] = tn::gradients(loss, x);

    tn::session sess;
    const tn::array<double, tn::shape<2, 4>> values{{1, 2, 3, 4}, {0.5, -1, 0, 2}};
    const auto [sums, slopes] = sess.run(tn::feed(x, values), y, dx);
    std::printf("running sums: ");
    for (const double v : sums) std::printf(" %g", v);
    std::printf("\n");

    // The gradient beside differences of the loss itself.
    double worst = 0;
    for (int i = 0; i < 8; ++i) {
        constexpr double h = 1e-5;
        auto up = values.copy(), down = values.copy();
        up[i] += h;
        down[i] -= h;
        const double difference = (sess.run(tn::feed(x, up), loss).item() - sess.run(tn::feed(x, down), loss).item()) / (2 * h);
        worst = std::fmax(worst, std::fabs(difference - slopes[i]));
    }
    std::printf("gradient and differences agree to 1e-6: %s\n", worst < 1e-6 ? "yes" : "no");
    return worst < 1e-6 ? 0 : 1;
}
