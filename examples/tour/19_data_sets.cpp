// Data sets: elements, and the steps between them. First on the host, in a loop: numbers, repeated and put together by sevens, then
// taken apart again, three batches at a time, two numbers of each in turn. Then in a graph: a step takes an element, however
// often it is named; lines of text become instances by ops.
//
//     range(10).repeat(3).batch(7): [0 1 2 3 4 5 6] [7 8 9 0 1 2 3] [4 5 6 7 8 9 0] [1 2 3 4 5 6 7] [8 9]
//     interleaved: 0 1 7 8 4 5 2 3 9 0 6 7 4 5 1 2 8 9 6 3 0 1 2 8 9 3 4 5 6 7
//     a step: 0 and 0, their sum is 0
//     a step: 1 and 1, their sum is 2
//     a step: 2 and 2, their sum is 4
//     the end: ...
//     [1, -1] 0
//     [4, 5] 1
//     [7, 8] 0
#include <tenon/input.hpp>

#include <cstdint>
#include <cstdio>
#include <tuple>

#include "shared/own_folder.hpp"

namespace tn = tenon;

namespace {

using int_row = tn::array<std::int64_t, tn::shape<tn::dyn>>;

void print_on_the_host() {
    const auto batches = tn::data::range(10).repeat(3).batch(7);
    std::printf("range(10).repeat(3).batch(7):");
    for (const int_row& b : batches)
        for (std::int64_t i = 0; i < b.size(); ++i)
            std::printf("%s%d%s", i == 0 ? " [" : " ", static_cast<int>(b(i)), i + 1 == b.size() ? "]" : "");

    std::printf("\ninterleaved:");
    const auto rows_of = [](const int_row& b) { return tn::data::slices(b); };
    for (const std::int64_t x : batches.interleave(rows_of, {.cycle_length = 3, .block_length = 2}))
        std::printf(" %d", static_cast<int>(x));
    std::printf("\n");
}

void take_in_steps() {
    const auto it = tn::make_one_shot_iterator(tn::data::range(3));
    const auto x = it.get_next(), y = it.get_next();
    tn::session sess;
    try {
        for (;;) {
            const auto [a, b, sum] = sess.run(x, y, x + y);
            std::printf("a step: %d and %d, their sum is %d\n", static_cast<int>(a()), static_cast<int>(b()),
                        static_cast<int>(sum()));
        }
    } catch (const tn::end_of_data_error& e) {
        std::printf("the end: %s\n", e.what());
    }
}

void read_instances() {
    const own_folder folder("tenon-tour-19");
    const auto decode = [](const auto& line) {
        const auto [x1, x2, target] = tn::decode_csv(line, -1.0f, -1.0f, -1);
        return std::tuple(tn::stack<0>(x1, x2), target);
    };
    const std::string file = folder.write("instances.csv", "x1, x2 , target\n1.,    , 0\n4., 5. , 1\n7., 8. , 0\n");
    for (const auto& [features, target] : tn::data::text_lines(file).skip(1).map(decode))
        std::printf("[%g, %g] %d\n", static_cast<double>(features(0)), static_cast<double>(features(1)), target);
}

} // namespace

int main() {
    print_on_the_host();
    take_in_steps();
    read_instances();
    return 0;
}
