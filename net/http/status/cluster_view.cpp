#include <net/http/status/cluster_view.hpp>

#include <utility>

namespace tenon::net {

namespace {

constexpr std::chrono::milliseconds fresh{500}, stale{5000};

} // namespace

cluster_view::cluster_view(http_facts& of, std::function<void()> came) : of_(of), state_(std::make_shared<state>()) {
    state_->came = std::move(came);
}

std::shared_ptr<const cluster_view::seen> cluster_view::look() {
    const clock::time_point now = clock::now();
    std::shared_ptr<const seen> last;
    bool asks = false;
    {
        const std::lock_guard lock(state_->guard);
        last = state_->last;
        if (!last || now - last->at >= fresh) asks = !std::exchange(state_->is_asking, true);
    }
    if (!asks) return last && now - last->at < stale ? last : nullptr;
    try {
        of_.ask_all([s = state_, now](std::vector<task_row> rows) {
            std::shared_ptr<const seen> what = std::make_shared<const seen>(seen{now, std::move(rows)});
            {
                const std::lock_guard lock(s->guard);
                s->last.swap(what); // what was seen before ends after the lock
                s->is_asking = false;
            }
            s->came();
        });
    } catch (...) {
        const std::lock_guard lock(state_->guard);
        state_->is_asking = false;
        throw;
    }
    const std::lock_guard lock(state_->guard); // where nobody else is asked it is there
    last = state_->last;
    return last && now - last->at < stale ? last : nullptr;
}

} // namespace tenon::net
