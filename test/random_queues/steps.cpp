#include "random_queues/steps.hpp"

#include <tuple>
#include <utility>

namespace tn = tenon;

namespace random_queues {

namespace {

constexpr std::size_t most_fetched = 4, most_run = 4;

std::vector<tn::any_tensor> fed_by(const step& s) {
    std::vector<tn::any_tensor> all;
    for (const tn::fed_value& f : s.feeds) all.push_back(f.tensor);
    return all;
}

// What is fetched again costs nothing, so that the number of places may be fixed.
template <std::size_t... Fetched, std::size_t... Run>
runner::pending start(tn::session& session, const step& s, double limit, std::index_sequence<Fetched...>,
                      std::index_sequence<Run...>) {
    const auto nth = [](const auto& list, std::size_t i) { return list[i % list.size()]; };
    const auto call = session.callable(tn::feeds(), tn::fetches(nth(s.fetches, Fetched)..., nth(s.targets, Run)...));
    const auto pending = call.start_for(limit);
    const auto get = [pending, wanted = s.fetches.size()] {
        runner::results got;
        std::apply([&](auto&&... a) { (got.push_back(std::move(a)), ...); }, pending.get());
        got.resize(wanted);
        return got;
    };
    return {get, [pending] { pending.stop(); }, [pending] { return pending.has_ended(); }};
}

} // namespace

tn::untyped_callable runner::made(const step& s) { return session_.callable_untyped(fed_by(s), s.fetches, s.targets); }

void runner::prepare(const step& s) {
    if (s.how == step::way::kept_callable) kept_.try_emplace(key_of(s), made(s));
}

runner::results runner::run(const step& s, double limit) {
    std::vector<tn::any_array> fed;
    for (const tn::fed_value& f : s.feeds) fed.push_back(f.value.share());
    if (s.how == step::way::kept_callable) return kept_.at(key_of(s)).run_for(limit, fed);
    return made(s).run_for(limit, fed);
}

runner::pending runner::start(const step& s, double limit) {
    constexpr auto none = std::index_sequence<>();
    constexpr auto fetched = std::make_index_sequence<most_fetched>();
    constexpr auto run = std::make_index_sequence<most_run>();
    if (s.fetches.empty()) return random_queues::start(session_, s, limit, none, run);
    if (s.targets.empty()) return random_queues::start(session_, s, limit, fetched, none);
    return random_queues::start(session_, s, limit, fetched, run);
}

} // namespace random_queues
