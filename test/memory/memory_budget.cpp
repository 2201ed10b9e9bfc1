#include "messages.hpp"
#include "each_thread.hpp"

#include <thread>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/array/large_memory.hpp>
#include <tenon/memory/memory_budget.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tn = tenon;

namespace {

tn::any_array floats(std::int64_t n) { return tn::any_array(tn::element_type::float32, tn::extents{n}); }

} // namespace

TEST_CASE("A budget is one for all its clients: what passes it is refused, with who holds most") {
    const auto budget = tn::memory_budget::make(1000);
    const auto greedy = budget->client("greedy"), modest = budget->client("modest");
    const tn::memory_charge much(greedy.get(), 700), little(modest.get(), 200);
    CHECK(budget->info().in_use == 900);
    CHECK_ERROR(tn::resource_exhausted_error,
                "101 bytes are too many: of the 1000 that may be used "
                "(server_options::memory_limit, tenon serve --memory-limit), 900 are in use, "
                "most by:\n  700 bytes: greedy\n  200 bytes: modest",
                modest->take(101));
    CHECK(budget->info().in_use == 900);
    CHECK(modest->bytes() == 200);
    const tn::memory_charge rest(modest.get(), 100);
    CHECK(modest->bytes() == 300);
}

TEST_CASE("What the process keeps for further arrays goes back to the system before a budget is passed") {
    const std::int64_t large = 4 << 20; // bytes
    { const tn::any_array kept = floats(large / 4); }
    const auto budget = tn::memory_budget::make(static_cast<std::size_t>(large) + 1000);
    CHECK(budget->take(static_cast<std::size_t>(large)));
    CHECK(tn::detail::kept_large_memory() <= 1000);
    budget->give(static_cast<std::size_t>(large));
}

TEST_CASE("Who is short asks for what is kept for further use before it refuses") {
    const auto budget = tn::memory_budget::make(1000);
    int asked = 0;
    struct context {
        tn::memory_budget& of;
        int& asked;
    } kept{*budget, asked};
    CHECK(budget->take(800));
    budget->when_short(
        [](void* c) {
            auto& k = *static_cast<context*>(c);
            if (k.asked++ > 0) return false;
            k.of.give(500);
            return true;
        },
        &kept);
    CHECK(budget->take(600));
    CHECK(asked == 1);
    CHECK_FALSE(budget->take(600));
}

TEST_CASE("An array is its maker's until its last owner has gone, on whatever thread, also when the client has left") {
    const auto budget = tn::memory_budget::make(1 << 20);
    tn::any_array a;
    for (const std::int64_t n : {3, 100000}) {
        {
            const auto client = budget->client("a client");
            const tn::payer_scope pays(client.get());
            a = floats(n);
            CHECK(client->bytes() >= a.bytes());
            CHECK(client->bytes() <= a.bytes() + 128);
            CHECK_THROWS_AS(floats(1 << 20), tn::resource_exhausted_error);
        }
        CHECK(tn::current_payer() == nullptr);
        REQUIRE(budget->holders().size() == 1);
        CHECK(budget->holders()[0].second == "a client");
        tn::any_array other = a.share();
        a = {};
        CHECK(budget->info().in_use >= other.bytes());
        std::thread([last = std::move(other)]() mutable { last = {}; }).join();
        CHECK(budget->info().in_use == 0);
        CHECK(budget->holders().empty());
    }
    const tn::any_array nobodys = floats(10);
    CHECK(budget->info().in_use == 0);
}

TEST_CASE("Threads that take and give at a time leave nothing, and never pass the limit") {
    const auto budget = tn::memory_budget::make(100000);
    on_threads(4, [&](int) {
        const auto client = budget->client("one of four");
        for (int i = 0; i < 5000; ++i) try {
                const tn::memory_charge some(client.get(), static_cast<std::size_t>(30000 + i));
                if (budget->info().in_use > 100000) throw tn::internal_error("the limit was passed");
            } catch (const tn::resource_exhausted_error&) {
            }
    });
    CHECK(budget->info().in_use == 0);
    CHECK(budget->info().peak <= 100000);
    CHECK(budget->holders().empty());
}

TEST_CASE("Devices of a budget share it, in the name of who the thread works for") {
    const auto budget = tn::memory_budget::make(100000);
    const auto first = tn::make_cpu_device(budget, 0), second = tn::make_cpu_device(budget, 1);
    const auto client = budget->client("a client");
    void* mine = nullptr;
    {
        const tn::payer_scope pays(client.get());
        mine = first->allocate(60000);
    }
    CHECK(reinterpret_cast<std::uintptr_t>(mine) % 64 == 0);
    CHECK(client->bytes() >= 60000);
    CHECK(second->memory().in_use == client->bytes());
    CHECK(second->memory().limit == 100000);
    CHECK_ERROR(tn::resource_exhausted_error, "bytes: a client", second->allocate(60000));
    void* const nobodys = second->allocate(10);
    first->deallocate(mine, 60000);
    CHECK(client->bytes() == 0);
    second->deallocate(nobodys, 10);
    CHECK(budget->info().in_use == 0);
}
