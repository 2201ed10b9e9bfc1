#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests.hpp"

/// A pipe whose writer gives two lines and then, as long as it lives, nothing.
class silent_pipe {
public:
    explicit silent_pipe(std::string path) : path_(std::move(path)) {
        REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
        writer_ = ::open(path_.c_str(), O_RDWR);
        REQUIRE(::write(writer_, "one\ntwo\n", 8) == 8);
    }
    silent_pipe(const silent_pipe&) = delete;
    silent_pipe& operator=(const silent_pipe&) = delete;
    ~silent_pipe() { ::close(writer_); }
    const std::string& path() const { return path_; }

private:
    std::string path_;
    int writer_;
};
