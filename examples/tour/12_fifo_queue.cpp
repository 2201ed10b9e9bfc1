// links: tenon::net
// A queue that two programs share: what one puts in the other takes out, in the order in which it came. It lives on a server; each
// program has a graph of its own, and what makes their queues one is the shared_name. Elements may be tuples, whose types the
// compiler knows. A dequeue waits while there is too little; a closed queue gives what is left, then says so.
//
// Alone, it is both programs and the server. As two processes:
//
//     12_fifo_queue tenon://HOST:PORT produce        # of any server: tenon serve
//     12_fifo_queue tenon://HOST:PORT consume
//
// It prints:
//
//     one by one: [1, 2] [3, 4] [5, 6]
//     two at once: int32[2, 2]
//     [[1, 2],
//      [3, 4]]
//     the next two: ...
//     enqueue, closed: queue "tuples" is closed. ...
//     a tuple: 7 and float[3, 2]
//     [[1, 2],
//      [3, 4],
//      [5, 6]]
//     what is left: int32[rest=2] [8, 9]
//     dequeue, empty: queue "tuples" is closed and has insufficient elements (requested 5, current size 0)...
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

namespace tn = tenon;

namespace {

inline constexpr struct rest : tn::dim<"rest"> {} rest;

using pair = tn::component<std::int32_t, tn::shape<2>>;
using matrices = tn::component<float, tn::shape<3, 2>>;

// Each program makes its own graph.
tn::fifo_queue<pair> pairs() { return tn::fifo_queue<pair>(10, {.shared_name = "pairs"}); }
tn::fifo_queue<std::int32_t, matrices> tuples() {
    return tn::fifo_queue<std::int32_t, matrices>(10, {.shared_name = "tuples"});
}

void produce(const std::string& target) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto put = pairs().enqueue_many(tn::constant({{1, 2}, {3, 4}, {5, 6}}));
    tn::session sess(target, g);
    sess.run(put);
    sess.run(put);
}

void consume(const std::string& target) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto q = pairs();
    const auto next = q.dequeue();
    const auto two = q.dequeue_many<2>();
    tn::session sess(target, g);
    std::printf("one by one:");
    for (int i = 0; i < 3; ++i) {
        const auto p = sess.run(next);
        std::printf(" [%d, %d]", p(0), p(1));
    }
    std::printf("\ntwo at once: %s\n", to_string(sess.run(two)).c_str());
    try {
        sess.run_for(0.2, two);
    } catch (const tn::deadline_exceeded_error& e) {
        std::printf("the next two: %s\n", e.what());
    }
}

void produce_tuples(const std::string& target) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto q = tuples();
    const auto m = tn::constant({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}});
    tn::session sess(target, g);
    for (const std::int32_t i : {7, 8, 9}) sess.run(q.enqueue(i, m));
    sess.run(q.close());
    try {
        sess.run(q.enqueue(10, m));
    } catch (const tn::cancelled_error& e) {
        std::printf("enqueue, closed: %s\n", e.what());
    }
}

void consume_tuples(const std::string& target) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto q = tuples();
    const auto [i, m] = q.dequeue();
    const auto [left, others] = q.dequeue_up_to<rest>(5); // int32[rest] and float[rest, 3, 2]
    tn::session sess(target, g);
    const auto [number, values] = sess.run(i, m);
    std::printf("a tuple: %d and %s\n", number.item(), to_string(values).c_str());
    std::printf("what is left: %s\n", to_string(sess.run(left)).c_str());
    try {
        sess.run(others);
    } catch (const tn::end_of_data_error& e) {
        std::printf("dequeue, empty: %s\n", e.what());
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 1) {
        const auto server = tn::server::create_local_server();
        produce(server.target());
        consume(server.target());
        produce_tuples(server.target());
        consume_tuples(server.target());
        return 0;
    }
    const std::string target = argv[1], part = argc == 3 ? argv[2] : "";
    if (part != "produce" && part != "consume") {
        std::fprintf(stderr, "12_fifo_queue [tenon://HOST:PORT produce|consume]\n");
        return 2;
    }
    try {
        part == "produce" ? produce(target) : consume(target);
        part == "produce" ? produce_tuples(target) : consume_tuples(target);
    } catch (const tn::error& e) {
        std::fprintf(stderr, "12_fifo_queue: %s\n", e.what());
        return 1;
    }
    return 0;
}
