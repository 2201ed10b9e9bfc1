#include "random_graphs/callables.hpp"

#include <utility>

namespace tn = tenon;

namespace random_graphs {

namespace {

constexpr std::size_t most_fed = 3, most_fetched = 6, most_run = 3;

// The static type does not matter: what is fed is an untyped array, which the session compares with the node's type.
using any_float = tn::tensor<float, tn::shape<>>;
using then_do = std::function<void(const started_step&)>;

// `then`: it is started.
template <std::size_t... Fed, std::size_t... Fetched, std::size_t... Run>
std::vector<tn::any_array> run_call(tn::session& s, const reference::request& r, const then_do* then,
                                    std::index_sequence<Fed...>, std::index_sequence<Fetched...>,
                                    std::index_sequence<Run...>) {
    // Further places are filled with what is there: a tensor that is fetched twice costs nothing.
    const auto nth = [](const auto& list, std::size_t i) { return list[i % list.size()]; };
    const auto step = s.callable(tn::feeds(any_float::unchecked(r.feeds[Fed].tensor)...),
                                 tn::fetches(nth(r.fetches, Fetched)..., nth(r.targets, Run)...));
    std::vector<tn::any_array> got;
    const auto keep = [&](auto&&... a) { (got.push_back(std::move(a)), ...); };
    if (then) {
        const auto pending = step.start(r.feeds[Fed].value...);
        (*then)({[&] { pending.stop(); }, [&] { return pending.has_ended(); }});
        std::apply(keep, pending.get());
    } else std::apply(keep, step(r.feeds[Fed].value...));
    got.resize(r.fetches.size());
    return got;
}

template <std::size_t Fed>
std::vector<tn::any_array> call_fed(tn::session& s, const reference::request& r, const then_do* then) {
    constexpr auto fed = std::make_index_sequence<Fed>();
    constexpr auto fetched = std::make_index_sequence<most_fetched>();
    if (r.targets.empty()) return run_call(s, r, then, fed, fetched, std::index_sequence<>());
    return run_call(s, r, then, fed, fetched, std::make_index_sequence<most_run>());
}

std::vector<tn::any_array> run_call(tn::session& s, const reference::request& r, const then_do* then) {
    switch (r.feeds.size()) {
    case 0: return call_fed<0>(s, r, then);
    case 1: return call_fed<1>(s, r, then);
    case 2: return call_fed<2>(s, r, then);
    default: return call_fed<3>(s, r, then);
    }
}

} // namespace

bool can_call(const reference::request& r) {
    return r.feeds.size() <= most_fed && !r.fetches.empty() && r.fetches.size() <= most_fetched &&
           r.targets.size() <= most_run;
}

std::vector<tn::any_array> call(tn::session& s, const reference::request& r) { return run_call(s, r, nullptr); }

std::vector<tn::any_array> start(tn::session& s, const reference::request& r, const then_do& then) {
    return run_call(s, r, &then);
}

} // namespace random_graphs
