#include "interleavings/scheduler.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/concurrency/spin_lock.hpp>

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace interleavings {

std::string now_running;

namespace {

constexpr std::int64_t never = INT64_MAX, for_a_place = 100, for_a_look = 200; // nanoseconds
constexpr std::uint64_t most_places = 20'000'000;

enum class state { ready, mutex, condition, futex, join, sleep, ended };
const char* const names[] = {
    "ready",  "waits for a mutex", "waits for a condition", "waits for an atomic", "joins a thread",
    "sleeps", "has ended"};

struct thread {
    int number = 0;
    sem_t turn{}; // the C library's own, which is not replaced here
    state now = state::ready;
    const void* on = nullptr;
    std::int64_t until = never;
    bool timed_out = false;
    pthread_t handle{};
    void* (*run)(void*) = nullptr;
    void* argument = nullptr;
};

struct owned {
    thread* by = nullptr;
    int times = 0;
};

// Used by the thread whose turn it is, alone.
struct machine {
    std::mt19937_64 random;
    double changes = 0;
    std::deque<thread> threads;
    std::unordered_map<const void*, owned> mutexes;
    std::int64_t time = 1'000'000'000'000;
    std::uint64_t places = 0, changed = 0, fingerprint = 0;
};
machine* all = nullptr;
thread_local thread* me = nullptr;

template <class F> F* real(const char* name) { return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name)); }
#define REAL(function) static const auto really = real<decltype(::function)>(#function)

void wait_for_turn(thread& t) {
    while (sem_wait(&t.turn) != 0) {
    }
}

[[noreturn]] void give_up(const char* why) {
    std::fprintf(stderr, "%s: %s\n", now_running.c_str(), why);
    for (const thread& t : all->threads)
        std::fprintf(stderr, "  thread %d %s %p\n", t.number, names[static_cast<int>(t.now)], t.on);
    std::_Exit(1);
}

void make_ready(thread& t, bool timed_out = false) {
    t.now = state::ready;
    t.timed_out = timed_out;
    t.until = never;
}

// Somebody goes on who can. `others`: rather than this one.
void go_on(bool others = false) {
    if (++all->places > most_places) give_up("it does not end");
    all->time += for_a_place;
    std::vector<thread*> can;
    for (bool jumped = false;; jumped = true) {
        for (thread& t : all->threads) {
            if (t.now != state::ready && t.now != state::ended && t.until <= all->time) make_ready(t, true);
            if (t.now == state::ready && !(others && &t == me)) can.push_back(&t);
        }
        if (!can.empty()) break;
        if (me->now == state::ready) return;
        std::int64_t next = never;
        for (const thread& t : all->threads)
            if (t.now != state::ended) next = std::min(next, t.until);
        if (next == never || jumped) give_up("all threads wait for each other");
        all->time = next;
    }
    thread* const next = can[all->random() % can.size()];
    all->fingerprint = all->fingerprint * 1099511628211u + static_cast<std::uint64_t>(next->number) + 1;
    if (next == me) return;
    ++all->changed;
    thread* const mine = me;
    const bool ends = mine->now == state::ended;
    sem_post(&next->turn);
    if (!ends) wait_for_turn(*mine);
}

// A place where threads may change.
void place() {
    ++all->places;
    all->time += for_a_place;
    if (std::uniform_real_distribution<double>(0, 1)(all->random) < all->changes) go_on();
}

// False where its time has come before somebody woke it.
bool wait(state how, const void* on, std::int64_t until = never) {
    me->now = how;
    me->on = on;
    me->until = until;
    me->timed_out = false;
    go_on();
    return !me->timed_out;
}

// As many as that; which of them is drawn.
int wake(state how, const void* on, int most) {
    std::vector<thread*> waiting;
    for (thread& t : all->threads)
        if (t.now == how && t.on == on) waiting.push_back(&t);
    int woken = 0;
    for (; woken < most && !waiting.empty(); ++woken) {
        const std::size_t n = all->random() % waiting.size();
        make_ready(*waiting[n]);
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(n));
    }
    return woken;
}

constexpr int everybody = 1 << 30;

int lock(pthread_mutex_t* m) {
    REAL(pthread_mutex_lock);
    for (owned* o = &all->mutexes[m]; o->by && o->by != me; o = &all->mutexes[m]) wait(state::mutex, m);
    owned& o = all->mutexes[m];
    o.by = me;
    ++o.times;
    return really(m);
}
int unlock(pthread_mutex_t* m) {
    REAL(pthread_mutex_unlock);
    if (const auto at = all->mutexes.find(m); at != all->mutexes.end() && --at->second.times == 0) {
        all->mutexes.erase(at);
        wake(state::mutex, m, everybody);
    }
    return really(m);
}

std::int64_t nanoseconds(const timespec& t) { return std::int64_t{1'000'000'000} * t.tv_sec + t.tv_nsec; }

int wait_for(pthread_cond_t* c, pthread_mutex_t* m, const timespec* until) {
    unlock(m);
    const bool woken = wait(state::condition, c, until ? nanoseconds(*until) : never);
    lock(m);
    return woken ? 0 : ETIMEDOUT;
}

int sleep_until(std::int64_t time) {
    wait(state::sleep, nullptr, time);
    return 0;
}

void* begin(void* of) {
    thread* const t = static_cast<thread*>(of);
    wait_for_turn(*t);
    me = t;
    void* const result = t->run(t->argument);
    t->now = state::ended;
    wake(state::join, t, everybody);
    go_on();
    me = nullptr;
    return result;
}

} // namespace

drawn_order::drawn_order(const order_options& o) {
    all = new machine;
    all->random.seed(o.seed);
    all->changes = o.changes;
    me = &all->threads.emplace_back();
    me->handle = pthread_self();
    sem_init(&me->turn, 0, 0);
}
drawn_order::~drawn_order() {
    // Who drops the last of a session or task may be one of its threads, which ends it by itself.
    const auto is_left = [](const thread& t) { return &t != me && t.now != state::ended; };
    for (int n = 0; n < 3 && std::any_of(all->threads.begin(), all->threads.end(), is_left); ++n)
        sleep_until(all->time + 1'000'000'000);
    for (thread& t : all->threads) {
        if (&t != me && t.now != state::ended) give_up("a thread outlives what made it");
        sem_destroy(&t.turn);
    }
    me = nullptr;
    delete std::exchange(all, nullptr);
}
void change_here() noexcept {
    if (me) place();
}
std::uint64_t drawn_order::places() const { return all->places; }
std::uint64_t drawn_order::changes() const { return all->changed; }
std::uint64_t drawn_order::fingerprint() const { return all->fingerprint; }

} // namespace interleavings

using namespace interleavings;

// In place of the C library's: for threads that have no turns these are as they are there.
extern "C" {

int pthread_mutex_lock(pthread_mutex_t* m) noexcept {
    REAL(pthread_mutex_lock);
    if (!me) return really(m);
    place();
    return lock(m);
}
int pthread_mutex_trylock(pthread_mutex_t* m) noexcept {
    REAL(pthread_mutex_trylock);
    if (!me) return really(m);
    place();
    owned& o = all->mutexes[m];
    if (o.by && o.by != me) return EBUSY;
    const int failed = really(m);
    if (!failed) {
        o.by = me;
        ++o.times;
    } else if (!o.by) all->mutexes.erase(m);
    return failed;
}
int pthread_mutex_unlock(pthread_mutex_t* m) noexcept {
    REAL(pthread_mutex_unlock);
    if (!me) return really(m);
    const int failed = unlock(m);
    place();
    return failed;
}

int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
    REAL(pthread_cond_wait);
    return me ? wait_for(c, m, nullptr) : really(c, m);
}
int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* until) {
    REAL(pthread_cond_timedwait);
    return me ? wait_for(c, m, until) : really(c, m, until);
}
int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock, const timespec* until) {
    REAL(pthread_cond_clockwait);
    return me ? wait_for(c, m, until) : really(c, m, clock, until);
}
int pthread_cond_signal(pthread_cond_t* c) noexcept {
    REAL(pthread_cond_signal);
    if (!me) return really(c);
    wake(state::condition, c, 1);
    place();
    return really(c);
}
int pthread_cond_broadcast(pthread_cond_t* c) noexcept {
    REAL(pthread_cond_broadcast);
    if (!me) return really(c);
    wake(state::condition, c, everybody);
    place();
    return really(c);
}

int pthread_create(pthread_t* handle, const pthread_attr_t* how, void* (*run)(void*), void* argument) noexcept {
    REAL(pthread_create);
    if (!me) return really(handle, how, run, argument);
    thread& t = all->threads.emplace_back();
    t.number = static_cast<int>(all->threads.size()) - 1;
    sem_init(&t.turn, 0, 0);
    t.run = run;
    t.argument = argument;
    const int failed = really(&t.handle, how, begin, &t);
    *handle = t.handle;
    if (failed) t.now = state::ended;
    place();
    return failed;
}
int pthread_join(pthread_t handle, void** result) {
    REAL(pthread_join);
    if (!me) return really(handle, result);
    place();
    for (thread& t : all->threads)
        if (t.now != state::ended && pthread_equal(t.handle, handle)) wait(state::join, &t);
    return really(handle, result);
}

int sched_yield() noexcept {
    REAL(sched_yield);
    if (!me) return really();
    go_on(true);
    return 0;
}
int nanosleep(const timespec* time, timespec* left) {
    REAL(nanosleep);
    return me ? sleep_until(all->time + nanoseconds(*time)) : really(time, left);
}
int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
    REAL(clock_nanosleep);
    if (!me) return really(clock, flags, time, left);
    return sleep_until(nanoseconds(*time) + (flags & TIMER_ABSTIME ? 0 : all->time));
}
int clock_gettime(clockid_t clock, timespec* now) noexcept {
    REAL(clock_gettime);
    if (!me || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)) return really(clock, now);
    all->time += for_a_look;
    now->tv_sec = all->time / 1'000'000'000;
    now->tv_nsec = all->time % 1'000'000'000;
    return 0;
}

// What atomics wait by.
long syscall(long number, ...) noexcept {
    static const auto really = real<long(long, ...)>("syscall");
    va_list list;
    va_start(list, number);
    long a[6];
    for (long& x : a) x = va_arg(list, long);
    va_end(list);
    if (!me || number != SYS_futex) return really(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    const auto* const word = reinterpret_cast<const int*>(a[0]);
    switch (a[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT: {
        place();
        if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != static_cast<int>(a[2])) {
            errno = EAGAIN;
            return -1;
        }
        const auto* const limit = reinterpret_cast<const timespec*>(a[3]);
        if (wait(state::futex, word, limit ? all->time + nanoseconds(*limit) : never)) return 0;
        errno = ETIMEDOUT;
        return -1;
    }
    case FUTEX_WAKE: {
        const int woken = wake(state::futex, word, static_cast<int>(a[2]));
        place();
        return woken;
    }
    default: give_up("a way to wait that is not known here");
    }
}

} // extern "C"
