#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/graph/scope.hpp>
#include <tenon/serve/model_server_options.hpp>
#include <tenon/serve/served_model.hpp>
#include <tenon/train/replicated/mirrored.hpp>
#include <tenon/train/replicated/shared_variables.hpp>

/// A function of tensors on every device, which answers a stream of requests (SEMANTICS 47).
///
///     auto images = tn::placeholder<float, tn::shape<batch, 784>>("images");
///     tn::session sess;
///     tn::model_server fashion(sess, tn::feeds(images), [&](auto x) { return softmax(network(x)); },
///                              {.name = "fashion", .devices = {"/cpu:0", "/cpu:1"}, .largest_batch = 32});
///     tn::load_variables(sess, "fashion.safetensors");
///     auto [scores] = fashion(three_images);             // array<float, shape<batch, 10>>: [3, 10]
///     fashion.replace("run/model-700.json");             // new weights, between two batches
///
/// Requests that wait are joined to batches along dimension 0. A device that is free takes one as soon as it is full, or the first
/// of its requests has waited for longest_wait: with 0 whatever is there, so that batches grow with the load and nobody waits for
/// company. A request is never taken apart; those whose other sizes differ are not joined.
///
/// A device whose task is lost gives its batch to the others, and is asked again now and then. It serves with the weights of the version
/// that is served, or not at all. Where a batch fails its requests are run
/// each alone, so that only that one fails which is at fault.

namespace tenon {

namespace detail {

std::shared_ptr<model_server_state> make_model_server(std::shared_ptr<session> s, const std::string* target,
                                                      model_parts parts, const model_server_options& o);

// The function's results as a list: a tensor or an expression, a tuple, or a list of untyped tensors.
template <class T> inline constexpr bool is_tuple = false;
template <class... T> inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <class R> auto output_of(const R& r) {
    if constexpr (std::is_same_v<R, any_tensor> || std::is_same_v<R, ill_shaped>) return r;
    else {
        static_assert(Operand<R>, "tenon::model_server: the function returns a tensor, or a std::tuple of tensors");
        if constexpr (Operand<R>) return tensor<typename R::element_type, typename R::shape_type>(as_tensor(r));
        else return ill_shaped{};
    }
}
template <class R> auto model_outputs_of(const R& r) {
    if constexpr (std::is_same_v<R, std::vector<any_tensor>>) return r;
    else if constexpr (is_tuple<R>) return std::apply([](const auto&... o) { return std::tuple(output_of(o)...); }, r);
    else return std::tuple(output_of(r));
}
inline std::vector<any_tensor> untyped_outputs(const std::vector<any_tensor>& o) { return o; }
template <class... T> std::vector<any_tensor> untyped_outputs(const std::tuple<T...>& o) {
    return std::apply([](const auto&... t) { return std::vector<any_tensor>{any_tensor(t)...}; }, o);
}
template <class O> struct fetches_for;
template <class... T> struct fetches_for<std::tuple<T...>> { using type = fetch_list<T...>; };
template <> struct fetches_for<std::vector<any_tensor>> { using type = fetch_list<std::vector<any_tensor>>; };

template <class Body, class... X>
using model_outputs_t = decltype(model_outputs_of(std::declval<Body&>()(std::declval<const X&>()...)));

/// The first dimension is that of rows, in all of them.
template <class T> constexpr bool has_batch() {
    if constexpr (!Typed<T>) return true; // seen when it is made
    else if constexpr (T::shape_type::rank == 0) return false;
    else return !T::shape_type::extents[0].is_number();
}
template <class A, class B> constexpr bool same_batch() {
    if constexpr (!Typed<A> || !Typed<B>) return true;
    else if constexpr (!has_batch<A>() || !has_batch<B>()) return true;
    else {
        constexpr extent a = A::shape_type::extents[0], b = B::shape_type::extents[0];
        return !a.is_named() || !b.is_named() || a == b;
    }
}
template <class First, class... X> constexpr bool batches_agree() { return (same_batch<First, X>() && ...); }
template <class Outputs> inline constexpr bool outputs_have_batch = true;
template <class... T> inline constexpr bool outputs_have_batch<std::tuple<T...>> = (has_batch<T>() && ...);
template <class X, class Outputs> inline constexpr bool outputs_agree = true;
template <class X, class... T> inline constexpr bool outputs_agree<X, std::tuple<T...>> = batches_agree<X, X, T...>();

std::string not_of_first_device(int call, const std::string& wished, const tensor_type& type, const any_tensor* first);
model_parts begin_parts(const std::vector<any_tensor>& feeds, const model_server_options& o);

// The function, once for each device.
template <class Body, class... X>
model_parts build_model(const feed_list<X...>& fed, Body& body, const model_server_options& o) {
    model_parts parts = begin_parts(fed.tensors, o);
    const auto call = [&] {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return untyped_outputs(model_outputs_of(body(typed<X>(fed.tensors[I])...)));
        }
        (std::index_sequence_for<X...>{});
    };
    if (o.devices.empty()) parts.outputs.push_back(call());
    else if (o.copy_variables) {
        const std::shared_ptr<mirrored_state> copies = make_mirrored(o.devices, nullptr, nullptr);
        mirrored_calls calls(*copies);
        for (int i = 0; i < calls.replicas(); ++i) {
            const replica_scope inside(calls, i);
            parts.outputs.push_back(call());
        }
        calls.finish();
    } else {
        shared_variables shared(not_of_first_device);
        const variable_policy_scope all(&shared);
        for (const device_name& d : o.devices) {
            const device_scope there(d);
            shared.begin_call();
            parts.outputs.push_back(call());
        }
    }
    return parts;
}

} // namespace detail

/// Serves from when it is made until it is closed. A request is asked for as of a served_model, which it is. Thread-safe.
///
/// Variables must have values when the first request comes, by initialize_variables(), load_variables(), a saver or replace().
template <class Inputs, class Outputs> class model_server;
template <class... X, class... F>
class model_server<feed_list<X...>, fetch_list<F...>> : public served_model<feed_list<X...>, fetch_list<F...>> {
    using handle = served_model<feed_list<X...>, fetch_list<F...>>;

public:
    /// `body(x...)` is called at once, for each device, with what is fed, and returns a tensor, a std::tuple of some, or a list of untyped
    /// ones. `s` outlives it, and its graph is the current one. invalid_argument_error where an option makes no sense.
    template <class Body>
    model_server(session& s, const feed_list<X...>& fed, Body&& body, const model_server_options& o = {}) :
        model_server(checked<Body>(), std::shared_ptr<session>(&s, [](session*) {}), nullptr, fed, body, o) {}
    /// The same with sessions of its own, of the current graph: on a server, "tenon://host:port", or "", in this process. A device whose task
    /// comes back after it was lost serves again, with the weights that others serve with or that were replaced last. Where there are
    /// neither, and its variables have no values any more, it stays lost and says so (metrics, log).
    template <class Body>
    model_server(const std::string& target, const feed_list<X...>& fed, Body&& body,
                 const model_server_options& o = {}) :
        model_server(checked<Body>(), nullptr, &target, fed, body, o) {}
    /// Closes it at once: what is not being computed is cancelled.
    ~model_server() {
        if (server_) server_->close(0);
    }
    model_server(model_server&&) noexcept = default;
    model_server& operator=(model_server&& other) noexcept {
        if (server_ && server_ != other.server_) server_->close(0);
        handle::operator=(std::move(other));
        server_ = std::move(other.server_);
        return *this;
    }

    /// Gives the model's variables the values that they have in a checkpoint: a manifest of a saver, "run/model-700.json", or a safetensors
    /// file. Requests are taken meanwhile, and each batch is computed with the weights of one version. What the checkpoint has of no
    /// use here, such as an optimiser's slots, is passed over. not_found_error or invalid_argument_error that lists what is missing or of
    /// another type here and there, data_loss_error where a file is damaged, failed_precondition_error where it was closed: then nothing
    /// has changed. With copy_variables those devices get them whose tasks are there, and others when they are back; where none is,
    /// or not all tasks with variables that devices share are, a lost_task_error or unavailable_error, and the version stays.
    replacement replace(const std::string& checkpoint) { return live_server().replace(checkpoint); }
    /// From then on the last checkpoint of a saver's name, "run/model", replaces the weights when there is a newer one, also of the same
    /// step; looks every so many seconds. One that is refused is told to the log and in metrics().trouble, and the weights stay. "": no more.
    void watch(const std::string& prefix, double seconds = 1) { live_server().watch(prefix, seconds); }
    /// 1 at first; each replacement adds one.
    std::int64_t version() const { return live_server().version(); }
    /// Takes no requests any more, answers those that it has for so many seconds at most, and cancels the rest. What is being computed is
    /// waited for: the session's operation_timeout bounds it. True where none was cancelled. A second call waits for the end of the first.
    bool close(double seconds = 10) { return live_server().close(seconds); }

private:
    struct is_checked {};
    template <class Body> static is_checked checked() {
        using outputs = detail::model_outputs_t<Body, X...>;
        static_assert(
            (detail::has_batch<X>() && ...),
            "tenon::model_server: the first dimension of what is fed is the rows of a request, a named size or "
            "tn::dyn: placeholder<float, shape<batch, 784>>(\"x\")");
        if constexpr ((detail::has_batch<X>() && ...)) {
            static_assert(detail::outputs_have_batch<outputs>,
                          "tenon::model_server: the first dimension of what the function returns must be the rows of "
                          "the batch: it is a number, or there is none");
            static_assert(detail::batches_agree<X..., X...>() &&
                              detail::outputs_agree<std::tuple_element_t<0, std::tuple<X...>>, outputs>,
                          "tenon::model_server: the first dimensions of what is fed and returned have different names");
        }
        return {};
    }
    template <class Body>
    model_server(is_checked, std::shared_ptr<session> s, const std::string* target, const feed_list<X...>& fed,
                 Body& body, const model_server_options& o) :
        model_server(detail::make_model_server(std::move(s), target, detail::build_model(fed, body, o), o)) {}
    explicit model_server(std::shared_ptr<detail::model_server_state> s) :
        handle(any_served_model(s)), server_(std::move(s)) {}
    detail::model_server_state& live_server() const {
        if (!server_) detail::moved_from("model_server");
        return *server_;
    }

    std::shared_ptr<detail::model_server_state> server_;
};

template <class S, class... X, class Body>
model_server(S&&, const feed_list<X...>&, Body&&)
    -> model_server<feed_list<X...>, typename detail::fetches_for<detail::model_outputs_t<Body, X...>>::type>;
template <class S, class... X, class Body>
model_server(S&&, const feed_list<X...>&, Body&&, const model_server_options&)
    -> model_server<feed_list<X...>, typename detail::fetches_for<detail::model_outputs_t<Body, X...>>::type>;

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/serve/model_server.ipp>
#endif
