#include "tests.hpp"

// Kernels of GPUs that find their inputs wrong when the host has long gone on: they tell it, and the step fails as if they had thrown.

namespace {

/// Its input; a negative number is refused. Where it cannot throw, on streams, it tells its place.
struct refusing_op {
    static constexpr const char* name = "test_refusing";
    static constexpr tn::op_flags flags = tn::op_flags::stateful;
    struct attributes {};
    static tn::inferred infer(const attributes&, tn::type_list in, int) {
        return tn::inferred(in[0].element, in[0].extents);
    }
    struct kernel : tn::kernel {
        explicit kernel(const tn::kernel_setup& s) : n(s.inputs[0].extents.elements()) {}
        bool may_refuse() const override { return true; }
        std::size_t told_bytes() const override { return sizeof(std::int64_t); }
        void tell(std::byte* to) override { std::memcpy(to, &none, sizeof none); }
        void run(const tn::kernel_run& r) override {
            std::int64_t bad = none;
            for (std::int64_t i = 0; i < n; ++i) {
                const float x = r.input<float>(0)[i];
                if (x < 0 && bad == none) bad = i;
                r.output<float>(0)[i] = x;
            }
            if (!r.told && bad != none) complain(bad);
            if (r.told && bad != none) std::memcpy(r.told, &bad, sizeof bad);
        }
        void refuse(const std::byte* told) const override {
            std::int64_t bad = 0;
            std::memcpy(&bad, told, sizeof bad);
            if (bad != none) complain(bad);
        }
        [[noreturn]] static void complain(std::int64_t place) {
            throw tn::invalid_argument_error("number " + std::to_string(place) + " is negative");
        }
        static constexpr std::int64_t none = -1;
        const std::int64_t n;
    };
    static tn::kernel_pointer prepare(const tn::kernel_setup& s) { return std::make_unique<kernel>(s); }
};
tn::tensor<float, tn::shape<3>> refusing(const tn::tensor<float, tn::shape<3>>& x, const char* name) {
    return tn::as<float, tn::shape<3>>(tn::add<refusing_op>({}, {x}, name));
}

tn::session_options with_gpus(int count) { return {.gpus = tn::simulated_gpu(count, 64 << 20)}; }

using three = tn::shape<3>;
const tn::array<float, three> good{1, 2, 3}, bad{1, -2, -3};

} // namespace

TEST_CASE("what a GPU refuses fails the step with its node's name, and the next step is another") {
    for (const char* device : {"/cpu:0", "/gpu:0"}) {
        INFO(device);
        const own_graph g;
        const auto x = tn::placeholder<float, three>("x");
        const auto y = tn::on(device, [&] { return refusing(x, "picky") * 2.0f; });
        tn::session s(g, with_gpus(1));
        for (int i = 0; i < 3; ++i) {
            CHECK(s.run(tn::feed(x, good), y)(2) == 6);
            const std::string message =
                message_of<tn::invalid_argument_error>([&] { (void)s.run(tn::feed(x, bad), y); });
            CHECK(contains(message, "number 1 is negative"));
            CHECK(contains(message, "picky"));
        }
        CHECK(s.run(tn::feed(x, good), y)(0) == 2);
    }
}

TEST_CASE_FIXTURE(in_graph, "of several that refuse, the first is to blame") {
    const auto x = tn::placeholder<float, three>("x");
    const auto y = tn::on("/gpu:0", [&] { return refusing(refusing(x, "first") - 1.0f, "second"); });
    tn::session s(g, with_gpus(1));
    const std::string message = message_of<tn::invalid_argument_error>([&] { (void)s.run(tn::feed(x, bad), y); });
    CHECK(contains(message, "number 1 is negative"));
    CHECK(contains(message, "first"));
    CHECK(contains(message_of<tn::invalid_argument_error>([&] {
                       (void)s.run(tn::feed(x, tn::array<float, three>{0, 2, 3}), y);
                   }),
                   "number 0"));
    CHECK(s.run(tn::feed(x, good), y)(0) == 0);
}

TEST_CASE("SEMANTICS 20: no variable, on whatever device, takes a value that was computed of what a GPU refused") {
    for (const char* of : {"/cpu:0", "/gpu:0", "/gpu:1"}) {
        const own_graph g;
        const auto x = tn::placeholder<float, three>("x");
        const auto y = tn::on("/gpu:0", [&] { return refusing(x, "picky") * 2.0f; });
        const auto there = tn::on(of);
        const auto whole = tn::variable<float, three>("whole", tn::ones());
        const auto twice = tn::variable<float, three>("twice", tn::ones());
        const auto rows = tn::variable<float, three>("rows", tn::ones());
        const auto add = whole.assign_add(y);
        const auto once = twice.assign(y);
        const auto again = twice.assign_add(y * 10.0f); // to what the one before left
        const auto some = rows.scatter_add(tn::constant({2, 1, 2}), y);
        initialized_session s(g, with_gpus(2));
        for (int i = 1; i < 4; ++i) {
            INFO(of, ", step ", i);
            CHECK(contains(
                message_of<tn::invalid_argument_error>([&] { (void)s.run(tn::feed(x, bad), add, once, again, some); }),
                "number 1 is negative"));
            const auto n = static_cast<float>(i);
            CHECK(s.run(whole)(1) == 1 + 4 * (n - 1));
            CHECK(s.run(twice)(1) == (i == 1 ? 1 : 44));
            CHECK(s.run(rows)(2) == 1 + 8 * (n - 1));
            s.run(tn::feed(x, good), add, once, again, some);
            CHECK(s.run(whole)(1) == 1 + 4 * n);
            CHECK(s.run(twice)(1) == 44);
            CHECK(s.run(rows)(2) == 1 + 8 * n);
        }
    }
}
