#include "each_thread.hpp"
#include "variable_bank.hpp"

// SEMANTICS 20: what steps hold of variables, and where they read and write them.

using tn::held_variables;
using namespace variable_bank;

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
    CHECK_ERROR(tn::resource_exhausted_error,
                "no memory for the new value of variable \"total\", int64[], beside the one that another step "
                "reads: /device:GPU:1: it is full",
                updater.begin_updates(never));
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
    on_threads(threads, [&](unsigned t) {
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
