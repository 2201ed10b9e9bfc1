#include "ops/waiting.hpp"
#include "resources/queue_attempts.hpp"

// The ops of queues: their graphs, rules and kernels, driven by hand. Steps that run them are in queue_steps.cpp; what
// queues themselves do is in resources/queue.cpp.

using namespace waiting;
using queues::list, queues::number, queues::numbers;
using tn::element_type;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
using matrix = tn::component<float, tn::shape<3, 2>>;

tn::any_array floats(const tn::extents& sizes, float first) {
    tn::any_array a(element_type::float32, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i) a.data<float>()[i] = first + static_cast<float>(i);
    return a;
}
tn::tensor_type type(element_type e, const tn::extents& sizes = {}) { return {e, sizes}; }

// What is enqueued by operation `e`.
void put(const tn::operation& e, device& on, std::vector<tn::any_array> values) {
    started s(e.node(), on, std::move(values));
    REQUIRE(s.done);
    REQUIRE(s.failure.empty());
}
std::vector<tn::any_array> take(const tn::any_tensor& d, device& on) {
    started s(d.node(), on);
    REQUIRE(s.done);
    REQUIRE(s.failure.empty());
    return std::move(s.got());
}

} // namespace

TEST_CASE("a queue is a node, and what uses it has it as input 0 and a name that begins with its name") {
    const own_graph g;
    const tn::name_scope layer("input");
    const tn::fifo_queue<std::int64_t, matrix> q(10, {.shared_name = "shared", .name = "jobs"});
    CHECK(q.name() == "input/jobs");
    const auto [i, m] = q.dequeue();
    CHECK(i.name() == "input/jobs/dequeue");
    CHECK(m.name() == "input/jobs/dequeue:1");
    CHECK(i.node()->inputs == std::vector<tn::node_output>{q.untyped().handle().output()});
    CHECK(q.enqueue(i, m).name() == "input/jobs/enqueue");
    CHECK(q.enqueue(i, m).name() == "input/jobs/enqueue_1");
    CHECK(q.size().name() == "input/jobs/size");
    CHECK(q.is_closed().name() == "input/jobs/is_closed");
    CHECK(q.close().name() == "input/jobs/close");
    CHECK(tn::fifo_queue<float>(1).name() == "input/fifo_queue");
    CHECK(tn::random_shuffle_queue<float>(1, 0).name() == "input/random_shuffle_queue");
    CHECK(tn::padding_fifo_queue<float>(1).name() == "input/padding_fifo_queue");
    CHECK(tn::priority_queue<float>(1).name() == "input/priority_queue");
}

TEST_CASE_FIXTURE(in_graph, "a queue waits for nothing; what uses it does what the scopes around it say") {
    const auto before = tn::constant(1.0f);
    const tn::control_dependencies after(before);
    const tn::container_scope inside("experiments");
    const tn::fifo_queue<float> q(1);
    CHECK(q.untyped().handle().node()->controls.empty());
    CHECK(q.untyped().handle().node()->container == "experiments");
    CHECK(q.dequeue().node()->controls == std::vector<tn::node*>{before.node()});
}

TEST_CASE_FIXTURE(in_graph, "a queue that makes no sense is refused when it is made, and named") {
    CHECK(message_of<tn::invalid_argument_error>([] { tn::fifo_queue<float>(0, {.name = "jobs"}); }) ==
          "queue \"jobs\": its capacity is 0; give 1 or more");
    CHECK(message_of<tn::invalid_argument_error>([] { tn::padding_fifo_queue<float>(-3, {.shared_name = "ours"}); }) ==
          "queue \"ours\": its capacity is -3; give 1 or more");
    CHECK(message_of<tn::invalid_argument_error>([] { tn::random_shuffle_queue<float>(10, 10); }) ==
          "queue \"random_shuffle_queue\": min_after_dequeue is 10 of a capacity of 10; give 0 or more, and less than "
          "the "
          "capacity");
    CHECK_THROWS_AS(tn::random_shuffle_queue<float>(10, -1), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::fifo_queue({}, 10), tn::invalid_argument_error);
    CHECK(message_of<tn::invalid_argument_error>([] {
              tn::untyped::priority_queue({type(element_type::float32)}, 10, {.name = "tasks"});
          }) == "queue \"tasks\": component 0 of a priority queue is the priority, a scalar int64, not float[]");
    CHECK(g.size() == 0);
}

TEST_CASE("a tuple that does not fit is refused with the rule's words where types are known at run time only") {
    const own_graph g;
    const tn::untyped::queue q =
        tn::untyped::fifo_queue({type(element_type::int64), type(element_type::float32, {3, 2})}, 10, {.name = "jobs"});
    const auto n = tn::placeholder<std::int64_t>("n"), m = tn::placeholder<std::int64_t>("m");
    const auto x = tn::placeholder<float, tn::shape<2, 3>>("x");
    const auto rows = tn::placeholder<std::int64_t, tn::shape<4>>("rows");
    const auto matrices = tn::placeholder<float, tn::shape<5, 3, 2>>("matrices");
    const auto any = tn::placeholder<float, tn::shape<tn::dyn, tn::dyn, 2>>("any");
    CHECK(
        message_of<tn::invalid_argument_error>([&] { q.enqueue({n}); }) ==
        "enqueue: there is not one value for each component of the queue's elements: [] x [], of a queue of (int64[], "
        "float[3, 2]) (inputs jobs n)");
    CHECK(message_of<tn::invalid_argument_error>([&] {
              q.enqueue({n, x});
          }) == "enqueue: value does not fit its component: int64[] x int64[] x float[2, 3], of a queue of (int64[], "
                "float[3, 2]) (inputs jobs n x)");
    CHECK_THROWS_AS(q.enqueue({n, m}), tn::invalid_argument_error);
    CHECK_THROWS_AS(q.enqueue({rows, matrices}), tn::invalid_argument_error);
    CHECK_THROWS_AS(q.enqueue({n, x, x}), tn::invalid_argument_error);
    CHECK_THROWS_AS(q.enqueue_many({n, x}), tn::invalid_argument_error);
    CHECK_ERROR(tn::invalid_argument_error, "enqueue_many: sizes differ: [] x [4] x [5, 3, 2]",
                q.enqueue_many({rows, matrices}));
    CHECK_NOTHROW(q.enqueue_many({rows, any})); // the step looks
    {
        const auto three = tn::untyped::fifo_queue(std::vector(3, type(element_type::int64)), 4);
        const auto unknown = tn::untyped::placeholder(tn::element_type::int64, {tn::dynamic_extent});
        const auto of = [](std::int64_t many) { return tn::untyped::placeholder(tn::element_type::int64, {many}); };
        CHECK_ERROR(tn::invalid_argument_error, "enqueue_many: sizes differ: [] x [?] x [2] x [3]",
                    three.enqueue_many({unknown, of(2), of(3)}));
    }
    CHECK(message_of<tn::invalid_argument_error>([&] { q.dequeue_many(-1); }) ==
          "dequeue_many: -1 elements of jobs cannot be dequeued; give 0 or more");
    CHECK_THROWS_AS(q.dequeue_up_to(-2), tn::invalid_argument_error);
    CHECK(message_of<tn::invalid_argument_error>([&] { q.dequeue_some(3, 2); }) ==
          "dequeue_some: at least 3 and at most 2 elements of jobs cannot be dequeued; give 0 or more, and as most no "
          "fewer than as least");
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::untyped::queue{x}; }) ==
          "x stands for no queue: it is made by placeholder");
    CHECK_THROWS_AS(tn::untyped::queue{tn::any_tensor()}, tn::invalid_argument_error);
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::queue<std::int64_t, float>{q}; }) ==
          "queue \"jobs\" has elements of (int64[], float[3, 2]), not of (int64[], float[])");
    CHECK_NOTHROW(tn::queue<std::int64_t, matrix>{q});
}

TEST_CASE_FIXTURE(in_graph, "the types of what is dequeued") {
    const tn::fifo_queue<std::string, tn::component<float, tn::shape<batch, tn::dyn, 2>>> q(4);
    const auto sizes = [](const tn::any_tensor& t) { return to_string(t.extents()); };
    CHECK(sizes(std::get<1>(q.dequeue())) == "[batch, ?, 2]");
    CHECK(sizes(std::get<0>(q.dequeue_many<3>())) == "[3]");
    CHECK(sizes(std::get<1>(q.dequeue_many(3))) == "[3, batch, ?, 2]"); // the graph knows more than its type
    CHECK(sizes(std::get<0>(q.dequeue_many<batch>(3))) == "[batch]");
    CHECK(sizes(std::get<0>(q.dequeue_up_to(3))) == "[?]");
    CHECK(sizes(std::get<1>(q.dequeue_up_to<batch>(3))) == "[batch, batch, ?, 2]");
    CHECK(sizes(std::get<0>(q.dequeue_some(1, 3))) == "[?]");
    CHECK(sizes(std::get<1>(q.dequeue_some<batch>(1, 3))) == "[batch, batch, ?, 2]");
}

TEST_CASE_FIXTURE(in_graph, "graphs with queues as text, and back") {
    const tn::random_shuffle_queue<std::string, tn::component<float, tn::shape<batch, tn::dyn, 2>>> q(
        50, 10, {.seed = 7, .shared_name = "ours", .name = "jobs"});
    const auto [names, values] = q.dequeue_up_to<batch>(3);
    q.enqueue("a", tn::placeholder<float, tn::shape<batch, 1, 2>>());
    q.enqueue_many(names, values);
    q.dequeue_many<5>();
    q.dequeue_some<batch>(1, 5);
    q.size();
    q.is_closed();
    q.close(true);
    const std::string text = to_json(g);
    const tn::graph back = tn::graph_from_json(text);
    CHECK(to_json(back) == text);
    const tn::untyped::queue read(back.tensor("jobs"));
    CHECK(read.components() == q.untyped().components());
    CHECK(read.handle().node()->attributes == q.untyped().handle().node()->attributes);
    const tn::graph_scope in(back);
    CHECK(read.dequeue()[1].type() == type(element_type::float32, {tn::extent::named("batch"), tn::extent(), 2}));
    CHECK_THROWS_AS(tn::graph_from_json(R"({"format": "tenon graph", "version": 1, "seed": 0, "nodes": [
        {"name": "d", "op": "dequeue", "attributes": {"components": {"types": []}}}], "collections": {}})"),
                    tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_graph, "elements go in and come out; what is enqueued is copied where others may write it") {
    device here;
    const tn::fifo_queue<std::int64_t, matrix> q(10);
    const auto dequeue = q.dequeue();
    const tn::operation enqueue = q.enqueue(std::get<0>(dequeue), std::get<1>(dequeue));
    const tn::any_array shared = floats({3, 2}, 10);
    tn::any_array own = floats({3, 2}, 20);
    const void* const memory = own.data();
    put(enqueue, here, tuple(number(1), shared.share()));
    put(enqueue, here, tuple(number(2), std::move(own)));
    CHECK(*run(q.size().node(), here).data<std::int64_t>() == 2);

    started first(std::get<0>(dequeue).node(), here);
    CHECK(first.done);
    REQUIRE(first.got().size() == 2);
    CHECK(queues::values_of(first.got()[0]) == list{1});
    CHECK(first.got()[1].data() != shared.data());
    CHECK(first.got()[1] == shared);
    first.start(); // the next step
    CHECK(queues::values_of(first.got()[0]) == list{2});
    CHECK(first.got()[1].data() == memory);
    first.start();
    CHECK(!first.done);
    CHECK(first.awaited() == "queue \"fifo_queue\" to have 1 element; it has 0");
    CHECK(first.stop());
    CHECK(!first.stop());
    CHECK(!first.done);
}

TEST_CASE_FIXTURE(in_graph, "many elements at once, and what a step that waits says") {
    device here;
    const tn::fifo_queue<std::int64_t> q(4, {.name = "jobs"});
    const auto three = q.dequeue_many<3>();
    const auto some = tn::placeholder<std::int64_t, tn::shape<tn::dyn>>();
    const tn::operation more = q.enqueue_many(some), one = q.enqueue(5);
    put(more, here, tuple(numbers({1, 2})));
    started waits(three.node(), here);
    CHECK(!waits.done);
    CHECK(waits.awaited() == "queue \"jobs\" to have 3 elements; it has 2");
    started also(more.node(), here, tuple(numbers({3, 4, 5, 6, 7, 8, 9})));
    CHECK(waits.done);
    CHECK(queues::values_of(waits.got()[0]) == list{1, 2, 3});
    CHECK(!also.done);
    CHECK(also.awaited() == "queue \"jobs\" to have room for 2 elements; it holds 4 of 4");
    started last(one.node(), here, tuple(number(10)));
    CHECK(last.awaited() == "queue \"jobs\" to have room; it holds 4 of 4");
    CHECK(also.stop()); // what it put in goes with it, and the next has room
    CHECK(last.done);
    CHECK(queues::values_of(take(q.dequeue(), here)[0]) == list{10});
}

TEST_CASE("what does not fit in the step is an invalid_argument_error, and the queue stays as it was") {
    const own_graph g;
    device here;
    const tn::fifo_queue<tn::component<float, tn::shape<3>>> q(4, {.name = "jobs"});
    const auto open = tn::placeholder<float, tn::shape<tn::dyn>>();
    const tn::operation enqueue = q.enqueue(open);
    CHECK(message_of<tn::invalid_argument_error>([&] {
              started(enqueue.node(), here, tuple(floats({2}, 0)));
          }).starts_with("queue \"jobs\": component 0 is float[3], and float[2] is enqueued"));
    CHECK(*run(q.size().node(), here).data<std::int64_t>() == 0);
    put(enqueue, here, tuple(floats({3}, 0)));
    CHECK(*run(q.size().node(), here).data<std::int64_t>() == 1);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 26: what graphs call sizes makes no other queue, another seed does") {
    device here;
    const auto size_in = [&](const tn::any_tensor& t) { return *run(t.node(), here).data<std::int64_t>(); };
    using named = tn::component<float, tn::shape<batch>>;
    using open = tn::component<float, tn::shape<tn::dyn>>;
    CHECK(size_in(tn::fifo_queue<named>(3, {.shared_name = "a"}).size()) == 0);
    CHECK(size_in(tn::fifo_queue<open>(3, {.shared_name = "a"}).size()) == 0);
    const tn::random_shuffle_queue<float> seeded(9, 1, {.seed = 1, .shared_name = "b"}),
        otherwise(9, 1, {.seed = 2, .shared_name = "b"}), unseeded(9, 1, {.shared_name = "b"});
    CHECK(size_in(seeded.size()) == 0);
    CHECK(size_in(unseeded.size()) == 0); // whatever seed it has
    CHECK(message_of<tn::invalid_argument_error>([&] {
              size_in(otherwise.size());
          }).ends_with("capacity 9, min_after_dequeue 1: their seeds differ"));
}

TEST_CASE_FIXTURE(in_graph, "the node of a queue, when it is run") {
    device here;
    const tn::fifo_queue<float> q(7);
    CHECK(queues::values_of(run(q.untyped().handle().node(), here)) == list{7});
}

TEST_CASE_FIXTURE(in_graph, "what says that it uses a queue, and has none, is refused") {
    device here;
    const auto x = tn::placeholder<std::int64_t>("x");
    tn::node* n = tn::add_node(tn::definition_of<tn::dequeue_op>(), {x},
                               tn::encode(tn::dequeue_op::attributes{{type(element_type::float32)}}));
    CHECK(message_of<tn::invalid_argument_error>([&] { prepared(n, here); }) ==
          "dequeue: its input 0, x, is no queue but made by placeholder");
    const tn::fifo_queue<float> q(3, {.name = "jobs"});
    tn::node* wrong = tn::add_node(tn::definition_of<tn::dequeue_op>(), {q.untyped().handle()},
                                   tn::encode(tn::dequeue_op::attributes{{type(element_type::float64)}}));
    CHECK(message_of<tn::invalid_argument_error>([&] { prepared(wrong, here); }) ==
          "dequeue_1: elements of (double[]) are asked of queue of (float[]), capacity 3");
}
