#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace tenon::test {

/// An environment variable for as long as this lives.
class environment {
public:
    environment(const char* name, const std::string& value) : name_(name) {
        if (const char* before = std::getenv(name)) before_ = before;
        setenv(name, value.c_str(), 1);
    }
    ~environment() {
        if (before_) setenv(name_, before_->c_str(), 1);
        else unsetenv(name_);
    }
    environment(environment&&) = delete;

private:
    const char* name_;
    std::optional<std::string> before_;
};

} // namespace tenon::test
