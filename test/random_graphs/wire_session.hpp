#pragma once

#include <memory>
#include <vector>

#include <tenon/runtime/session/feed.hpp>
#include <tenon/runtime/session/session.hpp>

/// A session whose graph and whose parts of steps travel as bytes: what is run is what was read from them.

namespace random_graphs {

class wire_session {
public:
    /// On two tasks, /job:worker/task:0 and 1, of which the second has a GPU.
    wire_session(const tenon::graph& g, const tenon::session_options& o);
    ~wire_session();

    /// As session::run_untyped. What is not read as it was written is an internal_error.
    std::vector<tenon::any_array> run_untyped(std::vector<tenon::fed_value> feeds,
                                              const std::vector<tenon::any_tensor>& fetches,
                                              const std::vector<tenon::operation>& targets = {});
    std::size_t bytes() const noexcept { return bytes_; } ///< of parts that were sent

private:
    struct state;
    std::unique_ptr<state> state_;
    std::size_t bytes_ = 0;
};

} // namespace random_graphs
