#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

/// A test case, marked as one to be skipped, that runs as a program of its own until it is killed. What it is told to do is the value of
/// child_program::task(); it tells what it has done as bytes.
class child_program {
public:
    child_program(const std::string& test_case, const std::string& task) {
        int ends[2];
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 3);
        ::setenv(variable, task.c_str(), 1);
        std::string program = "/proc/self/exe", filter = "--test-case=" + test_case, skip = "--no-skip";
        char* arguments[] = {program.data(), filter.data(), skip.data(), nullptr};
        const int failed = ::posix_spawn(&child_, program.c_str(), &actions, nullptr, arguments, environ);
        ::unsetenv(variable);
        posix_spawn_file_actions_destroy(&actions);
        ::close(ends[1]);
        told_ = ends[0];
        REQUIRE(failed == 0);
    }
    child_program(const child_program&) = delete;
    child_program& operator=(const child_program&) = delete;
    ~child_program() {
        if (child_ > 0) kill();
        ::close(told_);
    }

    /// In the program: its task; null where the test case was not started as one.
    static const char* task() { return std::getenv(variable); }
    static void tell() {
        if (::write(3, "s", 1) != 1) ::_exit(1);
    }

    /// Waits until it tells once more; false where it has ended and told no more.
    bool told() {
        char c = 0;
        return ::read(told_, &c, 1) == 1;
    }
    void kill() {
        int status = 0;
        CHECK(::kill(child_, SIGKILL) == 0);
        CHECK(::waitpid(child_, &status, 0) == child_);
        CHECK(WIFSIGNALED(status));
        child_ = -1;
    }

private:
    static constexpr const char* variable = "TENON_TEST_CHILD_TASK";
    pid_t child_ = -1;
    int told_ = -1;
};
