// The order of a step is that of its data, and of what the program says beside: x and y read neither a nor b, but run
// after both. Prints z, and a trace of the step: a, b, x, y and z, in the order in which they ran.
//
//     z = 7
//          begins       takes  row             node (op)
//            0.00        0.11  CPU:0 thread 0  constant (constant)
//            2.58        0.52  CPU:0 thread 0  add (add)
//            3.57        0.05  CPU:0 thread 0  constant_1 (constant)
//            3.94        0.03  CPU:0 thread 0  constant_2 (constant)
//            4.38        0.33  CPU:0 thread 0  add_1 (add)
//
// With the name of a file, the trace is also written there, for ui.perfetto.dev or chrome://tracing.
#include <tenon/tenon.hpp>

#include <cstdio>

namespace tn = tenon;

namespace {

// x + y, where both wait for a and b.
tn::tensor<float, tn::shape<>> sum_after(const tn::any_tensor& a, const tn::any_tensor& b) {
    const tn::control_dependencies after(a, b);
    const auto x = tn::constant(3.0f);
    const auto y = tn::constant(4.0f);
    return x + y;
}

} // namespace

int main(int argc, char** argv) {
    const auto a = tn::constant(1.0f);
    const auto b = a + 2.0f;
    const auto z = sum_after(a, b);

    tn::session sess({.fold_constants = false, .fuse = false}); // runs the graph as it is written
    tn::trace seen;
    sess.set_trace(&seen);
    std::printf("z = %g\n", static_cast<double>(sess.run(z).item()));
    sess.set_trace(nullptr);
    std::printf("%s", seen.to_text().c_str());
    if (argc > 1) seen.save(argv[1]);
    return 0;
}
