#pragma once

#include <string>

#include <tenon/core/config.hpp>

namespace tenon {

/// A kernel that can say what it runs, for people (session::emit): the source of what was compiled for it, or who runs it.
class shown_kernel {
public:
    virtual std::string shown() const = 0;

protected:
    ~shown_kernel() = default;
};

} // namespace tenon
