// Sums over the processes that mpirun has started, and a data-parallel step of the MLP 784-300-100-10, by each way there is.
//     mpirun -n 2 collectives        prints on rank 0 lines "what way median unit"
// collectives.sh runs it, and PyTorch's Gloo (peers/gloo_collectives.py), and prints both sides and their ratio.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <mpi.h>

#include <net/launch/free_ports.hpp>
#include <tenon/mpi/mpi.hpp>
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;

namespace {

using group = std::shared_ptr<tn::collective_group>;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// One collective, waited for as a step does: without a thread's help where it is through at once.
class asked final : public tn::collective {
public:
    void completed(std::exception_ptr why) noexcept override {
        const std::lock_guard lock(guard_);
        failure_ = std::move(why);
        done_ = true;
        changed_.notify_one();
    }
    void sum(const group& g, tn::any_array& of) {
        what = {tn::collective_kind::sum, "x", of.type()};
        value = of.share();
        done_ = false;
        g->begin(*this, {1, 0, 1});
        std::unique_lock lock(guard_);
        changed_.wait(lock, [&] { return done_; });
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    std::mutex guard_;
    std::condition_variable changed_;
    bool done_ = false;
    std::exception_ptr failure_;
};

int rank_of_this = 0;

// The median of what one takes, in microseconds; all processes call it alike.
double median(int times, int each, const std::function<void()>& what) {
    for (int i = 0; i < each; ++i) what();
    std::vector<double> all;
    for (int t = 0; t < times; ++t) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double began = now();
        for (int i = 0; i < each; ++i) what();
        all.push_back((now() - began) / each * 1e6);
    }
    std::nth_element(all.begin(), all.begin() + times / 2, all.end());
    return all[static_cast<std::size_t>(times / 2)];
}
void say(const char* what, const char* way, double value, const char* unit) {
    if (rank_of_this == 0) std::printf("%s %s %.6g %s\n", what, way, value, unit);
    std::fflush(stdout);
}

void sums(const char* way, const group& g) {
    for (const auto& [what, bytes, times, each] :
         {std::tuple("sum_1KB", 1 << 10, 21, 200), std::tuple("sum_64MB", 64 << 20, 9, 1)}) {
        tn::any_array x = tn::any_array::zeros(tn::element_type::float32, tn::extents(bytes / 4));
        asked a;
        say(what, way, median(times, each, [&] { a.sum(g, x); }), "us");
    }
}

// Batch 64 in each process, as DistributedDataParallel's other side has it.
void train(const char* way, const group& g) {
    const tn::graph own;
    const tn::graph_scope scope(own);
    const auto x = tn::placeholder<float, tn::shape<64, 784>>("x");
    const auto y = tn::placeholder<std::int32_t, tn::shape<64>>("y");
    namespace nn = tn::nn;
    auto model = nn::sequential(nn::dense<300>(nn::relu), nn::dense<100>(nn::relu), nn::dense<10>());
    tn::mirrored_strategy mirrored(g);
    const auto losses = mirrored.run([&](auto rows, auto labels) { return nn::cross_entropy(model(rows), labels); },
                                     mirrored.distribute(x), mirrored.distribute(y));
    const auto made = mirrored.minimize(tn::gradient_descent(0.01f), losses);
    tn::session sess;
    sess.run(tn::initialize_variables());
    tn::array<float, tn::shape<64, 784>> images;
    tn::array<std::int32_t, tn::shape<64>> labels;
    std::uint32_t random = 1;
    for (std::int64_t i = 0; i < 64 * 784; ++i)
        images.data()[i] = static_cast<float>((random = random * 1664525u + 1013904223u) >> 8) / 16777216.0f;
    for (std::int64_t i = 0; i < 64; ++i) labels.data()[i] = static_cast<std::int32_t>(i % 10);
    const auto step = sess.callable(tn::feeds(x, y), tn::fetches(made.train));
    say("mlp_step", way, median(9, 50, [&] { step(images, labels); }), "us");
}

} // namespace

int main(int argc, char** argv) {
    const std::string only = argc > 1 ? argv[1] : "";
    tn::session_options o;
    o.intra_op_threads = 1; // the first session of a process decides
    (void)tn::session(o).run(tn::constant(1.0f));
    const group by_mpi = tn::mpi::join();
    rank_of_this = by_mpi->rank();
    int size = by_mpi->size();

    if (only.empty() || only == "sums") {
        for (const auto& [what, bytes, times, each] :
             {std::tuple("sum_1KB", 1 << 10, 21, 200), std::tuple("sum_64MB", 64 << 20, 9, 1)}) {
            std::vector<float> in(static_cast<std::size_t>(bytes) / 4), out(in.size());
            say(what, "MPI_Allreduce",
                median(times, each,
                       [&] {
                           MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_FLOAT, MPI_SUM,
                                         MPI_COMM_WORLD);
                       }),
                "us");
        }
        sums("tenon_mpi", by_mpi);
    }
    if (only.empty() || only == "mlp") train("tenon_mpi", by_mpi);

    // The same between servers of these processes.
    std::vector<int> ports(static_cast<std::size_t>(size));
    if (rank_of_this == 0) ports = tn::net::free_ports("127.0.0.1", size);
    MPI_Bcast(ports.data(), size, MPI_INT, 0, MPI_COMM_WORLD);
    std::vector<std::string> at;
    for (const int p : ports) at.push_back("127.0.0.1:" + std::to_string(p));
    tn::server server(tn::cluster({{"worker", at}}), "worker", rank_of_this, {.intra_op_threads = 1});
    {
        const group by_links = server.processes();
        if (only.empty() || only == "sums") sums("tenon_links", by_links);
        if (only.empty() || only == "mlp") train("tenon_links", by_links);
    }
    return 0;
}
