#include <new>

#include <tenon/resources/resources.hpp>

#include "tests.hpp"
#include "each_thread.hpp"

namespace {

// A device's memory, of which there is only so much.
struct small_memory final : tn::memory_allocator {
    explicit small_memory(std::size_t limit) : account(limit) {}
    const std::string& name() const override { return name_; }
    void* allocate(std::size_t bytes) override {
        if (!account.take(bytes)) throw tn::resource_exhausted_error(name_ + ": it is full");
        void* const p = ::operator new (bytes, std::align_val_t{64});
        given[p] = bytes;
        return p;
    }
    void deallocate(void* p, std::size_t bytes) noexcept override {
        CHECK(given[p] == bytes);
        given.erase(p);
        ::operator delete (p, std::align_val_t{64});
        account.give(bytes);
    }

    tn::memory_account account;
    std::map<void*, std::size_t> given;

private:
    const std::string name_ = "/device:GPU:3";
};

} // namespace

TEST_CASE("a device's variables lie in its memory, which they give back in the end") {
    small_memory memory(1000);
    {
        tn::resource_manager r(&memory);
        const auto v = r.variable("", "v", {tn::element_type::float32, {2, 3}});
        CHECK(memory.given.at(v->value().data()) == 24);
        CHECK(v->value().is_view());
        CHECK(v->value().type() == tn::tensor_type{tn::element_type::float32, {2, 3}});
        CHECK(r.variable("", "v", {tn::element_type::float32, {2, 3}}) == v);
        const auto none = r.variable("", "none", {tn::element_type::float32, {0, 3}});
        CHECK(none->value().elements() == 0);
        CHECK(r.bytes() == 24);
        CHECK(memory.account.taken() == 24);
    }
    CHECK(memory.given.empty());
    CHECK(memory.account.taken() == 0);
}

TEST_CASE("strings are objects of the host, whatever the device, and none of its memory") {
    small_memory memory(10);
    tn::resource_manager r(&memory);
    const auto words = r.variable("", "words", {tn::element_type::string, {100}});
    words->value().data<std::string>()[99] = "a text that is longer than a short one";
    CHECK(!words->value().is_view());
    CHECK(memory.given.empty());
    CHECK(r.bytes() == 0);
    CHECK(r.largest().empty());
}

TEST_CASE("without a device's memory variables are the host's, and counted") {
    tn::resource_manager r;
    CHECK(!r.variable("", "v", {tn::element_type::float32, {2}})->value().is_view());
    CHECK(r.bytes() == 8);
    CHECK(r.largest() == std::vector<tn::memory_holder>{{8, "v float[2], variable"}});
    CHECK_ERROR(tn::resource_exhausted_error, "variable \"huge\": array: no memory for float[288230376151711744]",
                r.variable("", "huge", {tn::element_type::float32, {std::int64_t{1} << 58}}));
    CHECK(r.bytes() == 8);
}

TEST_CASE("SEMANTICS 11: a variable without room is refused by name, sizes and largest holders, and leaves no trace") {
    small_memory memory(1000);
    tn::resource_manager r(&memory);
    (void)r.variable("", "v", {tn::element_type::float32, {50}});
    (void)r.variable("", "u", {tn::element_type::int64, {75}});
    const auto refused = [&](const std::string& container) {
        return message_of<tn::resource_exhausted_error>([&] {
            (void)r.variable(container, "w", {tn::element_type::float32, {51}});
        });
    };
    const std::string holders = "\n  600 bytes: u int64[75], variable\n  200 bytes: v float[50], variable"
                                "\nuse smaller variables, or let /device:GPU:3 have more memory";
    CHECK(refused("") == "variable \"w\", float[51]: it is full" + holders);
    CHECK(refused("box") == "variable \"w\" in container \"box\", float[51]: it is full" + holders);
    CHECK(r.bytes() == 800);
    CHECK(r.largest().size() == 2);
    CHECK(r.variable("", "w", {tn::element_type::float32, {25}})->value().bytes() == 100); // of another size it is new
    CHECK_THROWS_AS((void)r.variable("", "x", {tn::element_type::float32, {tn::dynamic_extent}}),
                    tn::invalid_argument_error);
    CHECK(r.variable("", "x", {tn::element_type::float32, {25}})->value().bytes() == 100);
}

TEST_CASE("what a cleared container held stays with those who use it, and its memory with it") {
    small_memory memory(1000);
    tn::resource_manager r(&memory);
    const auto kept = r.variable("", "kept", {tn::element_type::float32, {10}});
    auto used = r.variable("box", "v", {tn::element_type::float32, {20}});
    (void)r.variable("box", "u", {tn::element_type::float32, {30}});
    const auto counter = r.counters("box")->of("v");
    counter->runs = 7;
    r.clear("no such container");
    CHECK(r.bytes() == 240);
    r.clear("box");
    CHECK(r.bytes() == 120); // u is gone, v is in use
    CHECK(memory.given.contains(used->value().data()));
    const auto again = r.variable("box", "v", {tn::element_type::float64, {20}}); // as another type, even
    CHECK(again->value().data() != used->value().data());
    CHECK(r.counters("box")->of("v")->runs == 0);
    CHECK(r.variable("", "kept", {tn::element_type::float32, {10}}) == kept);
    used.reset();
    CHECK(r.bytes() == 40 + 160);
    CHECK(memory.account.taken() == 40 + 160);
}

TEST_CASE("threads that ask for one variable get one") {
    small_memory memory(0);
    tn::resource_manager r(&memory);
    std::vector<std::thread> threads;
    std::vector<std::shared_ptr<tn::variable_resource>> got(4 * 50);
    for (std::size_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (std::size_t i = 0; i < 50; ++i)
                got[t * 50 + i] = r.variable("", std::to_string(i), {tn::element_type::float32, {4}});
        });
    std::size_t seen = 0;
    while (seen < 50 * 16) { // while they come
        CHECK(r.bytes() >= seen);
        seen = r.bytes();
    }
    for (std::thread& t : threads) t.join();
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == got[i % 50]);
    CHECK(r.bytes() == 50 * 16);
    CHECK(memory.account.info().peak == 50 * 16);
}

TEST_CASE("SEMANTICS 11: an account knows what is in use, the most that was, and the limit") {
    tn::memory_account account(100);
    CHECK(account.take(60));
    CHECK(account.take(40));
    CHECK(!account.take(1));
    account.give(70);
    CHECK(account.take(20));
    const tn::memory_info info = account.info();
    CHECK(info.in_use == 50);
    CHECK(info.peak == 100);
    CHECK(info.limit == 100);

    tn::memory_account shared;
    on_threads(4, [&shared](int) {
        for (int i = 0; i < 1000; ++i) {
            (void)shared.take(3);
            shared.give(3);
        }
    });
    CHECK(shared.info().in_use == 0);
    CHECK(shared.info().peak >= 3);
    CHECK(shared.info().peak <= 12);
}

TEST_CASE("the largest holders are eight lines at most, the largest first") {
    std::vector<tn::memory_holder> holders;
    for (std::size_t i = 1; i <= 10; ++i) holders.emplace_back(i * 7 % 11, "t" + std::to_string(i));
    CHECK(tn::largest_holders(holders) == "\n  10 bytes: t3\n  9 bytes: t6\n  8 bytes: t9\n  7 bytes: t1\n"
                                          "  6 bytes: t4\n  5 bytes: t7\n  4 bytes: t10\n  3 bytes: t2");
    CHECK(tn::largest_holders({}).empty());
}

TEST_CASE("counters of runs go on from what is told, those that are not there yet too") {
    tn::resource_manager r;
    const auto all = r.counters("a session");
    CHECK(r.counters("a session") == all);
    CHECK(r.counters("another") != all);
    const auto a = all->of("a");
    CHECK(all->of("a") == a);
    CHECK(all->counts().empty());
    CHECK(a->next().number == 0);
    CHECK(a->next().number == 1);
    CHECK(all->counts() == std::vector<tn::run_count>{{"a", 2}});
    all->go_on_from({{"a", 10}, {"b", 5}});
    const tn::run_counter::run third = a->next(), first = all->of("b")->next();
    CHECK(third.number == 10);
    CHECK(third.here == 2);
    CHECK(first.number == 5);
    CHECK(first.here == 0);
    all->go_on_from({{"a", 1}}); // back
    CHECK(a->next().number == 1);
    CHECK(all->counts() == std::vector<tn::run_count>{{"a", 2}, {"b", 6}});
}
