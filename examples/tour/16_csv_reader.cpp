// A file of comma-separated values, read in the graph: a queue gives the file's name, a reader its lines, one a step, decode_csv
// the fields of a line, and a second queue shuffles the instances, of which a step takes two, or what is left.
//
//     x1 = 1, x2 = 6, target = 44
//     the next line of: instances.csv:2
//     2 instances: [7, 8] 0, [1, -1] 0
//     1 instance: [4, 5] 1
//     the end: queue "instances" is closed and has insufficient elements (requested 2, current size 0)...
#include <tenon/input.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

#include "shared/own_folder.hpp"

namespace tn = tenon;

inline constexpr struct csv_batch : tn::dim<"batch"> {} csv_batch;

int main() {
    const own_folder folder("tenon-tour-16");
    const std::string path = folder.write("instances.csv", "x1, x2 , target\n1.,    , 0\n4., 5. , 1\n7., 8. , 0\n");

    const tn::fifo_queue<std::string> names(10, {.name = "names"});
    const auto file = tn::placeholder<std::string, tn::shape<>>("file");
    const auto put_name = names.enqueue(file);
    const auto close_names = names.close();

    const tn::text_line_reader reader({.skip_header_lines = 1});
    const auto [key, line] = reader.read(names);
    const auto [x1, x2, target] = tn::decode_csv(line, -1.0f, -1.0f, -1);
    const auto features = tn::stack<0>(x1, x2);

    const tn::random_shuffle_queue<tn::component<float, tn::shape<2>>, std::int32_t> instances(
        10, 2, {.seed = 7, .name = "instances"});
    const auto put_instance = instances.enqueue(features, target);
    const auto close_instances = instances.close();
    const auto [x, y] = instances.dequeue_up_to<csv_batch>(2);

    tn::session sess;
    const auto [a, b, c] = tn::decode_csv(tn::constant("1.,,44"), 5.0f, 6.0f, 7);
    const auto [av, bv, cv] = sess.run(a, b, c);
    std::printf("x1 = %g, x2 = %g, target = %d\n", static_cast<double>(av()), static_cast<double>(bv()), cv());

    sess.run(tn::feed(file, path), put_name);
    sess.run(close_names);
    const std::string first = sess.run(key, put_instance)();
    std::printf("the next line of: %s\n", first.substr(first.rfind('/') + 1).c_str());
    try {
        for (;;) sess.run(put_instance);
    } catch (const tn::end_of_data_error&) { // there are no more files
    }
    sess.run(close_instances);
    try {
        for (;;) {
            const auto [features_now, targets_now] = sess.run(x, y);
            std::printf("%d instance%s:", static_cast<int>(targets_now.size()), targets_now.size() == 1 ? "" : "s");
            for (std::int64_t i = 0; i < targets_now.size(); ++i)
                std::printf("%s [%g, %g] %d", i > 0 ? "," : "", static_cast<double>(features_now(i, 0)),
                            static_cast<double>(features_now(i, 1)), targets_now(i));
            std::printf("\n");
        }
    } catch (const tn::end_of_data_error& e) {
        std::printf("the end: %s\n", e.what());
    }
    return 0;
}
