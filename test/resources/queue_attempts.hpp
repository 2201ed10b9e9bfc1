#pragma once

#include <exception>

#include <tenon/resources/queue.hpp>

#include "tests.hpp"

/// What is asked of queues of numbers in tests.

namespace queues {

using list = std::vector<std::int64_t>;

inline tn::any_array number(std::int64_t n) { return tn::test::array_of<std::int64_t>({}, {n}); }
inline tn::any_array numbers(const std::vector<std::int64_t>& all) { return tn::test::array_of(all); }
inline std::vector<std::int64_t> values_of(const tn::any_array& a) {
    return {a.data<std::int64_t>(), a.data<std::int64_t>() + a.elements()};
}

struct attempt final : tn::queue_attempt {
    attempt() = default;
    explicit attempt(tn::any_array component) { tuple.push_back(std::move(component)); }
    bool done = false;
    std::string failure; // empty: none
    std::vector<std::int64_t> got() const { return values_of(tuple.at(0)); }

private:
    void completed(std::exception_ptr why) noexcept override {
        CHECK(!done);
        done = true;
        if (!why) return;
        try {
            std::rethrow_exception(why);
        } catch (const tn::error& e) {
            failure = std::string(tn::name_of(e.code())) + ": " + e.what();
        } catch (...) {
            failure.assign(1, '?');
        }
    }
};

inline tn::queue_description of_numbers(std::int64_t capacity) {
    return {.components = {{tn::element_type::int64, {}}}, .capacity = capacity};
}

} // namespace queues
