#include "tests.hpp"
#include "runtime/gates.hpp"
#include "runtime/support.hpp"

// Steps that are stopped at each of their nodes: nothing of them stays behind.

namespace u = tenon::untyped;
using probe::gates;

namespace {

// Calls a function when it runs, with its number: a kernel, or an op that waits. Its output is its input.
std::function<void(int)>& reached() {
    static std::function<void(int)> f;
    return f;
}

struct tell_op {
    static constexpr const char* name = "test_tell";
    static constexpr tn::op_flags flags = tn::op_flags::stateful;
    static constexpr tn::element_types gpu_types = tn::no_elements;
    struct attributes {
        std::int64_t number = 0;
    };
    static tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }
    struct tell_kernel final : tn::kernel {
        explicit tell_kernel(const tn::kernel_setup& s) :
            number(static_cast<int>(tn::decode<attributes>(s.attrs).number)), count(s.inputs[0].extents.elements()) {}
        void run(const tn::kernel_run& r) override {
            if (reached()) reached()(number);
            std::copy_n(r.input<float>(0), count, r.output<float>(0));
        }
        int number;
        std::int64_t count;
    };
    static tn::kernel_pointer prepare(const tn::kernel_setup& s) { return std::make_unique<tell_kernel>(s); }
};
const tn::op_definition& tell_definition = tn::definition_of<tell_op>();

// Waits at a gate of its own, after it has told.
struct telling_wait_op : tell_op {
    static constexpr const char* name = "test_telling_wait";
    static constexpr tn::op_flags flags = tn::op_flags::stateful | tn::op_flags::waits;
    class passage final : public tn::wait, private gates::waiter {
    public:
        explicit passage(int number) : number_(number) {}
        void start(const tn::step&, tn::completion& then) override {
            then_ = &then;
            if (reached()) reached()(number_);
            if (!gates::get().enter("stops", *this)) opened(nullptr);
        }
        bool stop() noexcept override { return gates::get().leave("stops", *this); }
        std::string awaited() const override { return "a gate"; }

    private:
        void opened(std::exception_ptr failure) noexcept override { then_->completed(std::move(failure)); }
        const int number_;
        tn::completion* then_ = nullptr;
    };
    struct wait_kernel final : tn::waiting_kernel {
        explicit wait_kernel(const tn::kernel_setup& s) :
            number(static_cast<int>(tn::decode<attributes>(s.attrs).number)) {}
        std::unique_ptr<tn::wait> make_wait() const override { return std::make_unique<passage>(number); }
        int number;
    };
    static tn::kernel_pointer prepare(const tn::kernel_setup& s) { return std::make_unique<wait_kernel>(s); }
};
const tn::op_definition& telling_wait_definition = tn::definition_of<telling_wait_op>();

struct random_graph {
    std::vector<tn::any_tensor> nodes; // that tell
    std::vector<tn::any_tensor> variables;
    std::vector<tn::operation> updates; // one a variable
    int tells = 0;
};

// Nodes that tell, sums between them, and variables that are assigned one and the same number each step: how often it ran.
random_graph make(std::uint64_t seed, const tn::any_tensor& x, const tn::any_tensor& count) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    random_graph g;
    std::vector<tn::any_tensor> all{x};
    for (int n = 0; n < 14; ++n) {
        const tn::any_tensor in = u::add(all[below(all.size())], all[below(all.size())]);
        const tn::attributes a = tn::encode(tell_op::attributes{g.tells++});
        const bool waits = random() % 2 == 0;
        all.push_back(tn::any_tensor({tn::add_node(waits ? telling_wait_definition : tell_definition, {in}, a), 0}));
        g.nodes.push_back(all.back());
        if (random() % 3 != 0) continue;
        // [count, count, ...] as a sum with the node, so that the update waits for it.
        const tn::any_tensor v =
            u::variable("v", tn::tensor_type{tn::element_type::float32, tn::extents(1000)}, tn::zeros());
        const tn::any_tensor value = u::add(u::zeros_like(v), u::add(count, u::multiply(all.back(), 0.0f)));
        g.variables.push_back(v);
        g.updates.push_back(u::assign(v, value).operation());
    }
    return g;
}

// The number that all elements of a variable are; two different ones fail.
float whole(const tn::any_array& a) {
    const float* const p = a.data<float>();
    for (std::int64_t i = 1; i < a.elements(); ++i) REQUIRE(p[i] == p[0]);
    return p[0];
}

} // namespace

TEST_CASE("a step is stopped at each node of random graphs: no wait, lock or half a value stays behind") {
    gates::get().leave_open("stops", false);
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        CAPTURE(seed);
        const own_graph g;
        const tn::any_tensor x = u::placeholder(tn::element_type::float32, {}, "x");
        const tn::any_tensor count = u::placeholder(tn::element_type::float32, {}, "count");
        const random_graph r = make(seed, x, count);
        const tn::operation initialize = tn::initialize_variables();
        tn::session sess(g, {.intra_op_threads = seed % 2 ? 1 : 3, .use_per_session_threads = true});
        sess.run(initialize);
        auto step = sess.callable(tn::feeds(x, count), tn::fetches(tn::group(r.updates), r.nodes.back()));
        const auto values = [&] {
            std::vector<float> all;
            for (const tn::any_array& a : sess.run_untyped({}, r.variables)) all.push_back(whole(a));
            return all;
        };
        const tn::any_array zero = tn::any_array::zeros(tn::element_type::float32, {});
        float steps = 0;
        for (int stopped = -1; stopped < r.tells; ++stopped) {
            CAPTURE(stopped);
            // Gates open for those that come before the one at which it is stopped.
            const std::vector<float> before = values();
            std::atomic<bool> reached_it{false};
            reached() = [&](int n) {
                if (n == stopped) reached_it = true;
            };
            ++steps;
            tn::any_array number(tn::element_type::float32, {});
            *number.data<float>() = steps;
            if (stopped < 0) gates::get().leave_open("stops");
            else gates::get().leave_open("stops", false);
            auto pending = step.start(zero, number);
            if (stopped >= 0) {
                while (!reached_it && !pending.has_ended())
                    if (gates::get().waiting() > 0 && !reached_it) gates::get().open("stops");
                pending.stop();
                if (!reached_it) (void)pending.get(); // it is no part of the step
                else {
                    try {
                        (void)pending.get();
                    } catch (const tn::cancelled_error&) {
                    }
                }
            } else (void)pending.get();
            CHECK(gates::get().waiting() == 0);
            const std::vector<float> after = values();
            for (std::size_t v = 0; v < after.size(); ++v) {
                const bool old_or_new = after[v] == before[v] || after[v] == steps;
                CHECK(old_or_new);
                if (stopped < 0) CHECK(after[v] == steps);
            }
        }
        // And all of it runs once more.
        reached() = nullptr;
        const probe::open_gate open("stops");
        tn::any_array number(tn::element_type::float32, {});
        *number.data<float>() = 1000;
        (void)step(zero, number);
        for (const float v : values()) CHECK(v == 1000);
    }
}

TEST_CASE("out of memory in a later stage fails the step, and leaves the session and its variables usable") {
    const own_graph g;
    auto n = tn::placeholder<float, tn::shape<>>("n");
    auto v = tn::variable("v", 1.0f);
    auto xs = probe::repeated<tn::shape<tn::dyn>>("memory", n);
    auto table = matmul(expand_dims<1>(xs), expand_dims<0>(xs)); // n times n numbers
    auto total = sum(exp(matmul(table, table)));
    auto first = v.assign_add(1.0f);
    initialized_session sess(g, {.memory_limit = std::size_t{4} << 20});
    const probe::open_gate open("memory");
    (void)sess.run(tn::feed(n, 10.0f), first, total);
    CHECK_THROWS_AS((void)sess.run(tn::feed(n, 3000.0f), first, total), tn::resource_exhausted_error);
    CHECK(gates::get().waiting() == 0);
    CHECK(sess.run(v)() >= 2.0f);
    (void)sess.run(tn::feed(n, 20.0f), first, total);
}
