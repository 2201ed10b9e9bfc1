#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <net/link/peer.hpp>
#include <net/wire/calls.hpp>
#include <net/wire/graph_codec.hpp>
#include <tenon/runtime/session/backend.hpp>
#include <tenon/runtime/session/observed.hpp>

/// The session behind session("tenon://host:port"): its server plans and runs the steps.

namespace tenon::net {

/// Thread-safe. Who calls waits, and works for the transport meanwhile.
class remote_session final : public tenon::detail::session_state, public std::enable_shared_from_this<remote_session> {
public:
    /// Throws what open_session is answered, unavailable_error where no server answers. `t` outlives it. `own_name`: whose it
    /// is, for those who look at the server.
    remote_session(transport& t, peer_options to, std::string own_name, const tenon::graph& g,
                   const session_options& o);
    /// The server is told, and gives back what the session holds.
    ~remote_session() override;

    std::vector<any_array> run(tenon::detail::run_request&& r) override;
    std::shared_ptr<tenon::detail::callable_state> make_callable(const std::vector<any_tensor>& feeds,
                                                                 const tenon::detail::fetch_request& r) override;
    step_report report(tenon::detail::run_request&& r) override;
    placement_explanation explain(tenon::detail::run_request&& r) override;
    session_statistics statistics() const override;
    std::vector<device_attributes> list_devices() const override;
    tenon::memory_info memory_info(const device_name& device) const override;
    void set_trace(trace* t) override { traced_.set(t); }
    /// unimplemented_error: what steps on servers take is not measured.
    void set_measurements(cost_measurements* m) override;
    void note_started_runner(const any_tensor& queue) override;
    void close() override;
    void end() noexcept override;

private:
    friend class remote_callable;
    friend class remote_pending;
    using fetch_request = tenon::detail::fetch_request;
    using callable_key = std::vector<std::int64_t>;
    /// A callable of the server, by its number; the server is told to drop it with the last who holds it here.
    using known_callable = std::shared_ptr<const std::uint64_t>;

    template <class C> typename C::reply ask(const C& c, double seconds) const;
    void extend();
    known_callable callable_for(const std::vector<any_tensor>& feeds, const fetch_request& r);
    run_step step_of(const known_callable& which, std::size_t feeds, const any_array* const* fed, double timeout) const;
    void run(const known_callable& which, std::size_t feeds, const fetch_request& r, const any_array* const* fed,
             any_array* fetched, double timeout);
    void take(run_step::reply&& r, const fetch_request& q, any_array* fetched, trace* t, std::int64_t began) const;
    time_point deadline_of(double timeout) const;
    void tell_placed(const std::vector<std::string>& lines) const;

    transport& transport_;
    const std::shared_ptr<peer> server_;
    std::uint64_t session_ = 0, incarnation_ = 0;
    mutable tenon::detail::observed<trace> traced_{"set_trace"};

    std::mutex extending_;                             // one at a time; before guard_
    graph_mark sent_;                                  // under it
    mutable std::mutex guard_;                         // of what follows
    std::map<callable_key, known_callable> callables_; // that steps without a callable of their own may use again
    std::list<callable_key> by_age_;                   // the oldest first
};

} // namespace tenon::net
