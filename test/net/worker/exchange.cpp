#include <net/worker/exchange.hpp>

#include "tests.hpp"

// Values that come before their step does, or after it has ended.

using namespace tenon::net;

namespace {

constexpr std::uint64_t session = 7;
constexpr std::int64_t size = 1000;

struct one_session {
    one_session() {
        tasks->session = session;
        edges->arriving = 2;
        all.begin_session(session);
    }
    void arrives(std::uint64_t step, std::int64_t edge) {
        step_values v{.session = session, .step = step};
        edge_value& e = v.values.emplace_back();
        e.edge = edge;
        e.value = tn::any_array(tn::element_type::uint8, {size});
        all.arrived(std::move(v));
    }
    std::shared_ptr<task_rendezvous> begin(std::uint64_t step) { return all.open(tasks, step, edges); }
    std::size_t kept() const { return all.count().early_bytes; }

    exchange all{std::size_t{1} << 20};
    const std::shared_ptr<session_tasks> tasks = std::make_shared<session_tasks>();
    const std::shared_ptr<step_edges> edges = std::make_shared<step_edges>(3);
};

} // namespace

TEST_CASE("what comes early is kept for its step; what comes late for one that was stopped is not, however many ended "
          "since") {
    one_session s;
    s.arrives(1, 0);
    CHECK(s.kept() == size);
    const auto first = s.begin(1);
    CHECK(s.kept() == 0);
    s.arrives(1, 1);
    CHECK(first->has_all());
    s.all.close(session, 1);
    s.all.close(session, 2); // has not begun here, and will not
    std::uint64_t step = 3;
    for (; step < 10; ++step) {
        const auto stopped = s.begin(step);
        s.arrives(step, 0);
        CHECK(!stopped->has_all());
        s.all.close(session, step);
    }
    for (; step < 20'000; ++step) { // that end well
        s.begin(step);
        s.arrives(step, 0);
        s.arrives(step, 1);
        s.all.close(session, step);
    }
    for (std::uint64_t late = 2; late < 10; ++late) s.arrives(late, 1);
    CHECK(s.kept() == 0);
    for (; step < 40'000; ++step) s.all.close(session, step);
    for (std::uint64_t late = 2; late < 10; ++late) s.arrives(late, 1);
    CHECK(s.kept() == 0);
    for (; step < 110'000; ++step) s.all.close(session, step);
    s.arrives(110'000, 0);
    CHECK(s.kept() == size);
    s.arrives(2, 1); // nothing is remembered for ever
    CHECK(s.kept() == 2 * size);
    CHECK(s.all.count().open == 0);
}
