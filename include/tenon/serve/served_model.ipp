#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/serve/served_model.hpp>

namespace tenon {

namespace detail {

TENON_INLINE std::uint64_t new_client() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}
TENON_INLINE std::uint64_t client_of_thread() {
    thread_local const std::uint64_t own = new_client();
    return own;
}

struct answer_slot::state {
    mutable std::mutex guard; // of what follows
    mutable std::condition_variable changed;
    std::optional<model_answer> answer;
    std::shared_ptr<asked_request> request; // until it is answered
    bool taken = false;
};

TENON_INLINE answer_slot::answer_slot() : state_(std::make_unique<state>()) {}
TENON_INLINE answer_slot::~answer_slot() = default;

TENON_INLINE void answer_slot::put(model_answer&& a) noexcept {
    std::shared_ptr<asked_request> over; // ends after the lock
    const std::lock_guard lock(state_->guard);
    over = std::move(state_->request);
    state_->answer.emplace(std::move(a));
    state_->changed.notify_all();
}

TENON_INLINE bool answer_slot::wait_for(double seconds) const {
    std::unique_lock lock(state_->guard);
    return state_->changed.wait_for(lock, std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e9)),
                                    [&] { return state_->answer.has_value(); });
}

TENON_INLINE std::vector<any_array> answer_slot::take() {
    std::unique_lock lock(state_->guard);
    state_->changed.wait(lock, [&] { return state_->answer.has_value(); });
    if (std::exchange(state_->taken, true))
        throw failed_precondition_error("pending_answer::get: this answer was taken before; call it once");
    if (state_->answer->failure) std::rethrow_exception(std::exchange(state_->answer->failure, nullptr));
    return std::move(state_->answer->outputs);
}

TENON_INLINE std::int64_t answer_slot::version() const {
    std::unique_lock lock(state_->guard);
    state_->changed.wait(lock, [&] { return state_->answer.has_value(); });
    return state_->answer->version;
}

TENON_INLINE void answer_slot::set_request(std::shared_ptr<asked_request> r) {
    const std::lock_guard lock(state_->guard);
    if (!state_->answer) state_->request = std::move(r);
}

TENON_INLINE void answer_slot::stop() noexcept {
    std::shared_ptr<asked_request> r;
    {
        const std::lock_guard lock(state_->guard);
        r = state_->request;
    }
    if (r) r->stop();
}

TENON_INLINE std::shared_ptr<answer_slot> start_request(served_model_state& m, std::uint64_t client,
                                                        std::vector<any_array> inputs, double seconds) {
    for (any_array& a : inputs) // a late request's asker may have gone, and its memory, while the batch is computed
        if (a && a.is_view()) a = a.copy();
    auto slot = std::make_shared<answer_slot>();
    slot->set_request(
        m.ask(client, std::move(inputs), seconds, true, [slot](model_answer&& a) { slot->put(std::move(a)); }));
    return slot;
}

TENON_INLINE void check_answer(std::size_t outputs, std::size_t expected) {
    if (outputs != expected)
        throw invalid_argument_error("served_model: the answer has " + std::to_string(outputs) +
                                     " outputs, and the model was asked for as one of " + std::to_string(expected) +
                                     "; another model has its name now: ask for that one (net::remote_model)");
}

TENON_INLINE void check_types(const model_signature& s, const std::vector<tensor_type>& inputs,
                              const std::vector<tensor_type>& outputs) {
    const auto compare = [&](const char* kind, const std::vector<model_tensor>& has,
                             const std::vector<tensor_type>& asked) {
        if (has.size() != asked.size())
            throw invalid_argument_error("model '" + s.name + "' has " + std::to_string(has.size()) + " " + kind +
                                         "s, and is asked for as one of " + std::to_string(asked.size()));
        for (std::size_t i = 0; i < has.size(); ++i) {
            // What is known of a size on one side only is seen when a request comes. Names are each side's own.
            const extents &a = has[i].type.extents, &b = asked[i].extents;
            bool fits = has[i].type.element == asked[i].element && a.rank() == b.rank();
            for (int d = 0; fits && d < a.rank(); ++d)
                fits = !a[d].is_number() || !b[d].is_number() || a[d].size == b[d].size;
            if (!fits)
                throw invalid_argument_error("model '" + s.name + "': " + kind + " '" + has[i].name + "' is " +
                                             to_string(has[i].type) + ", and is asked for as " + to_string(asked[i]));
        }
    };
    compare("input", s.inputs, inputs);
    compare("output", s.outputs, outputs);
}

} // namespace detail

TENON_INLINE any_pending_answer any_served_model::start_for(double seconds,
                                                            const std::vector<any_array>& inputs) const {
    std::vector<any_array> shared;
    shared.reserve(inputs.size());
    for (const any_array& a : inputs) shared.push_back(a ? a.share() : any_array());
    return any_pending_answer(detail::start_request(live(), asks_as(), std::move(shared), seconds));
}

} // namespace tenon
