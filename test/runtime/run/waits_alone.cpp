#include <future>

#include "tests.hpp"
#include "runtime/gates.hpp"

// Steps of nothing but ops that wait: where these are done as they begin, nobody else knows of the step (run/README.md).

using namespace probe;

namespace {

using scalar = tn::shape<>;

/// Its input, by another thread: which is over when start() returns, or may be.
struct elsewhere_op {
    static constexpr const char* name = "test_elsewhere";
    static constexpr tn::op_flags flags = tn::op_flags::waits | tn::op_flags::stateful;
    static constexpr tn::element_types gpu_types = tn::no_elements;
    struct attributes {
        bool over = false, fails = false;
    };
    static constexpr int outputs(const attributes&, int) { return 1; }
    static tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }

    class other_thread final : public tn::wait {
    public:
        explicit other_thread(const attributes& a) : a_(a) {}
        ~other_thread() override {
            if (by_.joinable()) by_.join();
        }
        void start(const tn::step&, tn::completion& then) override {
            if (by_.joinable()) by_.join();
            by_ = std::thread([&then, fails = a_.fails] {
                then.completed(fails ? std::make_exception_ptr(tn::data_loss_error("torn")) : nullptr);
            });
            if (a_.over) by_.join();
        }
        bool stop() noexcept override { return false; }
        std::string awaited() const override { return "another thread"; }

    private:
        const attributes a_;
        std::thread by_;
    };
    struct kernel final : tn::waiting_kernel {
        explicit kernel(const tn::kernel_setup& s) : a(tn::decode<attributes>(s.attrs)) {}
        std::unique_ptr<tn::wait> make_wait() const override { return std::make_unique<other_thread>(a); }
        attributes a;
    };
    static tn::kernel_pointer prepare(const tn::kernel_setup& s) { return std::make_unique<kernel>(s); }
};
[[maybe_unused]] const tn::op_definition& elsewhere_definition = tn::definition_of<elsewhere_op>();

tn::tensor<float, scalar> elsewhere(const tn::tensor<float, scalar>& x, bool over, bool fails = false) {
    return tn::tensor<float, scalar>::unchecked(tn::add<elsewhere_op>({over, fails}, {x}));
}

// Three ops one after another, of which any may wait.
struct three {
    own_graph g;
    tn::tensor<float, scalar> x = tn::placeholder<float, scalar>("x");
    tn::tensor<float, scalar> a = gated("a", x), b = gated("b", a), c = gated("c", b);
    tn::session s{g};
    const std::string names[3] = {"a", "b", "c"};

    void set(unsigned open) const {
        for (unsigned n = 0; n < 3; ++n) gates::get().leave_open(names[n], open >> n & 1);
    }
    ~three() { set(0); }
};

} // namespace

TEST_CASE("waits alone: whichever of them waits, a step gives what it gives, and each op is begun once") {
    three t;
    for (int again = 0; again < 3; ++again)
        for (unsigned open = 0; open < 8; ++open) {
            CAPTURE(open);
            t.set(open);
            for (const std::string& n : t.names) gates::get().take_arrivals(n);
            const float x = static_cast<float>(open);
            auto result = std::async(std::launch::async, [&] { return t.s.run(tn::feed(t.x, x), t.a, t.c); });
            for (unsigned n = 0; n < 3; ++n) {
                if (open >> n & 1) continue;
                gates::get().wait_for(t.names[n]);
                gates::get().open(t.names[n]);
            }
            const auto [a, c] = result.get();
            CHECK(a() == x);
            CHECK(c() == x);
            for (const std::string& n : t.names) CHECK(gates::get().take_arrivals(n) == 1);
        }
}

TEST_CASE("waits alone: one that fails, at once or later, fails the step with its place, and the next step runs") {
    three t;
    const auto torn = std::make_exception_ptr(tn::data_loss_error("torn"));
    for (unsigned open = 0; open < 4; ++open) {
        CAPTURE(open);
        t.set(open);
        auto result = std::async(std::launch::async, [&] { return t.s.run(tn::feed(t.x, 1.0f), t.c); });
        for (unsigned n = 0; n < 2; ++n)
            if (!(open >> n & 1)) {
                gates::get().wait_for(t.names[n]);
                gates::get().open(t.names[n]);
            }
        gates::get().wait_for("c");
        gates::get().open("c", torn);
        CHECK_ERROR(tn::data_loss_error, "test_gate", result.get());
        t.set(7);
        CHECK(t.s.run(tn::feed(t.x, 5.0f), t.c)() == 5.0f);
    }
    auto at_once = elsewhere(t.x, true, true);
    for (int i = 0; i < 3; ++i) {
        CHECK_ERROR(tn::data_loss_error, "torn", t.s.run(tn::feed(t.x, 1.0f), at_once));
        CHECK(t.s.run(tn::feed(t.x, 5.0f), t.a)() == 5.0f);
    }
}

TEST_CASE("waits alone: what waits after others were done at once is stopped when its session is closed, or its time "
          "is over") {
    three t;
    t.set(1);
    auto waits = std::async(std::launch::async, [&] { return t.s.run(tn::feed(t.x, 1.0f), t.c); });
    gates::get().wait_for("b");
    CHECK_THROWS_AS(t.s.run_for(0.01, tn::feed(t.x, 1.0f), t.c), tn::deadline_exceeded_error);
    gates::get().wait_for("b");
    t.s.close();
    CHECK_THROWS_AS(waits.get(), tn::cancelled_error);
    CHECK(gates::get().waiting() == 0);
    CHECK_THROWS_AS(t.s.run(tn::feed(t.x, 1.0f), t.a), tn::failed_precondition_error);
}

TEST_CASE_FIXTURE(in_graph, "waits alone: another thread may complete one while it is begun, or just after that") {
    const auto x = tn::placeholder<float, scalar>("x");
    tn::session s(g);
    const auto during = elsewhere(x, true), after = elsewhere(x, false);
    const auto chain = elsewhere(elsewhere(elsewhere(x, false), true), false);
    const auto failing = elsewhere(elsewhere(x, false), false, true);
    for (int i = 0; i < 300; ++i) {
        const float v = static_cast<float>(i);
        CHECK(s.run(tn::feed(x, v), during)() == v);
        CHECK(s.run(tn::feed(x, v), after)() == v);
        CHECK(s.run(tn::feed(x, v), chain)() == v);
        CHECK_THROWS_AS(s.run(tn::feed(x, v), failing), tn::data_loss_error);
    }
}
