#pragma once

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/nn/sequential.hpp>
#include <tenon/train/pipeline/pipeline_graph.hpp>
#include <tenon/train/replicated/any_rows.hpp>

/// Training of a network whose layers lie on several devices, which work on several parts of a batch at a time
/// (SEMANTICS 43).
///
///     auto pipe = tn::pipeline({.micro_batches = 4, .schedule = tn::one_forward_one_backward},
///                              tn::stage("/gpu:0", tn::nn::dense<300>(tn::nn::relu)),
///                              tn::stage("/gpu:1", tn::nn::dense<100>(tn::nn::relu), tn::nn::dense<10>()));
///     auto [train, loss] = pipe.minimize(tn::momentum(0.1), cross_entropy, images, labels);
///
///     auto predicted = pipe(images);                              // the same weights, the whole batch at once
///     auto took = pipe.memory(sess.report(train, feed(..), ..));  // by stage, before a step has run
///
/// A step's graph has a copy of each stage for each micro-batch, forward and backward. The copies share the stage's variables.
/// Each stage works on one micro-batch at a time, in the order that the schedule says: that is control dependencies between
/// passes, so the graph runs alike in a session, on simulated or real GPUs, and on the tasks of a cluster ("/job:worker/task:1").
/// Gradients are those of the mean over the whole batch, and are added up where the variables are; updates come after all passes.

namespace tenon {

struct pipeline_options {
    /// Parts that a batch is taken apart into, of equally many rows. As a template argument, pipeline<4>(..), it is checked by the
    /// compiler where rows are numbers.
    int micro_batches = 1;
    pipeline_schedule schedule = one_forward_one_backward;
};

/// A function on a device; what stage() makes.
template <class F> struct pipeline_stage {
    device_name device;
    F function;
};

/// A layer, or anything that can be called with tensors, whose rows are those of a micro-batch (tn::dyn of them, where the compiler does
/// not know better), on a device. What it returns, a tensor or a tuple of several, is what
/// the next stage is called with. A function is called once for each micro-batch, and once for a whole batch; variables that it makes are
/// made in its first call, and are a pipeline's: for steps and predictions, in whatever order these are made.
template <class F> pipeline_stage<F> stage(const device_name& device, F function) {
    return {device, std::move(function)};
}
/// Layers one after another.
template <class F, class G, class... More>
pipeline_stage<nn::sequential<F, G, More...>> stage(const device_name& device, F first, G second, More... more) {
    return {device, nn::sequential<F, G, More...>(std::move(first), std::move(second), std::move(more)...)};
}

/// What minimize makes.
template <class Loss> struct pipeline_training {
    operation train;
    Loss loss; ///< the mean over the batch, before the step
};
/// What compute_gradients makes.
template <class Loss> struct pipeline_gradients {
    std::vector<gradient_and_variable> gradients; ///< of the mean over the batch
    Loss loss;
};

template <class F> ill_shaped stage(const F&) {
    static_assert(detail::is_mistake<F>, "tenon::stage: a stage has a device: write stage(\"/gpu:0\", layer)");
    return {};
}

namespace detail {

// What a batch must be that is taken apart into so many parts.
struct micro_batches_rule {
    static constexpr const char* name = "pipeline";
    struct attributes {
        extents parts;
        static constexpr void fields(auto&& field) { field("micro-batches", &attributes::parts); }
    };
    static constexpr char do_not_divide[] = "the number of micro-batches does not divide the rows";
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in[0].extents.rank() == 0 || !in[0].extents[0].is_number()) return in[0];
        return in[0].extents[0].size % a.parts[0].size == 0 ? in[0] : inferred(do_not_divide);
    }
};
template <int Parts> struct asked_micro_batches {
    static constexpr micro_batches_rule::attributes value{extents(std::int64_t{Parts})};
};

// A micro-batch of X, of Parts of them; 0: known at run time.
template <class X, int Parts> struct micro_batch_of : any_rows<X> {};
template <Typed X, int Parts>
    requires(X::shape_type::rank == 0)
struct micro_batch_of<X, Parts> {
    using type = tensor<typename X::element_type, typename X::shape_type>;
};
template <class T, class S, int Parts> struct micro_rows_of;
template <class T, auto Rows, auto... Rest, int Parts> struct micro_rows_of<T, shape<Rows, Rest...>, Parts> {
    using type = tensor<T, shape<Rows / Parts, Rest...>>;
};
template <Typed X, int Parts>
    requires(Parts > 0 && X::shape_type::rank > 0 && X::shape_type::extents[0].is_number())
struct micro_batch_of<X, Parts> : micro_rows_of<typename X::element_type, typename X::shape_type, Parts> {};

// A tensor of an expression; an untyped one as it is.
template <class X> auto stage_value(const X& x) {
    if constexpr (std::is_same_v<X, any_tensor> || std::is_same_v<X, ill_shaped>) return x;
    else return as_tensor(x);
}
template <class X> auto stage_values(const X& x) { return std::tuple(stage_value(x)); }
template <class... X> auto stage_values(const std::tuple<X...>& xs) {
    return std::apply([](const auto&... x) { return std::tuple(stage_value(x)...); }, xs);
}
template <class... X> tensor_list untyped_list(const std::tuple<X...>& xs) {
    return std::apply([](const auto&... x) { return tensor_list{any_tensor(x)...}; }, xs);
}
template <class Tuple> inline constexpr bool has_ill_shaped = false;
template <class... X> inline constexpr bool has_ill_shaped<std::tuple<X...>> = any_ill_shaped<X...>;

// What a layer says to its input, with the stage's number before it.
template <int Stage, class Verdict> struct in_stage { static constexpr bool agree = false, fits = false; };
template <int Stage, class Verdict> struct stage_verdict { using type = in_stage<Stage, Verdict>; };
template <int Stage> struct stage_verdict<Stage, fitting> { using type = fitting; };
template <int Stage> struct stage_verdict<Stage, mistaken_before> { using type = mistaken_before; };
#if !defined(__clang__)
template <int Stage, fixed_string Words> constexpr int write_in_stage(char* to) {
    sentence_writer w{to};
    w.put("pipeline: stage ");
    w.put(std::int64_t{Stage});
    w.put(": ");
    w.put(Words.text);
    return w.at;
}
template <int Stage, fixed_string Words> constexpr auto words_in_stage() {
    fixed_string<static_cast<std::size_t>(write_in_stage<Stage, Words>(nullptr)) + 1> text;
    write_in_stage<Stage, Words>(text.text);
    return text;
}
template <int Stage, fixed_string Words> struct stage_verdict<Stage, complaint<Words>> {
    using type = complaint<words_in_stage<Stage, Words>()>;
};
#endif
template <int Stage, class F, class... X> struct verdict_in_stage { using type = fitting; };
template <int Stage, class F, class X>
    requires requires { typename F::template judged<X>; }
struct verdict_in_stage<Stage, F, X> : stage_verdict<Stage, typename F::template judged<X>> {};

// What stage number Stage makes of what comes in.
template <int Stage, class F, class... X> auto call_segment(const F& f, nn::phase p, const X&... x) {
    using verdict = typename verdict_in_stage<Stage, F, X...>::type;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits || any_ill_shaped<X...>) return std::tuple(ill_shaped{});
    else if constexpr (requires { f(x..., p); }) return stage_values(f(x..., p));
    else if constexpr (requires { f(x...); }) return stage_values(f(x...));
    else {
        static_assert(is_mistake<F>, "tenon::pipeline: a stage cannot be called with what the one before it returns: "
                                     "see call_stage<its number, ..>");
        return std::tuple(ill_shaped{});
    }
}
// The loss, of what the last stage returns and the labels.
template <class F, class... X> auto call_loss(const F& f, const X&... x) {
    if constexpr (any_ill_shaped<X...>) return ill_shaped{};
    else if constexpr (requires { f(x...); }) return stage_value(f(x...));
    else {
        static_assert(is_mistake<F>, "tenon::pipeline: the loss cannot be called with what the last stage returns and "
                                     "the labels: see call_loss<..>");
        return ill_shaped{};
    }
}

// The same on untyped tensors, whose types are those of the tuple.
template <int Stage, class F, class Inputs> struct erased_stage;
template <int Stage, class F, class... X> struct erased_stage<Stage, F, std::tuple<X...>> {
    F f;
    tensor_list operator()(const tensor_list& in, nn::phase p) const {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return untyped_list(call_segment<Stage>(f, p, typed<X>(in[I])...));
        }
        (std::index_sequence_for<X...>{});
    }
};
template <class F, class Inputs> struct erased_loss;
template <class F, class... X> struct erased_loss<F, std::tuple<X...>> {
    F f;
    tensor_list operator()(const tensor_list& in, nn::phase) const {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return tensor_list{any_tensor(call_loss(f, typed<X>(in[I])...))};
        }
        (std::index_sequence_for<X...>{});
    }
};

// The types that stage number I makes of those in the tuple, and of what the stages after it make of them.
template <int Stage, class F, class Inputs> struct segment_makes;
template <int Stage, class F, class... X> struct segment_makes<Stage, F, std::tuple<X...>> {
    using type = decltype(call_segment<Stage>(std::declval<const F&>(), nn::training, std::declval<const X&>()...));
};

template <class> inline constexpr bool is_stage = false;
template <class F> inline constexpr bool is_stage<pipeline_stage<F>> = true;

} // namespace detail

/// Stages one after another, and how batches go through them. A copy is the same pipeline: it shares the stages' variables.
/// MicroBatches is 0 where the options say how many there are.
template <int MicroBatches, class... F> class pipeline_of {
    static_assert(MicroBatches >= 0, "tenon::pipeline: the number of micro-batches is negative");

public:
    /// invalid_argument_error where a stage has no device, naming it, or there are no micro-batches.
    explicit pipeline_of(const pipeline_options& o, pipeline_stage<F>... stages) :
        stages_(std::move(stages)...), options_(o) {
        if (MicroBatches > 0) options_.micro_batches = MicroBatches;
        detail::pipeline_stages s;
        s.micro_batches = options_.micro_batches;
        s.devices = devices();
        detail::check_stages(s);
    }

    static constexpr int size() noexcept { return static_cast<int>(sizeof...(F)); }
    int micro_batches() const noexcept { return options_.micro_batches; }
    pipeline_schedule schedule() const noexcept { return options_.schedule; }
    /// invalid_argument_error where there is no such stage.
    device_name device(int stage) const { return detail::device_of_stage(devices(), stage); }
    /// What a stage does in a step: "F0 F1 B0 F2 B1 B2".
    std::vector<pipeline_slot> order(int stage) const {
        return pipeline_order(options_.schedule, size(), options_.micro_batches, stage);
    }

    /// What the last stage returns for the whole batch, each stage on its device: for predictions.
    template <class... X> auto operator()(const X&... x) const { return through(nn::inference, x...); }

    /// The gradients of the mean of a loss over the batch, for all trainable variables that it depends on. `loss` is called
    /// for each micro-batch, on the last stage's device, with what the last stage returns and the micro-batch of the labels; it
    /// returns a scalar, the mean over these rows. x, or a tuple of several, is what the first stage is called with. What is a scalar
    /// is given to each micro-batch as it is. invalid_argument_error where the micro-batches do not divide the rows: here where these are
    /// numbers, else when the step is run, before it changes anything.
    template <class Loss, class X, class... Labels>
    auto compute_gradients(const Loss& loss, const X& x, const Labels&... labels) const {
        return gradients_for({}, loss, x, labels...);
    }
    /// The same for these variables.
    template <class Loss, class X, class... Labels>
    auto compute_gradients(const std::vector<any_tensor>& variables, const Loss& loss, const X& x,
                           const Labels&... labels) const {
        return gradients_for(variables, loss, x, labels...);
    }

    /// An operation that makes the loss smaller, as an optimiser's minimize does for the whole batch.
    template <class Loss, class X, class... Labels>
    auto minimize(const optimizer& how, const Loss& loss, const X& x, const Labels&... labels) const {
        return minimize(how, minimize_options{}, loss, x, labels...);
    }
    template <class Loss, class X, class... Labels>
    auto minimize(const optimizer& how, const minimize_options& o, const Loss& loss, const X& x,
                  const Labels&... labels) const {
        auto g = gradients_for(o.variables, loss, x, labels...);
        using made = pipeline_training<decltype(g.loss)>;
        if constexpr (std::is_same_v<decltype(g.loss), ill_shaped>) return made{};
        else return made{how.apply_gradients(g.gradients, o), std::move(g.loss)};
    }

    /// Of what a session reports of a step, what it takes on each stage's device: known before the step runs. not_found_error where
    /// the report has no such device.
    std::vector<device_report> memory(const step_report& of) const { return detail::reports_of(of, devices()); }

private:
    std::vector<device_name> devices() const {
        return std::apply([](const auto&... x) { return std::vector<device_name>{x.device...}; }, stages_);
    }
    template <std::size_t I> using function = std::tuple_element_t<I, std::tuple<F...>>;
    // The erased functions of the stages from number I on, and the types that the last one returns.
    template <std::size_t I, class Inputs> auto erase(detail::pipeline_stages& to) const {
        if constexpr (I == sizeof...(F)) return std::type_identity<Inputs>{};
        else {
            using made = typename detail::segment_makes<static_cast<int>(I), function<I>, Inputs>::type;
            if constexpr (detail::has_ill_shaped<made>) return std::type_identity<made>{};
            else {
                const auto& s = std::get<I>(stages_);
                to.devices.push_back(s.device);
                to.functions.push_back(detail::erased_stage<static_cast<int>(I), function<I>, Inputs>{s.function});
                return erase<I + 1, made>(to);
            }
        }
    }
    detail::pipeline_stages described() const {
        detail::pipeline_stages s;
        s.micro_batches = options_.micro_batches;
        s.schedule = options_.schedule;
        s.variables = variables_;
        return s;
    }

    template <class... X> auto through(nn::phase p, const X&... x) const {
        const auto inputs = std::tuple(detail::stage_value(x)...);
        detail::pipeline_stages s = described();
        using last = typename decltype(erase<0, std::remove_const_t<decltype(inputs)>>(s))::type;
        if constexpr (detail::has_ill_shaped<std::tuple<X...>> || detail::has_ill_shaped<last>) return ill_shaped{};
        else {
            (void)erase<0, std::remove_const_t<decltype(inputs)>>(s);
            const detail::tensor_list values = detail::through_segments(s, detail::untyped_list(inputs), p);
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                if constexpr (sizeof...(I) == 1) return detail::typed<std::tuple_element_t<0, last>>(values[0]);
                else return std::tuple(detail::typed<std::tuple_element_t<I, last>>(values[I])...);
            }
            (std::make_index_sequence<std::tuple_size_v<last>>{});
        }
    }

    // False of a batch that is not what it must be, of which it has complained.
    template <class X> static constexpr bool divides() {
        if constexpr (MicroBatches == 0 || !detail::Typed<X>) return !std::is_same_v<X, ill_shaped>;
        else {
            using verdict = detail::verdict_of<detail::micro_batches_rule, detail::asked_micro_batches<MicroBatches>,
                                               detail::operand_of_t<X>>;
            static_assert(verdict::agree, "tenon: shapes do not agree");
            return verdict::fits;
        }
    }
    template <class... X> static constexpr bool all_divide(std::type_identity<std::tuple<X...>>) {
        return (divides<X>() && ... && true);
    }
    template <class... X> static auto micro_batch_types(std::type_identity<std::tuple<X...>>) {
        return std::type_identity<std::tuple<typename detail::micro_batch_of<X, MicroBatches>::type...>>{};
    }
    template <class Loss, class... X> static auto loss_type(std::type_identity<std::tuple<X...>>) {
        return std::type_identity<decltype(detail::call_loss(std::declval<const Loss&>(),
                                                             std::declval<const X&>()...))>{};
    }

    template <class Loss, class X, class... Labels>
    auto gradients_for(const std::vector<any_tensor>& variables, const Loss& loss, const X& x,
                       const Labels&... labels) const {
        const auto inputs = detail::stage_values(x);
        const auto more = std::tuple(detail::stage_value(labels)...);
        using input_types = std::remove_const_t<decltype(inputs)>;
        using label_types = std::remove_const_t<decltype(more)>;
        using mistaken = pipeline_gradients<ill_shaped>;
        if constexpr (!all_divide(std::type_identity<input_types>{}) || !all_divide(std::type_identity<label_types>{}))
            return mistaken{};
        else {
            using first = typename decltype(micro_batch_types(std::type_identity<input_types>{}))::type;
            using with = typename decltype(micro_batch_types(std::type_identity<label_types>{}))::type;
            detail::pipeline_stages s = described();
            using last = typename decltype(erase<0, first>(s))::type;
            if constexpr (detail::has_ill_shaped<last>) return mistaken{};
            else {
                using given = decltype(std::tuple_cat(std::declval<last>(), std::declval<with>()));
                using L = typename decltype(loss_type<Loss>(std::type_identity<given>{}))::type;
                if constexpr (std::is_same_v<L, ill_shaped>) return mistaken{};
                else if constexpr (detail::is_mistaken<detail::gradients_rule, L>()) return mistaken{};
                else {
                    (void)erase<0, first>(s);
                    detail::pipeline_step made = detail::pipeline_gradients_of(
                        s, detail::erased_loss<Loss, given>{loss}, detail::untyped_list(inputs),
                        detail::untyped_list(more), variables);
                    return pipeline_gradients<L>{std::move(made.gradients), detail::typed<L>(made.loss)};
                }
            }
        }
    }

    std::tuple<pipeline_stage<F>...> stages_;
    pipeline_options options_;
    std::shared_ptr<std::vector<detail::stage_variables>> variables_ = detail::no_segment_variables(size());
};

/// A pipeline of what stage() makes: the first is called with the batch, each other one with what the one before it returns.
template <int MicroBatches = 0, class... F>
pipeline_of<MicroBatches, F...> pipeline(const pipeline_options& o, const pipeline_stage<F>&... stages) {
    static_assert(sizeof...(F) > 0, "tenon::pipeline: there are no stages; give stage(device, layer) for each");
    return pipeline_of<MicroBatches, F...>(o, stages...);
}
template <int MicroBatches = 0, class... F>
    requires(!detail::is_stage<F> || ...)
ill_shaped pipeline(const pipeline_options&, const F&...) {
    static_assert((std::is_same_v<F, ill_shaped> || ...),
                  "tenon::pipeline: a stage has a device: write stage(\"/gpu:0\", layer)");
    return {};
}

} // namespace tenon
