#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <net/transport/poller.hpp>
#include <tenon/concurrency/deferred_flush.hpp>

namespace tenon::net {

namespace {

constexpr std::uint64_t event_id = 0; // of no socket
constexpr std::uint32_t interest = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

std::uint32_t readiness_of(std::uint32_t events) noexcept {
    std::uint32_t what = 0;
    if (events & EPOLLIN) what |= readiness::read;
    if (events & EPOLLOUT) what |= readiness::write;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) what |= readiness::over;
    return what;
}

[[noreturn]] void failed(const char* what) {
    throw resource_exhausted_error(std::string("network: ") + what + ": " + std::strerror(errno));
}

// Milliseconds until then, rounded up, for epoll_wait.
int milliseconds_until(time_point limit) noexcept {
    if (limit == time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, std::numeric_limits<int>::max()));
}

} // namespace

poller::poller(int io_threads) : readers_(io_threads) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) failed("no epoll instance");
    event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_event e{.events = EPOLLIN | EPOLLET, .data = {.u64 = event_id}};
    if (event_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, event_, &e) != 0) {
        ::close(epoll_);
        failed("no eventfd");
    }
}

poller::~poller() {
    ::close(event_);
    ::close(epoll_);
}

void poller::add(int socket, std::uint64_t id, std::shared_ptr<watched> who) {
    {
        const std::lock_guard lock(table_guard_);
        table_.emplace(id, std::move(who));
    }
    epoll_event e{.events = interest, .data = {.u64 = id}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &e) == 0) return;
    const int error = errno;
    const std::lock_guard lock(table_guard_);
    table_.erase(id);
    errno = error;
    failed("a connection cannot be watched");
}

void poller::remove(int socket, std::uint64_t id) noexcept {
    epoll_event e{};
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, &e);
    std::shared_ptr<watched> last; // ends outside of the lock
    const std::lock_guard lock(table_guard_);
    if (const auto at = table_.find(id); at != table_.end()) {
        last = std::move(at->second);
        table_.erase(at);
    }
}

void poller::tell_again(int socket, std::uint64_t id) noexcept {
    epoll_event e{.events = interest, .data = {.u64 = id}};
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, socket, &e);
}

void poller::handle(std::uint64_t id, std::uint32_t what) {
    std::shared_ptr<watched> who;
    {
        const std::lock_guard lock(table_guard_);
        if (const auto at = table_.find(id); at != table_.end()) who = at->second;
    }
    if (who) who->ready(what);
}

struct poller::io_thread {
    const poller* of;
    work_item given{};                               // to be done aside
    const deferred_flush* keeping = nullptr;         // while it is done
    std::vector<std::shared_ptr<watched>> to_send{}; // by those, whose messages were kept back
};

poller::io_thread*& poller::this_thread() noexcept {
    thread_local io_thread* mine = nullptr;
    return mine;
}

void poller::work() {
    constexpr int most = 8;
    epoll_event events[most];
    io_thread mine{this};
    this_thread() = &mine;
    while (!stopped_.load()) {
        const int count = ::epoll_wait(epoll_, events, most, -1);
        for (int i = 0; i < count; ++i) {
            if (events[i].data.u64 == event_id) wake_leader();
            else handle(events[i].data.u64, readiness_of(events[i].events));
        }
        if (mine.given) run_deferred(mine);
    }
    {
        const std::lock_guard lock(deferred_guard_);
        --readers_;
    }
    this_thread() = nullptr;
    interrupt(); // the next of the I/O threads
}

bool poller::defer(work_item& work) {
    io_thread* const mine = this_thread();
    if (!mine || mine->of != this || mine->given) return false;
    const std::lock_guard lock(deferred_guard_);
    if (readers_ <= 1) return false;
    --readers_;
    mine->given = std::move(work);
    return true;
}

bool poller::has_deferred() const noexcept {
    const io_thread* const mine = this_thread();
    return mine && mine->of == this && mine->given;
}

bool poller::keep_back(const std::shared_ptr<watched>& who) {
    io_thread* const mine = this_thread();
    if (!mine || mine->of != this || !mine->keeping || !mine->keeping->may_defer()) return false;
    if (std::find(mine->to_send.begin(), mine->to_send.end(), who) == mine->to_send.end()) mine->to_send.push_back(who);
    return true;
}

void poller::run_deferred(io_thread& mine) {
    const auto send = [&] {
        for (const auto& who : mine.to_send) who->send_kept();
        mine.to_send.clear();
    };
    const deferred_flush keeping(send); // it ends when this thread is a reader again: answers may come at once
    mine.keeping = &keeping;
    mine.given();
    mine.given = work_item();
    mine.keeping = nullptr;
    const std::lock_guard lock(deferred_guard_);
    ++readers_;
}

void poller::stop() noexcept {
    stopped_ = true;
    interrupt();
}

void poller::interrupt() noexcept {
    const std::uint64_t one = 1;
    // It fails where the count is at its end, and then it has been written to often enough.
    [[maybe_unused]] const auto written = ::write(event_, &one, sizeof one);
}

// On an I/O thread, which was woken instead of the leader: it stays away from the sockets until the leader is awake, so that no
// other is left whom the kernel could choose.
void poller::wake_leader() noexcept {
    const std::uint32_t turn = leader_turn_.load();
    if (turn % 2 == 0) return;
    interrupt();
    leader_turn_.wait(turn);
}

void poller::wake() noexcept {
    wakes_.fetch_add(1);
    if (followers_.load() > 0) {
        const std::lock_guard lock(callers_guard_);
        callers_changed_.notify_all();
    }
    if (leader_turn_.load() % 2 == 1) interrupt();
}

bool poller::work_until(function_ref<bool()> done, time_point limit) {
    {
        std::unique_lock lock(callers_guard_);
        while (has_leader_) {
            const std::uint64_t seen = wakes_.load();
            lock.unlock();
            if (done()) return true;
            if (std::chrono::steady_clock::now() >= limit) return false;
            lock.lock();
            const auto changed = [&] { return !has_leader_ || wakes_.load() != seen; };
            followers_.fetch_add(1);
            if (limit == time_point::max()) callers_changed_.wait(lock, changed);
            else callers_changed_.wait_until(lock, limit, changed);
            followers_.fetch_sub(1);
        }
        has_leader_ = true;
    }
    struct leaving {
        poller& of;
        ~leaving() {
            const std::lock_guard lock(of.callers_guard_);
            of.has_leader_ = false;
            if (of.followers_.load() > 0) of.callers_changed_.notify_all();
        }
    } const leaves{*this};
    return lead(done, limit);
}

bool poller::lead(function_ref<bool()> done, time_point limit) {
    for (;;) {
        const std::uint64_t seen = wakes_.load();
        if (done()) return true;
        if (std::chrono::steady_clock::now() >= limit) return false;
        epoll_event e{};
        int count = 0;
        leader_turn_.fetch_add(1);
        if (wakes_.load() == seen) count = ::epoll_wait(epoll_, &e, 1, milliseconds_until(limit));
        leader_turn_.fetch_add(1);
        leader_turn_.notify_all();
        // What stops the I/O threads is theirs.
        if (count == 1 && e.data.u64 != event_id) handle(e.data.u64, readiness_of(e.events));
        else if (count == 1 && stopped_.load()) interrupt();
    }
}

} // namespace tenon::net
