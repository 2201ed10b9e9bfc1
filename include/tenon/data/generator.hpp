#pragma once

#include <tenon/core/config.hpp>

#include <coroutine>
#include <exception>
#include <iterator>
#include <utility>

/// Coroutines that give elements one after another.
///
///     tn::generator<std::int64_t> squares(int n) {
///         for (int i = 0; i < n; ++i) co_yield std::int64_t{i} * i;
///     }
///     auto set = tn::data::generator([] { return squares(10); });

namespace tenon {

/// What a coroutine that says co_yield returns: a range that is gone through once. What the coroutine throws is thrown by
/// begin() or by the iterator's ++; then the range is at its end.
template <class T> class generator {
public:
    struct promise_type {
        T* value = nullptr; // lives until the coroutine goes on
        std::exception_ptr failure;

        generator get_return_object() { return generator(handle::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(T& v) noexcept {
            value = &v;
            return {};
        }
        std::suspend_always yield_value(T&& v) noexcept {
            value = &v;
            return {};
        }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { failure = std::current_exception(); }
        void await_transform() = delete; // it waits for nothing
    };
    using handle = std::coroutine_handle<promise_type>;

    generator(generator&& o) noexcept : of_(std::exchange(o.of_, nullptr)) {}
    generator& operator=(generator&& o) noexcept {
        std::swap(of_, o.of_);
        return *this;
    }
    ~generator() {
        if (of_) of_.destroy();
    }

    class iterator {
    public:
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        explicit iterator(handle of) : of_(of) {}
        /// May be moved from.
        T& operator*() const noexcept { return *of_.promise().value; }
        iterator& operator++() {
            go_on(of_);
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const noexcept { return of_.done(); }

    private:
        handle of_;
    };
    iterator begin() {
        go_on(of_);
        return iterator(of_);
    }
    std::default_sentinel_t end() const noexcept { return {}; }

private:
    explicit generator(handle of) noexcept : of_(of) {}
    static void go_on(handle of) {
        if (of.done()) return;
        of.resume();
        if (of.promise().failure) std::rethrow_exception(std::exchange(of.promise().failure, nullptr));
    }
    handle of_;
};

} // namespace tenon
