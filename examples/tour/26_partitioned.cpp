// links: tenon::net
// A table of embeddings in parts on two parameter servers, trained by its rows, of which only those travel that a step names.
// The checkpoint is restored into a table in one piece.
//
//     table/part_0: /job:ps/replica:0/task:0/device:CPU:0
//     table/part_1: /job:ps/replica:0/task:1/device:CPU:0
//     loss 0.000 after 50 steps
//     restored in one piece: the same
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace tn = tenon;
inline constexpr struct batch_size : tn::dim<"batch"> {} batch;
constexpr int words = 10001;

int main() {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("tenon-tour-26-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    // Ports that are free: servers that had them give them back.
    std::vector<std::string> at;
    {
        const tn::server a = tn::server::create_local_server(), b = tn::server::create_local_server(),
                         c = tn::server::create_local_server();
        at = {a.address(), b.address(), c.address()};
    }
    const tn::cluster cluster({{"ps", {at[0], at[1]}}, {"worker", {at[2]}}});
    tn::server_options options{.files = folder.string()};
    const tn::server ps0(cluster, "ps", 0, options), ps1(cluster, "ps", 1, options),
        worker(cluster, "worker", 0, options);

    const auto ids = tn::placeholder<std::int32_t, tn::shape<batch>>("ids");
    const auto placed = tn::on(tn::replica_device_setter(cluster));
    const auto table =
        tn::variable<float, tn::shape<words, 16>>("table", tn::uniform(-0.5, 0.5, 7), {.partition = {.parts = 2}});
    const auto rows = tn::gather(table, ids); // float[batch, 16]
    const auto loss = tn::mean(tn::square(tn::sum<1>(rows) - 1.0f));
    const auto train = tn::adagrad(0.1f).minimize(loss);

    tn::session sess(worker.target());
    sess.run(tn::initialize_variables());
    const auto some = tn::array<std::int32_t, tn::shape<batch>>{3, 10000, 5000, 3};
    for (const auto& n : sess.explain_placement(tn::feed(ids, some), loss).nodes)
        if (n.op == "variable") std::printf("%s: %s\n", n.name.c_str(), tn::to_string(n.device).c_str());
    for (int i = 0; i < 50; ++i) sess.run(tn::feed(ids, some), train);
    std::printf("loss %.3f after 50 steps\n", static_cast<double>(sess.run(tn::feed(ids, some), loss)()));
    tn::saver("model").save(sess, 50);
    const auto trained = sess.run(table);

    const tn::graph other;
    const tn::graph_scope scope(other);
    const auto whole = tn::variable<float, tn::shape<words, 16>>("table", tn::zeros());
    tn::session again(worker.target(), other);
    tn::saver("model").restore(again);
    std::printf("restored in one piece: %s\n", again.run(whole) == trained ? "the same" : "another");
    std::filesystem::remove_all(folder);
    return 0;
}
