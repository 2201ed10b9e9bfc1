#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/ops/gradients.hpp>
#include <tenon/resources/collective/collective_group.hpp>
#include <tenon/train/optimize/compression.hpp>
#include <tenon/train/optimize/optimizers.hpp>
#include <tenon/train/replicated/all_reduce.hpp>
#include <tenon/train/replicated/any_rows.hpp>
#include <tenon/train/replicated/replica_names.hpp>

/// Synchronous training on several devices of one machine, and in several processes of any machines: each has a copy of every variable
/// and works on a part of the batch; the gradients are averaged over all, so the copies stay equal.
///
///     tn::mirrored_strategy mirrored({"/gpu:0", "/gpu:1"});
///     auto model  = tn::nn::sequential(tn::nn::dense<300>(tn::nn::relu), tn::nn::dense<10>());
///     auto losses = mirrored.run([&](auto x, auto y) { return tn::nn::cross_entropy(model(x), y); },
///                                mirrored.distribute(images), mirrored.distribute(labels));
///     auto [train, loss] = mirrored.minimize(tn::momentum(0.1), losses);
///
///     sess.run(tn::initialize_variables());                                // all copies begin equal
///     auto step = sess.callable(tn::feeds(images, labels), tn::fetches(train, loss));
///
/// A step gives what one device gives for the whole batch, to rounding. On devices of one kind the copies are equal to
/// the bit.
///
/// Of several processes (train/replicated/processes.hpp) each runs the same program with a session and rows of its own: distribute() takes these
/// apart for its own devices, and the batch is that of all processes joined. Each step is run by all of them.
///
///     tn::mirrored_strategy mirrored(tn::processes());

namespace tenon {

/// A value for each replica, in the order of a strategy's devices.
template <class T> struct per_replica {
    std::vector<T> values;
    /// What part of the joined batch each replica has, a double scalar on its device; empty: all have as much.
    std::vector<any_tensor> shares{};
    /// Of several processes: what was distributed, whose rows are this process's weight; empty: all count alike.
    any_tensor batch{};

    int size() const noexcept { return static_cast<int>(values.size()); }
    const T& operator[](int i) const { return values[static_cast<std::size_t>(i)]; }
    auto begin() const noexcept { return values.begin(); }
    auto end() const noexcept { return values.end(); }
};

/// What minimize makes.
template <class Loss> struct mirrored_training {
    operation train;
    Loss loss; ///< the mean over the joined batch, before the step
};

namespace detail {

class mirrored_state;
class replica_variables;

std::shared_ptr<mirrored_state> make_mirrored(const std::vector<device_name>& devices,
                                              std::shared_ptr<const all_reduce_method> reduce,
                                              std::shared_ptr<collective_group> processes);

// The calls of one function, one for each replica. Ended without finish(), it forgets the variables they made.
class mirrored_calls {
public:
    explicit mirrored_calls(mirrored_state& state);
    mirrored_calls(mirrored_calls&&) = delete;
    ~mirrored_calls();
    int replicas() const noexcept;
    /// Throws invalid_argument_error naming a variable that not all of them made.
    void finish();

private:
    friend class replica_scope;
    mirrored_state& state_;
    std::size_t known_; // variables before the calls
    std::unique_ptr<replica_variables> variables_;
};

// What is made while it lives is replica i's.
class replica_scope {
public:
    replica_scope(mirrored_calls& calls, int i);

private:
    device_scope device_;
    replica_names names_;
    variable_policy_scope variables_;
};

per_replica<any_tensor> distribute(const mirrored_state& s, const any_tensor& batch);
void check_replicas(const mirrored_state& s, int values, const char* what);
any_tensor mirrored_mean(const mirrored_state& s, const per_replica<any_tensor>& values);
any_tensor mirrored_join(const mirrored_state& s, const std::vector<any_tensor>& parts);

// What a batch must be.
struct distribute_rule {
    static constexpr const char* name = "distribute";
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        return in[0].extents.rank() > 0 ? in[0] : inferred(fault::rank_too_low);
    }
};

// The argument of replica i.
template <class X> const X& of_replica(const X& x, int) { return x; }
template <class X> const X& of_replica(const per_replica<X>& x, int i) { return x[i]; }
template <class X> int values_of(const X&) { return -1; }
template <class X> int values_of(const per_replica<X>& x) { return x.size(); }
template <class R, class X> void take_shares(per_replica<R>&, const X&) {}
template <class R, class X> void take_shares(per_replica<R>& to, const per_replica<X>& x) {
    if (to.shares.empty()) to.shares = x.shares;
    if (!to.batch.node()) to.batch = x.batch;
}

template <class L> per_replica<any_tensor> untyped_replicas(const per_replica<L>& of) {
    per_replica<any_tensor> result;
    for (const L& x : of) result.values.push_back(as_tensor(x));
    result.shares = of.shares;
    result.batch = of.batch;
    return result;
}
inline per_replica<any_tensor> untyped_replicas(const per_replica<any_tensor>& of) { return of; }

} // namespace detail

/// Devices that train one model together (SEMANTICS 44). A copy is the same strategy. Used by one thread at a time.
class mirrored_strategy {
public:
    /// One replica a device; two names are of two devices. Throws invalid_argument_error where there are none, one is
    /// empty, or one is given twice. `reduce` sums the gradients; nullptr: default_all_reduce().
    explicit mirrored_strategy(const std::vector<device_name>& devices,
                               std::shared_ptr<const all_reduce_method> reduce = nullptr) :
        state_(detail::make_mirrored(devices, std::move(reduce), nullptr)) {}
    /// The same in each of several processes, which train together; devices are each one's own. All make it, between their steps, and
    /// tell each other what their devices can. Throws what the group ends with, or deadline_exceeded_error where not all do within a minute.
    explicit mirrored_strategy(std::shared_ptr<collective_group> processes,
                               const std::vector<device_name>& devices = {device_name("/cpu:0")},
                               std::shared_ptr<const all_reduce_method> reduce = nullptr) :
        state_(detail::make_mirrored(devices, std::move(reduce), std::move(processes))) {}

    int replicas() const; ///< of this process
    const std::vector<device_name>& devices() const;
    /// nullptr where there is this one only.
    const std::shared_ptr<collective_group>& processes() const;
    /// How gradients are summed, and why so: a line for people.
    std::string explained() const;
    /// Gradients over processes go together up to so many bytes, in the order in which the backward pass gives them; larger ones by
    /// themselves. Of those that are computed from then on. 1 MiB; 0: each by itself.
    void set_bucket_bytes(std::int64_t bytes);

    /// How dense gradients travel between processes: as integers of 8 bits with scales by block, of those computed from then on. All
    /// processes say the same. Up to four processes send each other theirs, each with its own scales; more agree on the largest scales,
    /// and have the integers added up as 16 bits (beyond 257 processes 32). What is rounded away is added to the next step's. They go by way
    /// of the host; small gradients (least_elements), and those of rows, go as they would. Between devices of one process nothing changes.
    void set_compression(const quantized_gradients& how);

    /// A batch taken apart along dimension 0, for each replica its part, on its device: [batch, 3] -> [dyn, 3]. Rows
    /// need not be a multiple of the replicas: the first ones get one more. What is fed is taken apart on the host,
    /// another tensor where it lies.
    template <OperandOrIllShaped X> auto distribute(const X& batch) const {
        if constexpr (detail::is_mistaken<detail::distribute_rule, X>()) return per_replica<ill_shaped>{};
        else {
            using part = typename detail::any_rows<X>::type;
            const per_replica<any_tensor> parts = detail::distribute(live(), detail::as_tensor(batch));
            per_replica<part> result;
            for (const any_tensor& p : parts) result.values.push_back(detail::typed<part>(p));
            result.shares = parts.shares;
            result.batch = parts.batch;
            return result;
        }
    }
    /// The same for an untyped tensor; invalid_argument_error where it is a scalar.
    per_replica<any_tensor> distribute(const any_tensor& batch) const { return detail::distribute(live(), batch); }

    /// body(x...), once for each replica, on its device: with the replica's value of a per_replica argument, and others
    /// as they are. Returns what the calls return; expressions become nodes.
    ///
    /// Variables are mirrored: the first replica makes "w", and the i-th a copy of it, "w/replica_i", that begins with
    /// the same value. The first one stands for all in collections, and so in checkpoints; initialize_variables() and
    /// load_variables() give all of them their values. So it is with those of layers, which may be made inside or
    /// outside, and be called in several runs. A variable that was made elsewhere is not mirrored. One that is not
    /// trained each replica changes alone. Throws invalid_argument_error where the replicas do not make the same
    /// variables, naming one.
    template <class Body, class... X> auto run(Body&& body, const X&... xs) const {
        (detail::check_replicas(live(), detail::values_of(xs), "run"), ...);
        detail::mirrored_calls calls(live());
        const auto call = [&](int i) {
            const detail::replica_scope inside(calls, i);
            const auto once = [&] { return body(detail::of_replica(xs, i)...); };
            return detail::result_of(once);
        };
        using result = decltype(call(0));
        if constexpr (std::is_void_v<result>) {
            for (int i = 0; i < calls.replicas(); ++i) call(i);
            calls.finish();
        } else {
            per_replica<result> results;
            for (int i = 0; i < calls.replicas(); ++i) results.values.push_back(call(i));
            calls.finish();
            (detail::take_shares(results, xs), ...);
            return results;
        }
    }

    /// An operation that makes a loss smaller: the gradients of each replica's loss are averaged over all, and each
    /// replica's optimiser changes its own copies. A replica's loss is a mean over its rows; where replicas have more
    /// rows than others, as those of distribute() that run() was given, it counts for so much more. Throws
    /// invalid_argument_error where a loss depends on none of the strategy's variables, on another replica's, or on
    /// trainable ones that are not mirrored, naming them. With o.scale each replica's loss is scaled, by a mirrored variable; a step in which a
    /// gradient of any is not finite changes nothing of all. Such a scale is of one minimize.
    template <class L>
    auto minimize(const optimizer& how, const per_replica<L>& losses, const minimize_options& o = {}) const {
        if constexpr (detail::is_mistaken<detail::gradients_rule, L>()) return mirrored_training<ill_shaped>{};
        else {
            operation train = o.scale ? minimize_scaled(how, detail::untyped_replicas(losses), o)
                                      : apply_gradients(how, compute_gradients(losses, o.variables), o);
            return mirrored_training<decltype(mean(losses))>{std::move(train), mean(losses)};
        }
    }

    /// The first half of minimize: averaged gradients, each replica's of its copies. Clip them by
    ///     mirrored.run([](auto g) { return tn::clip_by_global_norm(g, 5); }, gradients)
    /// Those of variables that were only gathered from stay sparse. `variables` empty: all that are trainable.
    template <class L>
    per_replica<std::vector<gradient_and_variable>>
    compute_gradients(const per_replica<L>& losses, const std::vector<any_tensor>& variables = {}) const {
        if constexpr (detail::is_mistaken<detail::gradients_rule, L>()) return {};
        else return gradients_of(detail::untyped_replicas(losses), variables);
    }
    /// The second half.
    operation apply_gradients(const optimizer& how, const per_replica<std::vector<gradient_and_variable>>& gradients,
                              const minimize_options& o = {}) const;

    /// The mean of replicas' means, such as losses or accuracies, over the joined batch. On the first device.
    template <class L> auto mean(const per_replica<L>& values) const {
        if constexpr (detail::is_mistaken<detail::gradients_rule, L>()) return ill_shaped{};
        else return detail::typed<L>(detail::mirrored_mean(live(), detail::untyped_replicas(values)));
    }
    /// The reverse of distribute: what the replicas computed, one after the other by dimension 0, on the first device.
    template <class X> auto join(const per_replica<X>& parts) const {
        if constexpr (detail::is_mistaken<detail::distribute_rule, X>()) return ill_shaped{};
        else
            return detail::typed<typename detail::any_rows<X>::type>(
                detail::mirrored_join(live(), detail::untyped_replicas(parts).values));
    }

    /// An operation that gives all copies, of all processes, the first one's value: to be run after something else than
    /// initialize_variables() or load_variables() has set that.
    operation broadcast() const;
    /// A variable's copies, the first replica's first. not_found_error where it is none of the strategy's.
    std::vector<any_tensor> copies(const any_tensor& variable) const;

private:
    operation minimize_scaled(const optimizer& how, const per_replica<any_tensor>& losses,
                              const minimize_options& o) const;
    operation apply_in_replicas(const optimizer& how, const per_replica<std::vector<gradient_and_variable>>& gradients,
                                const minimize_options& o, const std::vector<loss_scale>& scales) const;
    per_replica<std::vector<gradient_and_variable>> gradients_of(const per_replica<any_tensor>& losses,
                                                                 const std::vector<any_tensor>& variables) const;
    /// failed_precondition_error where the strategy was moved from.
    detail::mirrored_state& live() const {
        if (!state_) detail::moved_from("mirrored_strategy");
        return *state_;
    }
    std::shared_ptr<detail::mirrored_state> state_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/replicated/mirrored.ipp>
#endif
