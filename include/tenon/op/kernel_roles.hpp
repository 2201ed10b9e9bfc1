#pragma once

#include <cstdint>
#include <string>

#include <tenon/op/kernel.hpp>

/// What a kernel may be besides.

namespace tenon {

/// A kernel that can say what it runs, for people (session::emit): the source of what was compiled for it, or who runs it.
class shown_kernel {
public:
    virtual std::string shown() const = 0;

protected:
    ~shown_kernel() = default;
};

/// What a kernel is besides where it can compute rows of its outputs, the indices of their first dimension, apart from each other. Each
/// thread then takes its share of the rows through several kernels and meets the others once (runtime/plan/row_runs.inl).
class row_kernel {
public:
    /// Shares are made of so many parts: what is summed over rows is so part by part, whatever the threads are.
    static constexpr int row_parts = 4;
    /// Share s of n rows begins here.
    static constexpr std::int64_t begin_of(std::int64_t n, int share, int shares) noexcept {
        return n * share / shares;
    }

    /// The size of that dimension; 0: it computes all or nothing.
    virtual std::int64_t rows() const = 0;
    /// Whether rows need of input i the same rows alone.
    virtual bool is_by_rows(int i) const = 0;
    /// False of an output that is there only when all rows are, after finish().
    virtual bool gives_rows(int /*o*/) const { return true; }
    /// Whether it computes so many shares about as fast as the whole.
    virtual bool can_divide(int /*shares*/) const { return true; }
    /// Before its first run, and before anybody asks what it needs of memory: shares are so many, which divides `row_parts`.
    virtual void divide(int shares) = 0;
    /// Computes a share. Of several threads, each has a share of its own.
    virtual void run_share(const kernel_run& r, int share) const = 0;
    /// After all shares.
    virtual void finish(const kernel_run&) const {}

protected:
    ~row_kernel() = default;
};

} // namespace tenon
