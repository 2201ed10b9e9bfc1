#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/ops/queue/component.hpp>
#include <tenon/runtime/session/feed.hpp>
#include <tenon/serve/model_signature.hpp>
#include <tenon/serve/serving_metrics.hpp>

/// A model as those see it who ask it: served in this process (serve/model_server.hpp), or elsewhere (tenon/net/serving.hpp).
///
///     auto [scores] = fashion(images);                  // waits for the answer
///     auto later = fashion.start_for(0.05, images);     // does not; late: deadline_exceeded_error
///     auto [others] = later.get();
///     later.version();                                  // of the weights that it was computed with

namespace tenon {

/// What a request is answered.
struct model_answer {
    std::vector<any_array> outputs{};
    std::int64_t version = 0; ///< of the weights
    std::exception_ptr failure = nullptr;
};

namespace detail {

/// A request that was taken. Thread-safe.
class asked_request {
public:
    virtual ~asked_request() = default;
    /// Nobody wants the answer any more: where it was not computed yet it is not, and is answered cancelled_error.
    virtual void stop() noexcept = 0;
};

/// Thread-safe.
class served_model_state {
public:
    virtual ~served_model_state() = default;
    virtual const model_signature& signature() const = 0;
    /// `then` is called once, by any thread, also before this returns; it does not throw, wait, or take long. `client`: whose answers come
    /// in the order of what it asked. `seconds`: 0: however long it takes. `may_wait`: where the queue is full it may wait for room, if
    /// that is what the server does. Throws where the request is not taken, and then does not call `then`.
    virtual std::shared_ptr<asked_request> ask(std::uint64_t client, std::vector<any_array> inputs, double seconds,
                                               bool may_wait, shared_function<void(model_answer&&)> then) = 0;
    virtual serving_metrics metrics() const = 0;
    /// Empty where requests are answered; else why not.
    virtual std::string why_not_ready() const = 0;
};

/// A number that no other client of this process has.
std::uint64_t new_client();
/// The calling thread's own.
std::uint64_t client_of_thread();

/// An answer that somebody waits for, or will. Thread-safe.
class answer_slot {
public:
    answer_slot();
    ~answer_slot();
    answer_slot(const answer_slot&) = delete;
    void put(model_answer&& a) noexcept;
    bool wait_for(double seconds) const;
    /// Waits; the outputs, once: failed_precondition_error where they were taken. Rethrows a failure.
    std::vector<any_array> take();
    std::int64_t version() const; ///< waits
    void set_request(std::shared_ptr<asked_request> r);
    void stop() noexcept;

private:
    struct state;
    const std::unique_ptr<state> state_;
};

std::shared_ptr<answer_slot> start_request(served_model_state& m, std::uint64_t client, std::vector<any_array> inputs,
                                           double seconds);

/// invalid_argument_error where a model answers with another number of outputs than it had when it was asked for: another one has
/// taken its place, elsewhere.
void check_answer(std::size_t outputs, std::size_t expected);

template <class... F> struct answered {
    static auto of(std::vector<any_array>&& outputs) {
        check_answer(outputs.size(), sizeof...(F));
        return results_t<F...>::of(outputs.data());
    }
};
template <> struct answered<std::vector<any_tensor>> {
    static std::vector<any_array> of(std::vector<any_array>&& outputs) { return std::move(outputs); }
};

/// invalid_argument_error, naming both, where a model's types are others than those asked for.
void check_types(const model_signature& s, const std::vector<tensor_type>& inputs,
                 const std::vector<tensor_type>& outputs);

} // namespace detail

/// An answer that is on its way; F is what the model gives. The request goes on whether this object stays or not. Thread-safe.
template <class... F> class pending_answer {
public:
    explicit pending_answer(std::shared_ptr<detail::answer_slot> s) : slot_(std::move(s)) {}

    /// Waits; a tuple of the outputs' arrays, or what the request failed with. Once: failed_precondition_error where they were taken.
    auto get() const { return detail::answered<F...>::of(live().take()); }
    /// Waits so many seconds at most; whether the answer is there.
    bool wait_for(double seconds) const { return live().wait_for(seconds); }
    bool has_ended() const { return wait_for(0); }
    /// Of the weights that it was computed with, all of it. Waits; 0 where the request failed.
    std::int64_t version() const { return live().version(); }
    /// Where it is not being computed yet it is not, and get() throws cancelled_error. Returns at once.
    void stop() const { live().stop(); }

private:
    detail::answer_slot& live() const {
        if (!slot_) detail::moved_from("pending_answer");
        return *slot_;
    }
    std::shared_ptr<detail::answer_slot> slot_;
};
/// Of a model whose types are known at run time only: get() gives a list of arrays.
using any_pending_answer = pending_answer<std::vector<any_tensor>>;

/// What a model takes and gives, by components, or the types of tensors:
///     served_model<model_inputs<component<float, shape<batch, 784>>>, model_outputs<component<float, shape<batch, 10>>>>
namespace detail {
template <class C> using tensor_of_component = tensor<typename component_t<C>::element, typename component_t<C>::shape>;
}
template <class... C> using model_inputs = feed_list<detail::tensor_of_component<C>...>;
template <class... C> using model_outputs = fetch_list<detail::tensor_of_component<C>...>;

template <class Inputs, class Outputs> class served_model;

/// A model by which types are known at run time only. A handle: copies ask the same model. The answers to what one thread asks come in
/// the order in which it asked, and so do those of one client(). (One that was late, stopped, or cannot be computed any more is told so at once.) Thread-safe.
///
/// Arrays are the request's too until it is answered, or where it was late until its batch has ended, and are not to be written meanwhile.
/// A view's elements are copied.
class any_served_model {
public:
    any_served_model() = default;
    explicit any_served_model(std::shared_ptr<detail::served_model_state> s, std::uint64_t client = 0) :
        state_(std::move(s)), client_(client) {}

    const model_signature& signature() const { return live().signature(); }
    serving_metrics metrics() const { return live().metrics(); }
    /// Empty where requests are answered; else why not.
    std::string why_not_ready() const { return live().why_not_ready(); }

    /// An array for each output. invalid_argument_error, before it is taken, where an array does not fit its input; resource_exhausted_error
    /// where the queue is full; unavailable_error where no device is left, naming them; failed_precondition_error where it was closed.
    std::vector<any_array> operator()(const std::vector<any_array>& inputs) const { return run_for(0, inputs); }
    /// The same with a time limit in seconds, 0: none. deadline_exceeded_error when it is over; a request that is not being computed
    /// then is not.
    std::vector<any_array> run_for(double seconds, const std::vector<any_array>& inputs) const {
        return start_for(seconds, inputs).get();
    }
    any_pending_answer start(const std::vector<any_array>& inputs) const { return start_for(0, inputs); }
    any_pending_answer start_for(double seconds, const std::vector<any_array>& inputs) const;

    /// The same model for another client: its answers come in the order in which it asks, from whatever threads.
    any_served_model client() const { return any_served_model(state_, detail::new_client()); }
    /// The same with types. invalid_argument_error, naming both, where the model has others.
    template <class Inputs, class Outputs> served_model<Inputs, Outputs> as() const;

    const std::shared_ptr<detail::served_model_state>& state() const noexcept { return state_; }
    explicit operator bool() const noexcept { return state_ != nullptr; }

protected:
    detail::served_model_state& live() const {
        if (!state_) detail::moved_from("served_model");
        return *state_;
    }
    std::uint64_t asks_as() const { return client_ ? client_ : detail::client_of_thread(); }

    std::shared_ptr<detail::served_model_state> state_;
    std::uint64_t client_ = 0; // 0: the thread that asks
};

/// A model whose types the compiler knows. As any_served_model; another shape, or element type, does not compile where it is known by
/// type, else it is an invalid_argument_error that names both.
template <class... X, class... F> class served_model<feed_list<X...>, fetch_list<F...>> : public any_served_model {
public:
    served_model() = default;
    explicit served_model(const any_served_model& m) : any_served_model(m) {}

    /// A tuple of the outputs' arrays: auto [scores] = model(images).
    template <class... A> auto operator()(const A&... values) const {
        static_assert(sizeof...(A) == sizeof...(X), "tenon::served_model: it takes an array for each of its inputs");
        if constexpr (sizeof...(A) != sizeof...(X) || detail::any_ill_shaped<X..., F..., A...>)
            return detail::ill_shaped_results<F...>();
        else if constexpr ((detail::check_feed<X, A>() && ...)) return asked(0, values...).get();
        else return detail::ill_shaped_results<F...>();
    }
    template <class... A> auto run_for(double seconds, const A&... values) const {
        static_assert(sizeof...(A) == sizeof...(X),
                      "tenon::served_model: after the time limit it takes an array for each of its inputs");
        if constexpr (sizeof...(A) != sizeof...(X) || detail::any_ill_shaped<X..., F..., A...>)
            return detail::ill_shaped_results<F...>();
        else if constexpr ((detail::check_feed<X, A>() && ...)) return asked(seconds, values...).get();
        else return detail::ill_shaped_results<F...>();
    }
    template <class... A> pending_answer<F...> start(const A&... values) const { return start_for(0, values...); }
    template <class... A> pending_answer<F...> start_for(double seconds, const A&... values) const {
        static_assert(sizeof...(A) == sizeof...(X), "tenon::served_model: it takes an array for each of its inputs");
        if constexpr (sizeof...(A) != sizeof...(X) || detail::any_ill_shaped<X..., F..., A...>)
            return pending_answer<F...>(nullptr);
        else if constexpr ((detail::check_feed<X, A>() && ...)) return asked(seconds, values...);
        else return pending_answer<F...>(nullptr);
    }
    served_model client() const { return served_model(any_served_model::client()); }

private:
    template <class... A> pending_answer<F...> asked(double seconds, const A&... values) const {
        std::vector<any_array> inputs;
        inputs.reserve(sizeof...(A));
        (inputs.push_back(detail::feed_view<X>(values)), ...);
        return pending_answer<F...>(detail::start_request(live(), asks_as(), std::move(inputs), seconds));
    }
};

namespace detail {
template <class L> struct types_in;
template <class... X> struct types_in<feed_list<X...>> {
    static std::vector<tensor_type> all() {
        return {{element_type_of<typename X::element_type>, X::shape_type::extents}...};
    }
};
template <class... X> struct types_in<fetch_list<X...>> : types_in<feed_list<X...>> {};
} // namespace detail

template <class Inputs, class Outputs> served_model<Inputs, Outputs> any_served_model::as() const {
    detail::check_types(signature(), detail::types_in<Inputs>::all(), detail::types_in<Outputs>::all());
    return served_model<Inputs, Outputs>(*this);
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/serve/served_model.ipp>
#endif
