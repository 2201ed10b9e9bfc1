// An op of your own: the sum so far along the last axis. docs/adding-an-op.md goes through this file step by step.
//
//     y[..., j] = x[..., 0] + ... + x[..., j]        exclusive: without x[..., j]; reversed: from the end
//
// Shapes: as x. Elements: float, double, int32, int64.

#include <cmath>
#include <cstdio>
#include <memory>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/graph/json.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// What the op is called, what can be said to it, and which shapes it takes.
struct cumulative_sum_op {
    static constexpr const char* name = "cumulative_sum";
    struct attributes {
        bool exclusive = false;
        bool reversed = false;
        friend constexpr bool operator==(const attributes&, const attributes&) = default;
    };
    static constexpr bool takes(tn::element_type e) {
        return e == tn::element_type::float32 || e == tn::element_type::float64 || e == tn::element_type::int32 ||
               e == tn::element_type::int64;
    }
    static constexpr char what_it_takes[] = "elements are float, double, int32 or int64";
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) {
        if (in.size() != 1) return tn::fault::expects_more_operands;
        if (!takes(in[0].element)) return what_it_takes;
        if (in[0].extents.rank() == 0) return tn::fault::rank_too_low;
        return in[0];
    }
    static void gradient(tn::gradient_context& g);
    static tn::kernel_pointer prepare(const tn::kernel_setup& s);
};

// Graphs that are read from JSON find the op by its name.
inline const tn::op_definition& cumulative_sum_definition = tn::definition_of<cumulative_sum_op>();

// The function that models call.
inline constexpr cumulative_sum_op::attributes exclusive{true, false}, reversed{false, true};

template <cumulative_sum_op::attributes A = cumulative_sum_op::attributes{}, tn::OperandOrIllShaped X>
auto cumulative_sum(const X& x) {
    return tn::apply_op<cumulative_sum_op, A>(x);
}

// x[k] is in y[j] for all j >= k, so its gradient is the sum of theirs: from the other end.
void cumulative_sum_op::gradient(tn::gradient_context& g) {
    attributes a = g.attributes<attributes>();
    a.reversed = !a.reversed;
    g.set(0, tn::add<cumulative_sum_op>(a, {g.output_gradient()}));
}

// Made once for fixed sizes, run in every step.
template <class T> struct cumulative_sum_kernel final : tn::kernel {
    explicit cumulative_sum_kernel(const tn::kernel_setup& s) :
        how(tn::decode<cumulative_sum_op::attributes>(s.attrs)) {
        const tn::extents& sizes = s.inputs[0].extents;
        length = sizes[sizes.rank() - 1].size;
        for (int i = 0; i + 1 < sizes.rank(); ++i) rows *= sizes[i].size;
    }

    void run(const tn::kernel_run& r) override {
        const T* x = r.input<T>(0);
        T* y = r.output<T>(0);
        const std::int64_t worth_a_thread = 20000 / std::max<std::int64_t>(1, length); // rows
        tn::parallel_for(r.pool, rows, worth_a_thread, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) sum_row(x + row * length, y + row * length);
        });
    }

    void sum_row(const T* x, T* y) const {
        T total = 0;
        for (std::int64_t i = 0; i < length; ++i) {
            const std::int64_t at = how.reversed ? length - 1 - i : i;
            const T here = x[at]; // before y is written: both may lie in one place
            y[at] = how.exclusive ? total : total + here;
            total += here;
        }
    }

    double cost() const override { return static_cast<double>(rows * length); } // nanoseconds on one thread
    bool may_share(int, int) const override { return true; }                    // y may be written over x

    cumulative_sum_op::attributes how;
    std::int64_t rows = 1, length = 0;
};

tn::kernel_pointer cumulative_sum_op::prepare(const tn::kernel_setup& s) {
    switch (s.inputs[0].element) {
    case tn::element_type::float32: return std::make_unique<cumulative_sum_kernel<float>>(s);
    case tn::element_type::float64: return std::make_unique<cumulative_sum_kernel<double>>(s);
    case tn::element_type::int32: return std::make_unique<cumulative_sum_kernel<std::int32_t>>(s);
    default: return std::make_unique<cumulative_sum_kernel<std::int64_t>>(s);
    }
}

// The gradient against central differences, in double.
double largest_difference(tn::session& sess) {
    const auto x = tn::placeholder<double, tn::shape<batch, 4>>("x");
    const auto weights = tn::constant({1.0, -2.0, 0.5, 3.0}); // so that the gradient is not the same everywhere
    const auto loss = sum(square(cumulative_sum<exclusive>(x)) * weights);
    const auto [dx] = gradients(loss, x);

    tn::array<double, tn::shape<batch, 4>> v{{0.3, -1.2, 0.8, 2.0}, {1.1, 0.4, -0.6, 0.9}};
    const auto exact = sess.run(tn::feed(x, v), dx);
    const auto loss_at = sess.callable(tn::feeds(x), tn::fetches(loss));
    double largest = 0;
    for (std::int64_t i = 0; i < v.size(); ++i) {
        constexpr double step = 1e-5;
        const double here = v[i];
        v[i] = here + step;
        const double above = std::get<0>(loss_at(v)).item();
        v[i] = here - step;
        const double below = std::get<0>(loss_at(v)).item();
        v[i] = here;
        largest = std::max(largest, std::fabs((above - below) / (2 * step) - exact[i]));
    }
    return largest;
}

int main() {
    const auto x = tn::constant({{1.0f, 2.0f, 3.0f, 4.0f}, {10.0f, 20.0f, 30.0f, 40.0f}});
    const auto so_far = cumulative_sum(x);
    const auto before = cumulative_sum<exclusive>(x);
    const auto to_come = cumulative_sum<reversed>(x);

    tn::session sess;
    const auto [a, b, c] = sess.run(so_far, before, to_come);
    std::printf("sums so far:\n%s\nbefore each:\n%s\nto come:\n%s\n", to_string(a).c_str(), to_string(b).c_str(),
                to_string(c).c_str());

    // cumulative_sum(tn::constant(1.0f));   // does not compile: cumulative_sum: rank is too low: []

    const double difference = largest_difference(sess);
    std::printf("gradient and central differences agree to %.0e\n", std::fmax(difference, 1e-9));

    // As JSON and back: the op is known by its name.
    const tn::graph read = tn::graph_from_json(tn::to_json(tn::graph::current()));
    tn::session again(read);
    const tn::any_array same = again.run(read.tensor(so_far.name()));
    std::printf("from a graph that was written and read: %s\n", same == a ? "the same sums" : "other sums");
    return difference < 1e-6 && same == a && a(1, 3) == 100 && b(1, 3) == 60 && c(0, 0) == 10 ? 0 : 1;
}
