// Processes that compute together, as a launcher has started them: by MPI, or by links between the tasks of a cluster.
//
//   collectives METHOD sums|train|differ|limit|lost|exit|exits|dials
//
// Each prints a line that begins with its rank.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include <tenon/net/net.hpp>
#include <tenon/ops/collective/collective.hpp>
#include <tenon/tenon.hpp>

#include "own_graph.hpp"

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

namespace {

using group = std::shared_ptr<tn::collective_group>;
int rank_of_this = -1;

void say(const std::string& line) {
    std::printf("%d %s\n", rank_of_this, line.c_str());
    std::fflush(stdout);
}
[[noreturn]] void wrong(const std::string& what) {
    say("WRONG: " + what);
    std::exit(1);
}

std::uint64_t hash_of(const tn::any_array& a, std::uint64_t h = 14695981039346656037u) {
    for (std::size_t i = 0; i < a.bytes(); ++i)
        h = (h ^ static_cast<const unsigned char*>(a.data())[i]) * 1099511628211u;
    return h;
}

// What this process has of collective number k, and any other.
tn::any_array value_of(tn::element_type element, std::int64_t n, int number, int rank) {
    std::mt19937 draw(static_cast<unsigned>(number * 131 + rank));
    tn::any_array a(element, tn::extents(n));
    for (std::int64_t i = 0; i < n; ++i) {
        const int v = static_cast<int>(draw() % 1999) - 999;
        if (element == tn::element_type::float32) a.data<float>()[i] = static_cast<float>(v) / 7;
        else if (element == tn::element_type::float64) a.data<double>()[i] = v / 7.0;
        else if (element == tn::element_type::bfloat16)
            a.data<tn::bfloat16>()[i] = static_cast<tn::bfloat16>(static_cast<float>(v) / 64);
        else if (element == tn::element_type::int32) a.data<std::int32_t>()[i] = v * 1000003;
        else a.data<std::int64_t>()[i] = v * std::int64_t{1000000000039};
    }
    return a;
}
double number_at(const tn::any_array& a, std::int64_t i) {
    switch (a.element()) {
    case tn::element_type::float32: return static_cast<double>(a.data<float>()[i]);
    case tn::element_type::float64: return a.data<double>()[i];
    case tn::element_type::bfloat16: return static_cast<double>(static_cast<float>(a.data<tn::bfloat16>()[i]));
    case tn::element_type::int32: return a.data<std::int32_t>()[i];
    default: return static_cast<double>(a.data<std::int64_t>()[i]);
    }
}

// Many collectives of one graph in one step; each is compared with what one process computes of all values.
void sums(const group& g) {
    const tn::element_type types[] = {tn::element_type::float32, tn::element_type::float64, tn::element_type::bfloat16,
                                      tn::element_type::int32, tn::element_type::int64};
    std::mt19937 draw(5);
    struct asked {
        tn::collective_kind kind;
        tn::element_type element;
        std::vector<std::int64_t> elements; // by rank
        tn::any_tensor result;
    };
    std::vector<asked> all;
    for (int k = 0; k < 40; ++k) {
        asked a;
        a.kind = static_cast<tn::collective_kind>(k % 4);
        a.element = types[draw() % 5];
        if (a.kind == tn::collective_kind::mean) a.element = types[draw() % 3];
        const std::int64_t sizes[] = {0, 1, 100, 4000, 70000, 300000};
        const std::int64_t n = sizes[draw() % 6];
        for (int r = 0; r < g->size(); ++r)
            a.elements.push_back(a.kind == tn::collective_kind::gather ? n / (r + 1) : n);
        a.result = tn::add_collective(
            g, a.kind,
            tn::untyped::constant(value_of(a.element, a.elements[static_cast<std::size_t>(g->rank())], k, g->rank())));
        all.push_back(std::move(a));
    }
    std::vector<tn::any_tensor> results;
    for (const asked& a : all) results.push_back(a.result);
    tn::session sess;
    std::uint64_t hash = 0;
    for (int run = 0; run < 3; ++run) {
        const auto values = sess.run_untyped({}, results);
        std::uint64_t h = 1;
        for (std::size_t k = 0; k < all.size(); ++k) {
            const asked& a = all[k];
            h = hash_of(values[k], h);
            std::vector<tn::any_array> of;
            for (int r = 0; r < g->size(); ++r)
                of.push_back(value_of(a.element, a.elements[static_cast<std::size_t>(r)], static_cast<int>(k), r));
            std::int64_t at = 0;
            if (a.kind == tn::collective_kind::gather) {
                for (const auto& v : of)
                    for (std::int64_t i = 0; i < v.elements(); ++i)
                        if (number_at(values[k], at++) != number_at(v, i)) wrong("gather " + std::to_string(k));
                continue;
            }
            for (std::int64_t i = 0; i < of[0].elements(); ++i) {
                double expected = 0, most = 0;
                for (const auto& v : of) {
                    expected += number_at(v, i);
                    most += std::abs(number_at(v, i));
                }
                if (a.kind == tn::collective_kind::broadcast) expected = number_at(of[0], i);
                if (a.kind == tn::collective_kind::mean) expected /= g->size();
                const double exact = a.element == tn::element_type::float64    ? 1e-14
                                     : a.element == tn::element_type::bfloat16 ? 1e-2
                                                                               : 1e-6;
                if (a.element == tn::element_type::int32 && a.kind == tn::collective_kind::sum)
                    expected =
                        static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(expected)));
                if (std::abs(number_at(values[k], i) - expected) > most * exact)
                    wrong("number " + std::to_string(k) + ", element " + std::to_string(i) + ": " +
                          std::to_string(number_at(values[k], i)) + ", not " + std::to_string(expected));
            }
        }
        if (run > 0 && h != hash) wrong("another run has other bits");
        hash = h;
    }
    say("the same " + std::to_string(hash));
}

tn::array<float> numbers(const tn::extents& sizes, int seed) {
    tn::any_array a(tn::element_type::float32, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i)
        a.data<float>()[i] = std::sin(static_cast<float>(12 * i + 7 * seed + 1));
    return tn::array<float>(std::move(a));
}

// The network of the benchmarks; `g` empty: alone, on the joined batch.
std::vector<tn::any_array> train(const group& g, std::vector<float>& said) {
    const own_graph own;
    const auto x = tn::placeholder<float, tn::shape<batch, 100>>("x");
    const auto y = tn::placeholder<float, tn::shape<batch, 10>>("y");
    const auto loss_of = [](const auto& rows, const auto& wanted) {
        const auto w1 = tn::variable<float, tn::shape<100, 3000>>("w1", tn::normal(0, 0.05, 3));
        const auto b1 = tn::variable<float, tn::shape<3000>>("b1", tn::zeros());
        const auto w2 = tn::variable<float, tn::shape<3000, 10>>("w2", tn::normal(0, 0.05, 4));
        return tn::nn::mean_squared_error(matmul(tanh(matmul(rows, w1) + b1), w2), wanted);
    };
    const int rows = 60, processes = g ? g->size() : 1, rank = g ? g->rank() : 0;
    const int begin = rows * rank / processes, end = rows * (rank + 1) / processes;
    tn::session sess;
    const auto run = [&](const auto& step, const auto& loss) {
        sess.run(tn::initialize_variables());
        for (int i = 0; i < 5; ++i)
            said.push_back(
                sess.run(tn::feed(x, numbers(tn::extents(rows, 100), i).untyped().slice(begin, end).copy()),
                         tn::feed(y, numbers(tn::extents(rows, 10), i + 90).untyped().slice(begin, end).copy()), step,
                         loss)
                    .item());
        return sess.run_untyped({}, own.collection(tn::global_variables));
    };
    if (!g) {
        const auto loss = loss_of(x, y);
        return run(tn::momentum(0.05, 0.9).minimize(loss), loss);
    }
    tn::mirrored_strategy mirrored(g);
    const auto losses =
        mirrored.run([&](auto a, auto b) { return loss_of(a, b); }, mirrored.distribute(x), mirrored.distribute(y));
    const auto made = mirrored.minimize(tn::momentum(0.05, 0.9), losses);
    return run(made.train, made.loss);
}

void train_and_compare(const group& g) {
    std::vector<float> alone_said, said;
    const auto alone = train(nullptr, alone_said);
    const auto values = train(g, said);
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!all_close(values[i], alone[i], 1e-3, 1e-5))
            wrong("variable " + std::to_string(i) + " is not that of one process");
    for (std::size_t i = 0; i < said.size(); ++i)
        if (std::abs(said[i] - alone_said[i]) > 1e-4f) wrong("the loss is not that of one process");
    std::uint64_t h = 1;
    for (const auto& v : values) h = hash_of(v, h);
    say("the same " + std::to_string(h));
}

tn::any_tensor total(const group& g, std::int64_t n, const char* name) {
    return tn::add_collective(g, tn::collective_kind::sum,
                              tn::untyped::constant(tn::any_array::zeros(tn::element_type::float32, tn::extents(n))),
                              {}, name);
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const std::string method = argv[1], what = argv[2];
    try {
        std::optional<tn::server> server;
        if (method == "links") {
            const auto source = tn::net::resolve_cluster(tn::net::take_cluster_flags(argc, argv));
            server.emplace(source.tasks, source.job, source.task);
        }
        // "joins": the program makes no server, and names no way
        const group g = tn::processes({.method = method == "joins" ? "" : method, .seconds = 30});
        rank_of_this = g->rank();
        if (what == "sums") sums(g);
        else if (what == "train") train_and_compare(g);
        else if (what == "explain") say(g->explained());
        else if (what == "differ") {
            const auto other = total(g, g->rank() == 1 ? 40001 : 40000, "total");
            tn::session sess;
            (void)sess.run(other);
        } else if (what == "limit") {
            const auto one = total(g, 400, "total");
            tn::session sess;
            (void)sess.run(one);
            if (g->rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(3));
            (void)sess.run_for(1, one);
        } else if (what == "lost") {
            const auto one = total(g, 400000, "total");
            tn::session sess;
            for (int i = 0;; ++i) {
                (void)sess.run(one);
                if (i == 20 && g->rank() == 1) std::raise(SIGKILL);
            }
        } else if (what == "exit" || what == "exits") { // of one, or of all, while they have their group
            const auto one = total(g, 400000, "total");
            tn::session sess;
            for (int i = 0; i < 20; ++i) (void)sess.run(one);
            if (what == "exits" || g->rank() == 1) std::exit(0);
            for (;;) (void)sess.run(one);
        } else if (what ==
                   "dials") { // exits while threads of its server and of its sessions shake hands, and others compute
            const auto own = tn::server::create_local_server();
            const auto dial = [&] { (void)tn::session(own.target()).list_logical_devices(); };
            for (int k = 0; k < 4; ++k)
                std::thread([dial] {
                    for (;;) dial();
                }).detach();
            const auto compute = [](const auto& x) {
                std::thread([x, y = matmul(x, x)] {
                    tn::session sess;
                    sess.run(tn::initialize_variables());
                    for (;;) (void)sess.run(y);
                }).detach();
            };
            compute(tn::variable<float, tn::shape<24, 24>>("small", tn::zeros()));
            compute(tn::variable<float, tn::shape<300, 300>>("large", tn::zeros()));
            for (int i = 0; i < 20; ++i) dial();
            std::exit(0);
        } else return 2;
    } catch (const std::exception& e) {
        say(std::string("failed: ") + e.what());
        return 3;
    }
    return 0;
}
