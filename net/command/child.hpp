#pragma once

#include <map>
#include <optional>
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
    /// `to` is a descriptor. Where there is a mark, it is left out once, at the end of a line.
    line_writer(int to, std::string prefix, std::string mark = {}) :
        to_(to), prefix_(std::move(prefix)), mark_(std::move(mark)) {}
    void add(std::string_view text);
    /// What has no end yet is a line.
    void end();
    /// Whether there is no mark, or it has come.
    bool is_past_mark() const noexcept { return mark_.empty(); }

private:
    void write_line(std::string_view line);

    int to_;
    std::string prefix_, mark_;
    std::string begun_;
};

/// What a process reads.
struct child_input {
    std::string text; ///< what it begins with
    std::string mark; ///< what it writes among its errors when it has begun, which is not shown; empty: nothing
};

/// A process, leader of a group of its own, which the guard knows. It is killed when the thread that started it ends.
class child {
public:
    /// Throws unavailable_error where it cannot be started, naming the program and why. Where an input is given, it goes on with what is
    /// told, and ends with this process; else there is none.
    child(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables,
          const std::string& prefix, guard& watcher, const std::optional<child_input>& input = std::nullopt);
    child(child&&) = delete;
    /// Kills its group, and takes its status.
    ~child();

    pid_t pid() const noexcept { return pid_; }
    /// By its mark, where its input has one.
    bool has_begun() const noexcept { return err_lines_.is_past_mark(); }
    /// To all of its group.
    void signal(int number) noexcept;

    /// Adds to its input; dropped where it has none, or reads no more.
    void tell(std::string_view text);
    /// To be polled for writing; -1 where nothing waits to be read by it.
    int input() const noexcept { return untold_.empty() ? -1 : in_; }
    /// Gives what can be given without waiting.
    void write_input();

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
    int in_ = -1, out_ = -1, err_ = -1;
    std::string untold_; // of its input
    bool ended_ = false;
    int status_ = 0; // as waitpid gives it
    line_writer out_lines_, err_lines_;
};

} // namespace tenon::command
