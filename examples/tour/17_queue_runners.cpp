// Threads that read: first five that run one reader's pipeline into a queue, with a coordinator that ends them together; then five
// readers, each with a thread of its own, on five files, joined into shuffled batches. What comes when differs from run to run, so
// the instances are printed sorted.
//
//     five threads, one reader, one file
//       [1, -1] 0
//       [4, 5] 1
//       [7, 8] 0
//     five readers, five files: 10 instances
//       [0, 0] 0
//       [1, 2] 0
//       [2, 4] 1
//       [3, 6] 1
//       [4, 8] 2
//       [5, 10] 2
//       [6, 12] 3
//       [7, 14] 3
//       [8, 16] 4
//       [9, 18] 4
//     every thread has ended: yes
#include <tenon/input.hpp>

#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "shared/own_folder.hpp"

namespace tn = tenon;

namespace {

inline constexpr struct runner_batch : tn::dim<"batch"> {} runner_batch;
using instance = std::tuple<tn::tensor<float, tn::shape<2>>, tn::tensor<std::int32_t, tn::shape<>>>;
using instance_queue = tn::random_shuffle_queue<tn::component<float, tn::shape<2>>, std::int32_t>;

// The instances of the files that the queue names, one a step, from a reader of its own.
instance next_instance(const tn::queue<std::string>& names) {
    const tn::text_line_reader reader({.skip_header_lines = 1});
    const auto [key, line] = reader.read(names);
    const auto [x1, x2, target] = tn::decode_csv(line, -1.0f, -1.0f, -1);
    return {tn::stack<0>(x1, x2), target};
}

// Runs what is collected in the graph, and takes batches until the data end.
template <class X, class Y>
std::multiset<std::string> take_all(tn::session& sess, tn::coordinator& coord, const X& x, const Y& y) {
    std::multiset<std::string> all;
    tn::start_queue_runners(sess, coord);
    while (coord.stop_on_exception([&] {
        const auto [features, targets] = sess.run(x, y);
        for (std::int64_t i = 0; i < targets.size(); ++i) {
            char text[64];
            std::snprintf(text, sizeof text, "[%g, %g] %d", static_cast<double>(features.data()[2 * i]),
                          static_cast<double>(features.data()[2 * i + 1]), targets.data()[i]);
            all.insert(text);
        }
    })) {
    }
    coord.join();
    return all;
}
void print(const std::multiset<std::string>& all) {
    for (const std::string& line : all) std::printf("  %s\n", line.c_str());
}

} // namespace

int main() {
    const own_folder folder("tenon-tour-17");
    bool ended = true;
    {
        std::printf("five threads, one reader, one file\n");
        const tn::graph g;
        const tn::graph_scope in(g);
        const std::string file = folder.write("instances.csv", "x1, x2 , target\n1.,    , 0\n4., 5. , 1\n7., 8. , 0\n");
        const auto [features, target] = next_instance(tn::string_input_producer({file}, {.num_epochs = 1}));
        const instance_queue instances(10, 2);
        tn::add_queue_runner(tn::queue_runner(instances, instances.enqueue(features, target), 5));
        const auto [x, y] = instances.dequeue_up_to<runner_batch>(2);
        tn::session sess(g);
        tn::coordinator coord;
        print(take_all(sess, coord, x, y));
        ended = ended && coord.running().empty();
    }
    {
        const tn::graph g;
        const tn::graph_scope in(g);
        std::vector<std::string> files;
        for (int f = 0; f < 5; ++f) {
            std::string text = "x1,x2,target\n";
            for (int i = 2 * f; i < 2 * (f + 1); ++i)
                text += std::to_string(i) + "," + std::to_string(2 * i) + "," + std::to_string(f) + "\n";
            files.push_back(folder.write("part-" + std::to_string(f) + ".csv", text));
        }
        const auto names = tn::string_input_producer(files, {.num_epochs = 1, .seed = 7});
        std::vector<instance> readers;
        for (int r = 0; r < 5; ++r) readers.push_back(next_instance(names));
        const auto [x, y] =
            tn::input::shuffle_batch_join<runner_batch>(readers, 4, 30, 10, {.allow_smaller_final_batch = true});
        tn::session sess(g);
        tn::coordinator coord;
        const auto all = take_all(sess, coord, x, y);
        std::printf("five readers, five files: %d instances\n", static_cast<int>(all.size()));
        print(all);
        ended = ended && coord.running().empty();
    }
    std::printf("every thread has ended: %s\n", ended ? "yes" : "no");
    return 0;
}
