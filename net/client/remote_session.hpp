#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <net/client/awaited_answer.hpp>
#include <net/client/data_sets.hpp>
#include <net/rpc/peer.hpp>
#include <net/wire/calls.hpp>
#include <net/wire/graph_codec.hpp>
#include <tenon/resources/resources.hpp>
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
    std::vector<run_count> random_runs() const override { return runs_.counts(); }
    void set_random_runs(const std::vector<run_count>& counts) override;
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
    /// A callable of the server; the server is told to drop it with the last who holds it here.
    struct server_callable {
        std::uint64_t number = 0;
        std::vector<std::shared_ptr<run_counter>> counted; // of the random ops that its steps run
        // A step that was answered so; one that was lost may have run.
        void count_run(const answer& a) const noexcept {
            if (a.failed && !a.unknown && a.reason != error_reason::lost_task) return;
            for (const auto& c : counted) (void)c->next();
        }
    };
    using known_callable = std::shared_ptr<const server_callable>;

    // What a step waits for goes on where the step has ended: what is sent to the server is known there, sooner or later.
    using waited_for = std::shared_ptr<awaited_answer>;

    template <class C> typename C::reply ask(const C& c, double seconds) const;
    template <class C> waited_for begin(const C& c, call_time until) const;
    waited_for begin_step(const known_callable& which, const run_step& c, const step& in,
                          std::uint64_t* number = nullptr) const;
    void limit(step& in, double timeout) const;
    void wait(const awaited_answer& a, const step& in, const char* what) const;
    void extend(const step& in);
    known_callable callable_for(const std::vector<any_tensor>& feeds, const fetch_request& r, const step& in);
    known_callable known(server_callable&& callable) const;
    std::vector<std::shared_ptr<run_counter>> counters_of(const std::vector<any_tensor>& feeds, const fetch_request& r);
    run_step step_of(const known_callable& which, std::size_t feeds, const any_array* const* fed, double timeout) const;
    void run(const known_callable& which, std::size_t feeds, const fetch_request& r, const any_array* const* fed,
             any_array* fetched, double timeout, const step& in);
    void take(answer a, const step& in, const fetch_request& q, any_array* fetched, trace* t, std::int64_t began) const;
    void tell_placed(const std::vector<std::string>& lines) const;

    transport& transport_;
    const std::shared_ptr<peer> server_;
    std::uint64_t session_ = 0, incarnation_ = 0;
    std::shared_ptr<served_data> data_; // for iterators
    mutable tenon::detail::observed<trace> traced_{"set_trace"};

    run_counters runs_; // as far as steps are known to have run

    std::mutex extending_;     // of what follows; before guard_
    graph_mark sent_, coming_; // what the server has; and will have, by what is under way
    waited_for extension_;
    mutable std::mutex guard_;                         // of what follows
    std::map<callable_key, known_callable> callables_; // that steps without a callable of their own may use again
    std::list<callable_key> by_age_;                   // the oldest first
    std::map<callable_key, waited_for> coming_callables_;
};

} // namespace tenon::net
