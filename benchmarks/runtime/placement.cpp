// TOUR 6, A^n + B^n, where each product is work for a device: on one simulated GPU, and a branch on each of two, with
// copies that take no longer than the machine needs. On two cores two should take at most 0.6 of the time of one. Then
// the same program with nothing pinned: placed by the rules, and by the times of a few steps.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/runtime/device/simulated_gpu.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/runtime/trace/cost_measurements.hpp>

namespace tn = tenon;

namespace {

using square = tn::shape<384, 384>;
using matrix = tn::tensor<float, square>;
constexpr int exponent = 10;
constexpr std::size_t memory = 256 << 20;

// X^n, for a variable X. An empty device pins nothing.
matrix power(const std::string& name, const std::string& device) {
    const auto there = tn::on(tn::device_name(device));
    const auto x = tn::variable<float, square>(name, tn::glorot_uniform(1));
    matrix p = x;
    for (int i = 1; i < exponent; ++i) p = tn::matmul(p, x);
    return p;
}

tn::any_tensor sum_of_powers(const std::string& of_a, const std::string& of_b) {
    const matrix a = power("a", of_a), b = power("b", of_b);
    const auto there = tn::on(tn::device_name(of_a));
    return matrix(a + b);
}

tn::session_options two_gpus() { return {.gpus = tn::simulated_gpu(2, memory)}; }

// A graph, where it is placed, and the times of its steps.
class side {
public:
    side(const std::string& of_a, const std::string& of_b, const tn::session_options& o) {
        const tn::graph_scope in(graph_);
        sum_ = sum_of_powers(of_a, of_b);
        session_ = std::make_unique<tn::session>(graph_, o);
        explanation_ = session_->explain_placement(sum_);
        session_->run(tn::initialize_variables());
        step();
    }
    void step() { (void)session_->run(sum_); }
    void timed_step() {
        const auto begin = std::chrono::steady_clock::now();
        step();
        times_.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    double median() {
        const auto middle = times_.begin() + static_cast<std::ptrdiff_t>(times_.size() / 2);
        std::nth_element(times_.begin(), middle, times_.end());
        return *middle;
    }
    tn::session& session() { return *session_; }
    const tn::placement_explanation& explanation() const { return explanation_; }

private:
    tn::graph graph_;
    tn::any_tensor sum_;
    std::unique_ptr<tn::session> session_;
    tn::placement_explanation explanation_;
    std::vector<double> times_;
};

void compare(const char* title, side& one, side& two, double target) {
    constexpr int rounds = 41;
    for (int round = 0; round < rounds; ++round) {
        one.timed_step();
        two.timed_step();
    }
    std::printf("%-44s %9.3f ms %9.3f ms %9.2f %9.2f\n", title, one.median() * 1e3, two.median() * 1e3,
                two.median() / one.median(), target);
}

} // namespace

int main() {
    std::printf("%-44s %12s %12s %9s %9s\n", "A^10 + B^10, 384 x 384", "one", "other", "ratio", "target");
    side one("/gpu:0", "/gpu:0", two_gpus()), two("/gpu:0", "/gpu:1", two_gpus());
    compare("pinned: one simulated GPU, two", one, two, 0.6);

    side by_rules("", "", two_gpus());
    const auto measured = std::make_shared<tn::cost_measurements>();
    for (tn::session* s : {&by_rules.session(), &two.session()}) s->set_measurements(measured.get());
    for (int i = 0; i < 9; ++i) {
        by_rules.step();
        two.step(); // has the links' times, too
    }
    for (tn::session* s : {&by_rules.session(), &two.session()}) s->set_measurements(nullptr);
    tn::session_options o = two_gpus();
    o.cost_measurements = measured;
    side by_costs("", "", o);
    compare("not pinned: by the rules, by measured costs", by_rules, by_costs, 0.6);
    std::printf("%s\n", by_costs.explanation().cost.c_str());
}
