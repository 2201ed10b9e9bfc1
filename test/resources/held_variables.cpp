#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/memory/memory_account.hpp>
#include <tenon/resources/held_variables.hpp>

#include "messages.hpp"

// SEMANTICS 20: what steps hold of variables, and where they read and write them.

namespace tn = tenon;
using tn::held_variables;

namespace {

constexpr auto never = held_variables::clock::time_point::max();
held_variables::clock::time_point soon() { return held_variables::clock::now() + std::chrono::milliseconds(2); }

// Variables of two devices, each a number.
struct bank {
    explicit bank(int count) {
        for (int i = 0; i < count; ++i) {
            owned.push_back(
                (i % 2 == 0 ? first : second).variable("", std::to_string(i), {tn::element_type::int64, {}}));
            all.push_back(owned.back().get());
        }
        std::sort(all.begin(), all.end());
    }
    tn::resource_manager first, second;
    std::vector<std::shared_ptr<tn::variable_resource>> owned;
    std::vector<tn::variable_resource*> all; // by address
};

std::vector<tn::variable_use> readers(const std::vector<tn::variable_resource*>& of, bool by_rows = false) {
    std::vector<tn::variable_use> uses;
    for (tn::variable_resource* v : of) uses.push_back({.variable = v, .read = true, .by_rows = by_rows});
    return uses;
}
std::vector<tn::variable_use> updaters(const std::vector<tn::variable_resource*>& of, bool in_part = false) {
    std::vector<tn::variable_use> uses;
    for (tn::variable_resource* v : of) uses.push_back({.variable = v, .updated = true, .in_part = in_part});
    return uses;
}

std::int64_t at(const void* p) { return *static_cast<const std::int64_t*>(p); }

// One step that gives each variable a value.
void assign(const std::vector<tn::variable_resource*>& to, std::int64_t value) {
    const auto uses = updaters(to);
    held_variables h(uses);
    REQUIRE(h.begin_updates(never) == nullptr);
    for (std::size_t i = 0; i < to.size(); ++i) {
        *static_cast<std::int64_t*>(h.after(i)) = value;
        h.set_written(i);
    }
    h.end_updates();
}

} // namespace

TEST_CASE("a variable has no value until an update has ended that wrote one") {
    bank b(1);
    const auto reads = readers(b.all), updates = updaters(b.all);
    held_variables reader(reads), updater(updates);
    REQUIRE(reader.read(never) == nullptr);
    CHECK(reader.before(0) == nullptr);
    reader.end();
    REQUIRE(updater.begin_updates(never) == nullptr);
    CHECK(updater.current(0) == nullptr);
    CHECK(updater.after(0) != nullptr);
    updater.end_updates(); // it failed: nothing was written
    REQUIRE(reader.read(never) == nullptr);
    CHECK(reader.before(0) == nullptr);
    reader.end();
    assign(b.all, 7);
    REQUIRE(reader.read(never) == nullptr);
    CHECK(at(reader.before(0)) == 7);
}

TEST_CASE("an update writes in place where nobody reads, beside the value where somebody does, and then takes turns") {
    bank b(1);
    tn::resource_manager& of = b.first;
    assign(b.all, 1);
    CHECK(of.bytes() == 8);
    assign(b.all, 2);
    CHECK(of.bytes() == 8); // nobody read
    const auto reads = readers(b.all), updates = updaters(b.all);
    held_variables reader(reads), updater(updates), other(reads);
    REQUIRE(reader.read(never) == nullptr);
    const void* const old = reader.before(0);
    REQUIRE(updater.begin_updates(never) == nullptr);
    CHECK(updater.current(0) == old);
    void* const fresh = updater.after(0);
    CHECK(fresh != old);
    CHECK(of.bytes() == 16);
    *static_cast<std::int64_t*>(fresh) = 3;
    REQUIRE(other.read(soon()) == nullptr); // a reader does not wait for it, and sees nothing of it
    CHECK(other.before(0) == old);
    other.end();
    updater.set_written(0);
    updater.end_updates();
    REQUIRE(other.read(never) == nullptr);
    CHECK(other.before(0) == fresh);
    CHECK(at(reader.before(0)) == 2); // for as long as it is held
    other.end();
    reader.end();
    REQUIRE(reader.read(never) == nullptr);
    CHECK(at(reader.before(0)) == 3);
    REQUIRE(updater.begin_updates(never) == nullptr);
    CHECK(updater.after(0) == old); // what was kept
    updater.end();
    reader.end();
    CHECK(of.bytes() == 16);
    CHECK(of.give_back_spares());
    CHECK(!of.give_back_spares());
    CHECK(of.bytes() == 8);
    REQUIRE(reader.read(never) == nullptr);
    CHECK(at(reader.before(0)) == 3);
}

TEST_CASE(
    "a value that is lent outlives the step that lent it, is read by nobody else's leave, and is given back once") {
    bank b(2);
    assign(b.all, 1);
    const std::size_t before = b.first.bytes() + b.second.bytes();
    tn::any_array lent;
    {
        auto uses = readers(b.all);
        for (tn::variable_use& u : uses) u.lent = true;
        held_variables h(uses);
        REQUIRE(h.read(never) == nullptr);
        lent = h.lend(0, b.owned[b.owned[0].get() == b.all[0] ? 0 : 1]);
        CHECK(lent.data() == h.before(0));
        CHECK_FALSE(h.lend(0, b.owned[0])); // once
        h.end();                            // and what nobody took is given up
    }
    for (int i = 2; i < 6; ++i) {
        assign(b.all, i);
        CHECK(at(lent.data()) == 1);
        const auto uses = readers(b.all);
        held_variables now(uses);
        REQUIRE(now.read(never) == nullptr);
        CHECK(at(now.before(0)) == i);
    }
    lent = tn::any_array();
    (void)b.first.give_back_spares();
    (void)b.second.give_back_spares();
    CHECK(b.first.bytes() + b.second.bytes() == before);
}

TEST_CASE("what a step reads itself is no reason to write elsewhere") {
    bank b(1);
    assign(b.all, 1);
    for (const bool late : {false, true}) {
        const std::vector<tn::variable_use> uses{
            {.variable = b.all[0], .read = true, .read_late = late, .updated = true}};
        held_variables h(uses);
        REQUIRE(h.read(never) == nullptr);
        const void* const before = h.before(0);
        REQUIRE(h.begin_updates(never) == nullptr);
        CHECK(h.after(0) == before);
        CHECK(h.before(0) == (late ? before : nullptr));
        h.end();
    }
    CHECK(b.first.bytes() == 8);
}

TEST_CASE("while an update writes in place, who begins to read waits, and is named the variable at its deadline") {
    bank b(2);
    assign(b.all, 1);
    const auto reads = readers(b.all), updates = updaters({b.all[1]});
    held_variables reader(reads), updater(updates), second(updates);
    REQUIRE(updater.begin_updates(never) == nullptr);
    CHECK(reader.read(soon()) == b.all[1]);
    CHECK(second.begin_updates(soon()) == b.all[1]);
    std::atomic<bool> has_read{false};
    std::thread t([&] {
        CHECK(reader.read(never) == nullptr);
        has_read = true;
        CHECK(at(reader.before(1)) == 5);
        reader.end();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    CHECK(!has_read);
    *static_cast<std::int64_t*>(updater.after(0)) = 5;
    updater.set_written(0);
    updater.end_updates();
    t.join();
    CHECK(second.begin_updates(soon()) == nullptr);
}

TEST_CASE("an update of a part waits for who reads rows, and copies beside who reads all") {
    bank b(1);
    assign(b.all, 1);
    const auto rows = readers(b.all, true), whole = readers(b.all), updates = updaters(b.all, true);
    held_variables row_reader(rows), reader(whole), updater(updates);
    REQUIRE(row_reader.read(never) == nullptr);
    CHECK(updater.begin_updates(soon()) == b.all[0]);
    const void* const there = row_reader.before(0);
    row_reader.end_reading_rows();
    REQUIRE(updater.begin_updates(never) == nullptr);
    CHECK(updater.after(0) == there);
    CHECK(row_reader.read(soon()) == b.all[0]);
    updater.end();
    REQUIRE(reader.read(never) == nullptr);
    REQUIRE(updater.begin_updates(never) == nullptr);
    CHECK(updater.after(0) != there);
    updater.end();
    // Who writes all of it need not wait for readers of rows.
    reader.end();
    REQUIRE(row_reader.read(never) == nullptr);
    assign(b.all, 2);
    CHECK(at(row_reader.before(0)) == 1);
}

TEST_CASE("without memory beside a reader's value an update is refused by name, and nothing stays locked") {
    struct one_number final : tn::memory_allocator {
        const std::string& name() const override { return name_; }
        void* allocate(std::size_t bytes) override {
            if (!account.take(bytes)) throw tn::resource_exhausted_error(name_ + ": it is full");
            return ::operator new (bytes, std::align_val_t{64});
        }
        void deallocate(void* p, std::size_t bytes) noexcept override {
            ::operator delete (p, std::align_val_t{64});
            account.give(bytes);
        }
        tn::memory_account account{8};
        const std::string name_ = "/device:GPU:1";
    } memory;
    tn::resource_manager r(&memory);
    const auto v = r.variable("", "total", {tn::element_type::int64, {}});
    assign({v.get()}, 4);
    const auto reads = readers({v.get()}), updates = updaters({v.get()});
    held_variables reader(reads), updater(updates);
    REQUIRE(reader.read(never) == nullptr);
    CHECK(contains(message_of<tn::resource_exhausted_error>([&] { (void)updater.begin_updates(never); }),
                   "no memory for the new value of variable \"total\", int64[], beside the one that another step "
                   "reads: /device:GPU:1: it is full"));
    CHECK(at(reader.before(0)) == 4);
    reader.end();
    assign({v.get()}, 5);
}

TEST_CASE("threads that move amounts between variables: every reader sees one sum, and no transfer is lost") {
    constexpr int accounts = 6, threads = 4, steps = 3000;
    bank b(accounts);
    assign(b.all, 1000);
    std::vector<std::vector<std::int64_t>> moved(threads, std::vector<std::int64_t>(accounts));
    std::atomic<int> wrong{0};
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            std::mt19937 random(t);
            for (int n = 0; n < steps; ++n) {
                const auto one = random() % accounts, other = random() % accounts;
                const bool rows = random() % 3 == 0;
                if (one == other || random() % 3 == 0) {
                    const auto uses = readers(b.all, rows);
                    held_variables h(uses);
                    if (h.read(never)) ++wrong;
                    std::int64_t sum = 0;
                    for (std::size_t i = 0; i < accounts; ++i) sum += at(h.before(i));
                    if (sum != 1000 * accounts) ++wrong;
                    if (rows) h.end_reading_rows();
                    continue;
                }
                std::vector<tn::variable_use> uses;
                for (std::size_t i = 0; i < accounts; ++i)
                    uses.push_back({.variable = b.all[i],
                                    .read = true,
                                    .by_rows = rows,
                                    .read_late = !rows && random() % 2 == 0,
                                    .updated = i == one || i == other,
                                    .in_part = (i == one || i == other) && random() % 2 == 0});
                held_variables h(uses);
                if (h.read(never)) ++wrong;
                std::int64_t sum = 0;
                for (std::size_t i = 0; i < accounts; ++i) sum += at(h.before(i));
                if (sum != 1000 * accounts) ++wrong;
                if (h.begin_updates(never)) ++wrong;
                for (std::size_t i = 0; i < accounts; ++i)
                    if (h.before(i)) sum -= at(h.before(i));
                const bool fails = random() % 8 == 0;
                const std::int64_t by = static_cast<std::int64_t>(random() % 10);
                for (const auto i : {one, other}) {
                    if (fails) break;
                    *static_cast<std::int64_t*>(h.after(i)) = at(h.current(i)) + (i == one ? by : -by);
                    moved[t][i] += i == one ? by : -by;
                    h.set_written(i);
                }
                if (random() % 2 == 0) h.end_updates();
            }
        });
    for (std::thread& t : all) t.join();
    CHECK(wrong == 0);
    const auto uses = readers(b.all);
    held_variables h(uses);
    REQUIRE(h.read(never) == nullptr);
    for (std::size_t i = 0; i < accounts; ++i) {
        std::int64_t expected = 1000;
        for (const auto& of_thread : moved) expected += of_thread[i];
        CHECK(at(h.before(i)) == expected);
    }
    h.end();
    b.first.give_back_spares();
    b.second.give_back_spares();
    CHECK(b.first.bytes() + b.second.bytes() == 8 * accounts); // nothing else stayed
}

namespace {

struct counted final : tn::completion {
    void completed(std::exception_ptr) noexcept override { ++times; }
    std::atomic<int> times{0};
};

} // namespace

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
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
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
    for (std::thread& t : all) t.join();
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
