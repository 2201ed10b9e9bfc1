// Memory (the lines below PERFORMANCE's targets): what a step's arena takes beside the lower bound given by the largest
// set of tensors that live at one time, and what a process holds after a thousand steps and after a million.

#include <cstdio>
#include <fstream>

#include <unistd.h>

#include "models.hpp"

namespace tn = tenon;

namespace {

void print(const char* what, const tn::step_report& r) {
    const double arena = static_cast<double>(r.arena_bytes), bound = static_cast<double>(r.lower_bound);
    std::printf("%-44s %9.1f KiB %9.1f KiB %9.3f %9.2f\n", what, arena / 1024, bound / 1024,
                bound > 0 ? arena / bound : 1.0, 1.1);
}

template <class Model> void training_step(const char* what) {
    Model m(1);
    const typename Model::batch data;
    print(what, m.session.report(tn::feed(m.x, data.images), tn::feed(m.y, data.labels), m.train, m.loss));
}

void chain() {
    using eight = tn::shape<4096>;
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto x = tn::placeholder<float, eight>("x");
    tn::tensor<float, eight> h = x;
    for (int i = 0; i < 1000; ++i) h = tanh(h);
    const auto [dx] = tn::gradients(tn::sum(h), x);
    tn::session_options o = models::with_threads(1);
    const tn::array<float, eight> value;
    tn::session s(g, o);
    print("chain of 1,000 tanh[4096] with gradient", s.report(tn::feed(x, value), dx));
    o.fuse = false;
    tn::session plain(g, o);
    print("the same, nodes not fused", plain.report(tn::feed(x, value), dx));
}

double resident_kib() {
    std::ifstream statm("/proc/self/statm");
    long whole = 0, resident = 0;
    statm >> whole >> resident;
    return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
}

void many_steps() {
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto x = tn::placeholder<float, tn::shape<8>>("x");
    const auto v = tn::variable<float, tn::shape<8>>("v", tn::zeros());
    const auto update = v.assign_add(x * 0.5f);
    const auto norm = tn::sum(tn::square(v));
    tn::session s(g, models::with_threads(1));
    s.run(tn::initialize_variables());
    const auto step = s.callable(tn::feeds(x), tn::fetches(update, norm));
    const tn::array<float, tn::shape<8>> value{1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < 1000; ++i) step(value);
    const double early = resident_kib();
    for (int i = 0; i < 999000; ++i) step(value);
    const double late = resident_kib();
    std::printf("%-44s %9.1f KiB %9.1f KiB %9.3f %9.2f\n", "resident after 1,000,000 steps / after 1,000", late, early,
                late / early, 1.0);
}

} // namespace

int main() {
    std::printf("%-44s %13s %13s %9s %9s\n", "", "Tenon", "other", "ratio", "target");
    training_step<models::mlp<128>>("MLP step, batch 128: arena / bound");
    training_step<models::conv<64>>("convolutional step, batch 64");
    chain();
    many_steps();
}
