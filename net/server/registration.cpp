#include <net/server/registration.hpp>

#include <mutex>
#include <optional>

#include <net/rpc/all_answers.hpp>
#include <tenon/core/error.hpp>
#include <tenon/train/session/stop_signal.hpp>

namespace tenon::net {

namespace {

constexpr duration first_look = std::chrono::milliseconds(200); // for a task that was lost to be back
constexpr duration a_day = std::chrono::hours(24);

/// What several were asked, as one waits for it.
struct asked {
    std::mutex guard;                                          // of what follows
    std::optional<std::vector<std::string>> missing;           // once all have answered
    std::optional<std::pair<error_code, std::string>> refused; // for good
};

bool may_come_yet(error_code c) {
    return c == error_code::unavailable || c == error_code::aborted || c == error_code::deadline_exceeded;
}

} // namespace

registration::registration(transport& t, peers& others, std::vector<std::pair<std::string, int>> holders) :
    transport_(t), to_self_(std::make_shared<gate>(t)) {
    for (const auto& [job, index] : holders) holders_[name_of(job, index)] = others.to(job, index);
}

registration::~registration() { to_self_->shut(); }

void registration::begin(duration limit) {
    const time_point deadline = transport_.now() + limit;
    const auto state = std::make_shared<asked>();
    const auto all = std::make_shared<all_answers>([state, &t = transport_](std::vector<std::string> missing) {
        {
            const std::lock_guard lock(state->guard);
            state->missing = std::move(missing);
        }
        t.wake();
    });
    const auto answered = [state, all, &t = transport_](const std::shared_ptr<peer>& to, const answer& a) {
        if (a.failed && !may_come_yet(a.code)) {
            const std::lock_guard lock(state->guard);
            if (!state->refused) state->refused.emplace(a.code, a.message);
        }
        all->came(*to, a);
        t.wake();
    };
    for (const auto& [task, to] : holders_) {
        all->expect();
        to->connect(deadline, [to = to, deadline, answered](const answer& linked) {
            if (linked.failed) return answered(to, linked);
            call(*to, attend_run{}, deadline, [to, answered](const answer& a) { answered(to, a); });
        });
    }
    all->came();
    const auto over = [&] {
        const std::lock_guard lock(state->guard);
        return state->missing || state->refused || stop_signal() != 0;
    };
    const tenon::detail::stop_listener on_signal([&](int) { transport_.wake(); });
    (void)transport_.work_until(over, deadline + std::chrono::seconds(5));
    const std::lock_guard lock(state->guard);
    if (state->refused) throw_error(state->refused->first, state->refused->second);
    if (!state->missing && stop_signal() != 0)
        throw cancelled_error("signal " + std::to_string(stop_signal()) +
                              " asked to stop before those that hold the variables were there");
    if (!state->missing)
        throw deadline_exceeded_error("those that hold the variables did not answer within " + in_words(limit));
    if (!state->missing->empty())
        throw deadline_exceeded_error("of those that hold the variables these were not there within " +
                                      in_words(limit) + ":" + in_lines(*state->missing));
}

void registration::lost(const std::string& task) {
    const auto at = holders_.find(task);
    if (at == holders_.end()) return;
    transport_.call_at(transport_.now() + first_look,
                       [this, inside = to_self_, to = at->second] { inside->pass([&] { tell_again(to); }); });
}

void registration::tell_again(const std::shared_ptr<peer>& to) {
    to->connect(transport_.now() + a_day, [to, &t = transport_](const answer& linked) {
        // Where it is lost again meanwhile, that is told, too.
        if (!linked.failed) call(*to, attend_run{}, t.now() + std::chrono::minutes(1), [](const answer&) {});
    });
}

void registration::leave(int status, duration limit) noexcept {
    try {
        const time_point deadline = transport_.now() + limit;
        const auto left = std::make_shared<std::atomic<std::size_t>>(holders_.size());
        for (const auto& [task, to] : holders_)
            call(*to, leave_run{status}, deadline, [left, &t = transport_](const answer&) {
                --*left;
                t.wake();
            });
        (void)transport_.work_until([&] { return *left == 0; }, deadline);
    } catch (...) { // they miss it
    }
}

} // namespace tenon::net
