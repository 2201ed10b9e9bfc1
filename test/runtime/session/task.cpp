#include "tests.hpp"
#include "each_thread.hpp"
#include "runtime/support.hpp"

// Sessions that share a task: its devices, and what lives on them, in containers.

using namespace probe;

namespace {

using scalar = tn::variable_tensor<float, tn::shape<>>;

// A program's graph, with a variable that others may have, too.
struct counting {
    explicit counting(const std::string& container = "", const std::string& variable = "x") {
        const tn::graph_scope in(g);
        const tn::container_scope box(container);
        x.emplace(tn::variable<float, tn::shape<>>(variable, tn::zeros()));
        increment = x->assign_add(1.0f).operation();
        initialize = tn::initialize_variables();
    }
    tn::graph g;
    std::optional<scalar> x;
    tn::operation increment, initialize;
};

template <std::int64_t N> auto ones_called(const std::string& name) {
    return tn::variable<float, tn::shape<N>>(name, tn::ones());
}

std::size_t in_use(tn::session& s) { return s.memory_info("/cpu:0").in_use; }

} // namespace

TEST_CASE("SEMANTICS 25: variables live on their task and outlive the sessions") {
    const tn::task shared;
    const counting a, b;
    {
        tn::session first(shared, a.g);
        first.run(a.initialize);
        first.run(a.increment);
        CHECK(first.run(*a.x).item() == 1);
        tn::session second(shared, b.g);
        second.run(b.increment);
        CHECK(second.run(*b.x).item() == 2);
        CHECK(first.run(*a.x).item() == 2);
    }
    tn::session third(shared, a.g);
    CHECK(third.run(*a.x).item() == 2);
    tn::session alone(a.g); // a task of its own
    CHECK_THROWS_AS(alone.run(*a.x), tn::failed_precondition_error);
}

TEST_CASE("a task lives as long as a handle or a session") {
    const counting a;
    std::optional<tn::task> handle(std::in_place);
    tn::session s(*handle, a.g);
    handle.reset();
    s.run(a.initialize);
    s.run(a.increment);
    CHECK(s.run(*a.x).item() == 1);
    tn::task t, other = t;
    t = std::move(other);
    CHECK_THROWS_AS(other.reset(), tn::failed_precondition_error); // NOLINT: what a moved-from one does
    CHECK_THROWS_AS(tn::session(other, a.g), tn::failed_precondition_error);
}

TEST_CASE("SEMANTICS 26: one identity with two types is an error naming both, and leaves both sessions usable") {
    const tn::task shared;
    const counting a;
    const own_graph g;
    const auto x = ones_called<3>("x");
    const auto y = ones_called<3>("y");
    tn::session first(shared, a.g), second(shared, g);
    first.run(a.initialize);
    CHECK_ERROR(tn::invalid_argument_error, "variable \"x\" exists as float[], not as float[3]",
                second.run(tn::initialize_variables()));
    second.run(tn::initialize_variables(y));
    CHECK(second.run(y)(2) == 1);
    CHECK(first.run(*a.x).item() == 0);
}

TEST_CASE("SEMANTICS 25: a container is reset, the others keep their values") {
    tn::task shared;
    const counting plain, box("box"), crate("crate");
    tn::session p(shared, plain.g), b(shared, box.g), c(shared, crate.g);
    const std::pair<tn::session*, const counting*> all[] = {{&p, &plain}, {&b, &box}, {&c, &crate}};
    for (const auto& [s, program] : all) {
        s->run(program->initialize);
        s->run(program->increment);
    }
    const auto step = b.callable(tn::feeds(), tn::fetches(*box.x));
    CHECK(std::get<0>(step()).item() == 1);
    shared.reset({"box", "none of this name"});
    CHECK_ERROR(tn::failed_precondition_error, "\"x\" is read before it has a value", b.run(*box.x));
    CHECK_THROWS_AS(step(), tn::failed_precondition_error);
    CHECK(p.run(*plain.x).item() == 1);
    CHECK(c.run(*crate.x).item() == 1);
    b.run(box.initialize);
    CHECK(std::get<0>(step()).item() == 0);
    shared.reset();
    CHECK_THROWS_AS(p.run(*plain.x), tn::failed_precondition_error);
    CHECK(c.run(*crate.x).item() == 1);
}

TEST_CASE("after a reset a variable may have another type; SEMANTICS 21: a session's random ops go on") {
    tn::task shared;
    const counting a;
    tn::session first(shared, a.g);
    first.run(a.initialize);
    const own_graph g;
    const auto x = ones_called<3>("x");
    const auto r = tn::random_uniform<float, tn::shape<4>>(0, 1, 7);
    tn::session second(shared, g);
    const auto numbers = second.run(r), next = second.run(r);
    CHECK(!(next == numbers));
    shared.reset();
    second.run(tn::initialize_variables());
    CHECK(second.run(x)(0) == 1);
    const auto after = second.run(r);
    // Another session of the task, and one of another task, count their own runs.
    tn::session third(shared, g), alone(g);
    for (tn::session* s : {&third, &alone}) {
        CHECK(s->run(r) == numbers);
        CHECK(s->run(r) == next);
        CHECK(s->run(r) == after);
    }
}

TEST_CASE("SEMANTICS 11, 25: a reset gives memory back, and a step that has begun ends with what it knows") {
    tn::task shared;
    const own_graph g;
    const auto v = ones_called<1000>("v");
    const auto first = watched(v * 2.0f, "first", deed::call);
    const auto last = first + v; // v is read before the reset and after it
    tn::session s(shared, g);
    CHECK(in_use(s) == 0);
    s.run(tn::initialize_variables());
    CHECK(s.statistics().variable_bytes == 4000);
    called() = [] {};
    CHECK(s.run(last)(999) == 3);
    std::size_t held = 0;
    called() = [&] {
        shared.reset();
        held = in_use(s);
    };
    CHECK(s.run(last)(999) == 3);
    CHECK(held >= 4000); // by the step
    CHECK(in_use(s) == 0);
    CHECK(s.statistics().plans == 0);
    CHECK(s.statistics().variable_bytes == 0);
    CHECK_THROWS_AS(s.run(v), tn::failed_precondition_error);
    called() = nullptr;
}

TEST_CASE("SEMANTICS 11: the sessions of a task share its memory, and what one keeps for further steps another gets") {
    const tn::task shared(tn::task_options{.memory_limit = 200'000});
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<128, 128>>("x"); // 65,536 bytes
    const auto y = tn::matmul(tn::matmul(tn::matmul(x, x), x), x);
    tn::session a(shared, g), b(shared, g);
    tn::array<float, tn::shape<128, 128>> input;
    std::fill(input.begin(), input.end(), 0.0f);
    a.run(tn::feed(x, input), y);
    CHECK(a.statistics().plan_bytes >= 65'536);
    const std::size_t one = in_use(a);
    {
        const tn::container_scope box("box");
        const auto v = tn::variable<float, tn::shape<40'000>>("v", tn::zeros()); // leaves too little for a's plan
        b.run(tn::initialize_variables(v));
    }
    CHECK(one > 40'000);
    CHECK(a.statistics().plans == 0);
    CHECK(in_use(b) >= 160'000);
    CHECK_ERROR(tn::resource_exhausted_error, "160000 bytes: v float[40000], variable", a.run(tn::feed(x, input), y));
}

TEST_CASE("options that are the task's are refused in a session of it, by name") {
    const tn::task shared;
    const tn::graph g;
    const auto refused = [&](const tn::session_options& o) {
        return message_of<tn::invalid_argument_error>([&] { (void)tn::session(shared, g, o); });
    };
    CHECK(
        contains(refused({.intra_op_threads = 2}), "session_options::intra_op_threads is set for a session of a task"));
    CHECK(contains(refused({.memory_limit = 1000}), "session_options::memory_limit"));
    CHECK(contains(refused({.cpu_devices = 2}), "session_options::cpu_devices"));
    CHECK(contains(refused({.gpus = tn::simulated_gpu(1, 1 << 20)}), "session_options::gpus"));
    CHECK(contains(refused({.gpu_memory = {.fraction = 0.5}}), "session_options::gpu_memory"));
    CHECK(refused({.intra_op_threads = 2, .use_per_session_threads = true}) == "nothing was thrown");
    CHECK_ERROR(tn::invalid_argument_error, "task_options::cpu_devices is 0; give 1 to 64 devices",
                tn::task(tn::task_options{.cpu_devices = 0}));
    CHECK_ERROR(tn::invalid_argument_error, "task_options::intra_op_threads is -1",
                tn::task(tn::task_options{.intra_op_threads = -1}));
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 12, 25: a task has several devices, and each its variables") {
    tn::task shared(tn::task_options{.cpu_devices = 2, .gpus = tn::simulated_gpu(1, 1 << 20)});
    REQUIRE(shared.list_logical_devices().size() == 3);
    const auto near = tn::on("/cpu:1", [] { return ones_called<4>("near"); });
    const auto far = tn::on("/gpu:0", [] { return ones_called<4>("far"); });
    initialized_session a(shared, g), b(shared, g);
    b.run(near.assign_add(1.0f));
    b.run(far.assign_add(2.0f));
    CHECK(a.run(near + far)(3) == 5);
    CHECK(b.memory_info("/cpu:1").in_use >= 16);
    CHECK(b.memory_info("/gpu:0").in_use >= 16);
    shared.reset();
    CHECK_THROWS_AS(a.run(near), tn::failed_precondition_error);
    CHECK_THROWS_AS(b.run(far), tn::failed_precondition_error);
}

TEST_CASE("SEMANTICS 25: sessions of several threads update one variable, while other containers are reset") {
    tn::task shared;
    const counting base;
    tn::session main(shared, base.g);
    main.run(base.initialize);
    constexpr int threads = 4, steps = 250;
    on_threads(threads, [&](int t) {
        const counting mine, own("own " + std::to_string(t));
        tn::session s(shared, mine.g), o(shared, own.g);
        const auto step = s.callable(tn::feeds(), tn::fetches(mine.increment));
        for (int i = 0; i < steps; ++i) {
            step();
            if (i % 50 != 0) continue;
            o.run(own.initialize);
            o.run(own.increment);
            CHECK(o.run(*own.x).item() == 1);
            shared.reset({"own " + std::to_string(t)});
        }
    });
    CHECK(main.run(*base.x).item() == threads * steps);
}

TEST_CASE("a container is reset by one thread while others run steps in it: a step has all of a container or nothing") {
    tn::task shared;
    std::atomic<bool> end{false};
    std::vector<std::thread> all;
    for (int t = 0; t < 3; ++t)
        all.emplace_back([&] {
            const counting mine("box");
            tn::session s(shared, mine.g);
            const auto step = s.callable(tn::feeds(), tn::fetches(*mine.x, mine.increment));
            while (!end) {
                try {
                    s.run(mine.initialize);
                    const float x = std::get<0>(step()).item();
                    CHECK(x >= 0);
                    CHECK(x == static_cast<float>(static_cast<int>(x)));
                } catch (const tn::failed_precondition_error& e) {
                    CHECK(contains(e.what(), "is read before it has a value"));
                }
            }
        });
    for (int i = 0; i < 200; ++i) {
        shared.reset({"box"});
        std::this_thread::yield();
    }
    end = true;
    for (std::thread& t : all) t.join();
    shared.reset({"box"});
    const counting last("box");
    tn::session s(shared, last.g);
    CHECK(in_use(s) == 0);
}
