#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <net/command/guard.hpp>

/// Processes that were started, and what they write.

namespace tenon::command {

/// Cuts what arrives into lines, and writes each with one call behind a prefix: so no two are mixed. A line of more than 1 MiB
/// is cut.
class line_writer {
public:
    /// `to` is a descriptor.
    line_writer(int to, std::string prefix) : to_(to), prefix_(std::move(prefix)) {}
    void add(std::string_view text);
    /// What has no end yet is a line.
    void end();

private:
    void write_line(std::string_view line);

    int to_;
    std::string prefix_;
    std::string begun_;
};

/// A process, leader of a group of its own, which the guard knows. It is killed when the thread that started it ends.
class child {
public:
    /// Throws unavailable_error where it cannot be started, naming the program and why. Its input is empty.
    child(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables,
          const std::string& prefix, guard& watcher);
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    /// Kills its group, and takes its status.
    ~child();

    pid_t pid() const noexcept { return pid_; }
    /// To all of its group.
    void signal(int number) noexcept;

    /// Descriptors to be polled for reading; -1 where it has ended.
    int output() const noexcept { return out_; }
    int errors() const noexcept { return err_; }
    /// Takes what is there, without waiting.
    void read_output();
    void read_errors();

    /// Whether it has ended; takes its status, once, and what it has written.
    bool ended();
    /// Its exit status; 128 + the signal's number where one killed it.
    int status() const noexcept;
    /// "ended with status 3", "was killed by signal 9 (Killed)".
    std::string status_words() const;

private:
    guard& watcher_;
    pid_t pid_ = -1;
    int out_ = -1, err_ = -1;
    bool ended_ = false;
    int status_ = 0; // as waitpid gives it
    line_writer out_lines_, err_lines_;
};

} // namespace tenon::command
