#pragma once

#include <functional>
#include <map>

#include "random_queues/program.hpp"
#include "reference/overlap/overlap.hpp"

/// How steps are run in a session.

namespace random_queues {

/// A session and the callables that are kept in it.
class runner {
public:
    runner(const tenon::task& t, const tenon::graph& g, const tenon::session_options& o) : session_(t, g, o) {}

    using results = std::vector<tenon::any_array>;
    /// Throws what the step throws. By one thread at a time, but for steps of different ways.
    results run(const step& s, double limit);
    struct pending {
        std::function<results()> get;
        std::function<void()> stop;
        std::function<bool()> has_ended;
    };
    pending start(const step& s, double limit);
    /// Makes the callables that are kept, so that threads need not.
    void prepare(const step& s);

private:
    using key = std::string;
    static key key_of(const step& s) { return to_string(s); }
    tenon::untyped_callable made(const step& s);

    tenon::session session_;
    std::map<key, tenon::untyped_callable> kept_;
};

} // namespace random_queues
