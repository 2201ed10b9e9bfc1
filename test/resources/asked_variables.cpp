#include "each_thread.hpp"
#include "variable_bank.hpp"

// SEMANTICS 20: who must not wait asks, and is called when to ask again; whom an update wakes.

using tn::held_variables;
using namespace variable_bank;

TEST_CASE("who must not wait asks, is told when to ask again, and holds all at once like others") {
    bank b(3);
    assign(b.all, 1);
    const auto reads = readers(b.all), updates = updaters(b.all), one = updaters({b.all[1]});
    held_variables updater(one), reader(reads), second(updates);
    counted read, update;
    REQUIRE(updater.begin_updates(never) == nullptr);
    CHECK(!reader.try_read(read));
    CHECK(&reader.asks_for() == b.all[1]);
    CHECK(!second.try_begin_updates(update));
    CHECK(&second.asks_for() == b.all[1]);
    CHECK(read.times + update.times == 0);
    *static_cast<std::int64_t*>(updater.after(0)) = 5;
    updater.set_written(0);
    updater.end_updates();
    CHECK(read.times == 1);
    CHECK(update.times == 1);
    REQUIRE(reader.try_read(read));
    CHECK(at(reader.before(0)) == 1);
    CHECK(at(reader.before(1)) == 5);
    REQUIRE(second.try_begin_updates(update)); // beside the reader
    CHECK(second.after(0) != reader.before(0));
    second.end();
    reader.end();
    assign(b.all, 2);
}

TEST_CASE("who asks in vain can stop, and leaves nothing locked") {
    bank b(2);
    assign(b.all, 1);
    const auto reads = readers(b.all), updates = updaters(b.all), last = updaters({b.all[1]});
    held_variables updater(last), other(updates), reader(reads);
    counted told;
    REQUIRE(updater.begin_updates(never) == nullptr);
    CHECK(!reader.try_read(told));
    CHECK(reader.stop_asking());
    CHECK(!reader.stop_asking());
    reader.end();
    CHECK(!other.try_begin_updates(told)); // the first is locked for it
    CHECK(other.stop_asking());
    other.end();
    assign({b.all[0]}, 3);
    updater.end();
    CHECK(told.times == 0);
    assign(b.all, 4);
    // Too late: it was told, and asks again or ends.
    REQUIRE(updater.begin_updates(never) == nullptr);
    CHECK(!other.try_begin_updates(told));
    updater.end();
    CHECK(told.times == 1);
    CHECK(!other.stop_asking());
    other.end();
    assign(b.all, 5);
}

TEST_CASE("an update that asks waits for who reads rows, then writes in place") {
    bank b(1);
    assign(b.all, 1);
    const auto rows = readers(b.all, true), updates = updaters(b.all, true);
    held_variables reader(rows), updater(updates);
    counted told;
    REQUIRE(reader.read(never) == nullptr);
    const void* const there = reader.before(0);
    CHECK(!updater.try_begin_updates(told));
    reader.end_reading_rows();
    CHECK(told.times == 1);
    REQUIRE(updater.try_begin_updates(told));
    CHECK(updater.after(0) == there);
}

TEST_CASE("steps that ask and steps that wait update the same variables: none is lost, and none waits for ever") {
    constexpr int threads = 4, steps = 2000;
    bank b(4);
    assign(b.all, 0);
    on_threads(threads, [&](unsigned t) {
        struct waiting final : tn::completion {
            void completed(std::exception_ptr) noexcept override {
                told.store(true);
                told.notify_one();
            }
            std::atomic<bool> told{false};
        } changed;
        std::mt19937 random(t);
        for (int n = 0; n < steps; ++n) {
            std::vector<tn::variable_resource*> some;
            for (tn::variable_resource* v : b.all)
                if (random() % 2) some.push_back(v);
            const auto updates = updaters(some, random() % 2 == 0);
            held_variables h(updates);
            if (t % 2) REQUIRE(h.begin_updates(never) == nullptr);
            else
                while (!h.try_begin_updates(changed)) {
                    changed.told.wait(false);
                    changed.told.store(false);
                }
            for (std::size_t i = 0; i < some.size(); ++i) {
                *static_cast<std::int64_t*>(h.after(i)) = at(h.current(i)) + 1;
                h.set_written(i);
            }
            h.end_updates();
        }
    });
    std::int64_t updates = 0, expected = 0;
    for (unsigned t = 0; t < threads; ++t) {
        std::mt19937 random(t);
        for (int n = 0; n < steps; ++n, (void)random())
            for (int v = 0; v < 4; ++v) expected += random() % 2;
    }
    const auto reads = readers(b.all);
    held_variables h(reads);
    REQUIRE(h.read(never) == nullptr);
    for (std::size_t i = 0; i < 4; ++i) updates += at(h.before(i));
    CHECK(updates == expected);
}

namespace {
constexpr auto at_once = held_variables::clock::time_point::min();
} // namespace

TEST_CASE("who waits for an update in place is told once, when it is over, whoever comes and goes meanwhile") {
    bank b(1);
    assign(b.all, 1);
    const auto reads = readers(b.all), rows = readers(b.all, true), updates = updaters(b.all);
    held_variables updater(updates), next(updates), passing(reads);
    std::vector<std::unique_ptr<held_variables>> waiting;
    std::vector<counted> told(4);
    REQUIRE(updater.begin_updates(never) == nullptr);
    for (std::size_t i = 0; i < told.size(); ++i) {
        waiting.push_back(std::make_unique<held_variables>(i % 2 ? rows : reads));
        CHECK(!waiting[i]->try_read(told[i]));
    }
    counted update;
    CHECK(!next.try_begin_updates(update));
    for (int i = 0; i < 10; ++i) CHECK(passing.read(at_once) == b.all[0]); // each gives up
    CHECK(b.all[0]->readers_waiting() == 4);
    updater.set_written(0);
    updater.end_updates();
    for (std::size_t i = 0; i < told.size(); ++i) {
        CHECK(told[i].times == 1);
        CHECK(waiting[i]->times_told() == 1);
        CHECK(waiting[i]->try_read(told[i]));
    }
    CHECK(update.times == 1);
    CHECK(b.all[0]->readers_waiting() == 0);
    REQUIRE(next.try_begin_updates(update)); // beside the readers
}

TEST_CASE("who updates rows is told when the last reader who has waited reads, not before") {
    bank b(1);
    assign(b.all, 1);
    const auto reads = readers(b.all), updates = updaters(b.all, true);
    held_variables updater(updates), next(updates), one(reads), two(reads);
    counted first, second, update;
    REQUIRE(updater.begin_updates(never) == nullptr);
    CHECK(!one.try_read(first));
    CHECK(!two.try_read(second));
    CHECK(!next.try_begin_updates(update));
    updater.set_written(0);
    updater.end_updates();
    CHECK(update.times == 1); // the variable is not locked
    CHECK(!next.try_begin_updates(update));
    CHECK(&next.asks_for() == b.all[0]);
    REQUIRE(one.try_read(first));
    CHECK(update.times == 1);
    REQUIRE(two.try_read(second));
    CHECK(update.times == 2);
    REQUIRE(next.try_begin_updates(update));
}

TEST_CASE("readers that sleep wake no other") {
    constexpr std::size_t count = 4;
    bank b(1);
    assign(b.all, 1);
    const auto reads = readers(b.all), updates = updaters(b.all);
    held_variables updater(updates), passing(reads);
    REQUIRE(updater.begin_updates(never) == nullptr);
    std::vector<std::uint64_t> told(count);
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < count; ++i)
        all.emplace_back([&, i] {
            held_variables h(reads);
            REQUIRE(h.read(never) == nullptr);
            told[i] = h.times_told();
        });
    while (b.all[0]->readers_waiting() < static_cast<int>(count)) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) CHECK(passing.read(at_once) == b.all[0]);
    updater.set_written(0);
    updater.end_updates();
    for (std::thread& t : all) t.join();
    for (const std::uint64_t times : told) CHECK(times <= 1);
}

TEST_CASE("readers whose time is over just as they are told leave nothing behind") {
    constexpr int rounds = 2000;
    bank b(1);
    assign(b.all, 0);
    const auto reads = readers(b.all), updates = updaters(b.all);
    std::atomic<bool> over{false};
    std::vector<std::thread> all;
    for (unsigned t = 0; t < 3; ++t)
        all.emplace_back([&, t] {
            std::mt19937 random(t);
            for (std::int64_t last = 0; !over;) {
                held_variables h(reads);
                if (h.read(held_variables::clock::now() + std::chrono::microseconds(random() % 100))) continue;
                CHECK(at(h.before(0)) >= last);
                last = at(h.before(0));
            }
        });
    for (std::int64_t n = 1; n <= rounds; ++n) assign(b.all, n);
    over = true;
    for (std::thread& t : all) t.join();
    CHECK(b.all[0]->readers_waiting() == 0);
    held_variables updater(updates);
    REQUIRE(updater.begin_updates(at_once) == nullptr);
    CHECK(updater.after(0) == updater.current(0)); // in place: nobody is counted as a reader
}
