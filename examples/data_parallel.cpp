// One model, trained by as many processes as there are, each on its own rows of the batch: what one process would train, to rounding.
//
//     data_parallel                 alone
//     mpirun -n 4 data_parallel     four processes, by MPI (tenon::mpi)
//     tenon launch --worker 4 -- data_parallel     four processes, by Tenon's own links (tenon::net)
//
// links: tenon::net
// may link: tenon::mpi

#include <tenon/tenon.hpp>

#include <cmath>
#include <cstdio>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

namespace {

constexpr int all_rows = 240, classes = 3;

// Arms of a spiral, of which each process has its own rows.
struct points {
    points(int rank, int processes) :
        rows((all_rows - rank + processes - 1) / processes), at(tn::extents{rows, 2}), arm(tn::extents{rows}) {
        for (int k = 0; k < rows; ++k) {
            const int row = rank + k * processes;
            const float along = static_cast<float>(row / classes) / static_cast<float>(all_rows / classes);
            const float angle = 4 * along + 2.1f * static_cast<float>(row % classes);
            at(k, 0) = along * std::cos(angle);
            at(k, 1) = along * std::sin(angle);
            arm(k) = row % classes;
        }
    }
    int rows;
    tn::array<float> at;
    tn::array<std::int32_t> arm;
};

} // namespace

int main() {
    const auto together = tn::processes();    // 1: who trains
    tn::mirrored_strategy mirrored(together); // 2: all of them
    if (together->rank() == 0) std::printf("%s\n", mirrored.explained().c_str());

    auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    auto y = tn::placeholder<std::int32_t, tn::shape<batch>>("y");
    auto model = tn::nn::sequential(tn::nn::dense<32>(tn::nn::tanh), tn::nn::dense<classes>());
    auto losses = mirrored.run([&](auto rows, auto labels) { return tn::nn::cross_entropy(model(rows), labels); },
                               mirrored.distribute(x), mirrored.distribute(y)); // 3: each its own rows
    auto [train, loss] = mirrored.minimize(tn::momentum(0.5, 0.9), losses);

    tn::session sess;
    sess.run(tn::initialize_variables());
    auto step = sess.callable(tn::feeds(x, y), tn::fetches(train, loss));
    const points own(together->rank(), together->size());
    float last = 0;
    for (int i = 0; i <= 300; ++i) {
        auto [l] = step(own.at, own.arm);
        last = l.item();
        if (i % 100 == 0 && together->rank() == 0) std::printf("step %3d  loss %.4f\n", i, static_cast<double>(last));
    }
    return last < 0.3f ? 0 : 1;
}
