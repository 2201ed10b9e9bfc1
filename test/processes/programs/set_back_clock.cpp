// For LD_PRELOAD: from when the file TENON_TEST_SET_BACK exists, the wall clock of the process is an hour behind. It says so, once.
#include <atomic>
#include <cstdlib>

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {

std::atomic<bool> is_set_back{false};

bool look() noexcept {
    if (is_set_back.load()) return true;
    if (const char* const file = std::getenv("TENON_TEST_SET_BACK"); !file || ::access(file, F_OK) != 0) return false;
    constexpr char words[] = "the clock was set back\n";
    if (!is_set_back.exchange(true)) (void)!::write(2, words, sizeof words - 1);
    return true;
}

timespec wall_time() noexcept {
    timespec at{};
    ::syscall(SYS_clock_gettime, CLOCK_REALTIME, &at);
    if (look()) at.tv_sec -= 3600;
    return at;
}

} // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* at) noexcept {
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return static_cast<int>(::syscall(SYS_clock_gettime, clock, at));
    *at = wall_time();
    return 0;
}

extern "C" int gettimeofday(timeval* at, void*) noexcept {
    const timespec now = wall_time();
    *at = {now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

extern "C" time_t time(time_t* at) noexcept {
    const time_t now = wall_time().tv_sec;
    if (at) *at = now;
    return now;
}
