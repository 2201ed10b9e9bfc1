// A queue whose elements have sizes of their own. Taken one by one they keep them; taken together they are filled up with zeros
// to the largest of each dimension: 3x2, 1x1 and 2x4 become three 3x4.
//
//     float[3, 4]
//     [[1, 2, 0, 0],
//      [3, 4, 0, 0],
//      [5, 6, 0, 0]]
//     float[3, 4]
//     [[7, 0, 0, 0],
//      [0, 0, 0, 0],
//      [0, 0, 0, 0]]
//     float[3, 4]
//     [[ 8,  9, 10, 11],
//      [12, 13, 14, 15],
//      [ 0,  0,  0,  0]]
//     one by one: [3, 2] [1, 1] [2, 4]
#include <tenon/tenon.hpp>

#include <cstdio>

namespace tn = tenon;

int main() {
    const tn::padding_fifo_queue<tn::component<float, tn::shape<tn::dyn, tn::dyn>>> q(10);
    const auto x = tn::placeholder<float, tn::shape<tn::dyn, tn::dyn>>("x");
    const auto put = q.enqueue(x);
    const auto together = q.dequeue_many<3>(); // float[3, ?, ?]
    const auto next = q.dequeue();             // float[?, ?]

    tn::session sess;
    const auto fill = [&] {
        sess.run(tn::feed(x, {{1, 2}, {3, 4}, {5, 6}}), put);
        sess.run(tn::feed(x, {{7}}), put);
        sess.run(tn::feed(x, {{8, 9, 10, 11}, {12, 13, 14, 15}}), put);
    };
    fill();
    const auto batch = sess.run(together);
    for (int i = 0; i < 3; ++i) std::printf("%s\n", to_string(batch.at(i)).c_str());
    fill();
    std::printf("one by one:");
    for (int i = 0; i < 3; ++i) std::printf(" %s", to_string(sess.run(next).extents()).c_str());
    std::printf("\n");
    return 0;
}
