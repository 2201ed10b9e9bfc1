#include <chrono>
#include <csignal>
#include <future>
#include <sys/wait.h>
#include <unistd.h>

#include "tests.hpp"
#include "thread_sanitized.hpp"

namespace {

// Signals are of a whole process: each test is one of its own, and ends with 0 where all is as it should be.
template <class F> int status_of(F&& f) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(f() ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

TEST_CASE("a signal is noted, and told to who listens, once" * doctest::skip(is_thread_sanitized)) {
    CHECK(status_of([] {
              tn::stop_on_signals();
              std::promise<int> came;
              const tn::detail::stop_listener listens([&](int number) { came.set_value(number); });
              std::promise<int> gone;
              {
                  const tn::detail::stop_listener leaves([&](int number) { gone.set_value(number); });
              }
              if (tn::stop_signal() != 0) return false;
              ::raise(SIGUSR1);
              ::raise(SIGUSR1);
              ::raise(SIGTERM);
              if (came.get_future().get() != SIGUSR1 || tn::stop_signal() != SIGUSR1) return false;
              int late = 0; // who comes afterwards is told at once
              const tn::detail::stop_listener comes([&](int number) { late = number; });
              return late == SIGUSR1 &&
                     gone.get_future().wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
          }) == 0);
}

TEST_CASE("the second SIGTERM ends the process" * doctest::skip(is_thread_sanitized)) {
    CHECK(status_of([] {
              tn::stop_on_signals();
              ::raise(SIGTERM);
              ::raise(SIGTERM);
              return true;
          }) == 128 + SIGTERM);
}

TEST_CASE("what is ignored stays so, and no signal is refused by number" * doctest::skip(is_thread_sanitized)) {
    CHECK(status_of([] {
              std::signal(SIGUSR1, SIG_IGN);
              tn::stop_on_signals();
              ::raise(SIGUSR1);
              try {
                  tn::stop_on_signals({12345});
              } catch (const tn::invalid_argument_error&) {
                  return tn::stop_signal() == 0;
              }
              return false;
          }) == 0);
}
