#pragma once

#include <array>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/members.hpp>
#include <tenon/nn/layer.hpp>

/// Models as a whole: their variables, copies with variables of their own, and what they look like.
///
///     struct translator { encoder_type encoder; decoder_type decoder; };   // a model of one's own: any struct of layers
///     for (const auto& [path, v, trained] : tn::nn::variables(model)) ..   // "encoder/0/kernel", float[784, 300]
///     auto slow  = tn::adam(1e-4).minimize(loss, {.variables = tn::nn::trainable(model.decoder)});   // the encoder stays as it is
///     auto other = tn::nn::clone(model);                                   // the same layers, other variables, which begin as the model's do
///     auto follow = tn::nn::assign(other, model, 0.005);                   // an operation: other += 0.005 (model - other)
///     std::cout << tn::nn::summary(model, x);                              // a table
///
/// A variable is made when its layer is first called, so call the model first. A path says where a layer is: by its number in sequential,
/// residual, std::vector, std::array and std::tuple, by the member's name in a struct that is an aggregate (core/members.hpp), and then which of
/// the layer's variables it is. In other classes and lambdas layers are found, too, in the order of the members that have them; they must be
/// held by value.

namespace tenon::nn {

/// A variable of a model, and where in it that is.
struct model_variable {
    std::string path;
    any_tensor variable;
    bool trained = true; ///< is one of its graph's trainable_variables
};

/// A row for each layer, or for each variable, of a model.
struct model_summary {
    struct row {
        std::string path; ///< of a layer with its kind: "0 dense"
        std::string type; ///< of the variable, or of what the layer gives: "float[784, 300]"
        std::int64_t parameters = 0, bytes = 0;
        double operations = 0; ///< of products, convolutions and elementwise functions; a multiply-add is two
    };
    std::vector<row> rows;
    bool of_layers = false; ///< else of variables, which have no operations
    std::int64_t parameters = 0, trained = 0, bytes = 0;
    double operations = 0;
};
std::string to_string(const model_summary& s);
std::ostream& operator<<(std::ostream& out, const model_summary& s);

} // namespace tenon::nn

namespace tenon::detail {

template <class M> inline constexpr bool is_sequence = false;
template <class L, class A> inline constexpr bool is_sequence<std::vector<L, A>> = true;
template <class L, std::size_t N> inline constexpr bool is_sequence<std::array<L, N>> = true;
template <class M> inline constexpr bool is_perhaps = false;
template <class L> inline constexpr bool is_perhaps<std::optional<L>> = true;
template <class L> inline constexpr bool is_perhaps<std::shared_ptr<L>> = true;
template <class L> inline constexpr bool is_perhaps<std::unique_ptr<L>> = true;
template <class M>
concept is_tuple_like = requires {
    std::tuple_size<M>::value;
};

// Finds the variables of a model, whatever it is made of.
class model_walk {
public:
    template <class M> void visit(const M& m, const std::string& path) {
        if constexpr (requires { m.each_layer([](int, const auto&) {}); })
            m.each_layer([&](int i, const auto& layer) { visit(layer, below(path, std::to_string(i))); });
        else if constexpr (requires { m.inner(); }) visit(m.inner(), path);
        else if constexpr (is_sequence<M>) {
            std::size_t i = 0;
            for (const auto& layer : m) visit(layer, below(path, std::to_string(i++)));
        } else if constexpr (is_perhaps<M>) {
            if (m) visit(*m, path);
        } else if constexpr (is_tuple_like<M>) [&]<std::size_t... I>(std::index_sequence<I...>) {
                (visit(std::get<I>(m), below(path, std::to_string(I))), ...);
            }
        (std::make_index_sequence<std::tuple_size_v<M>>());
        else if constexpr (is_struct<M>) {
            constexpr auto names = member_names<M>;
            std::size_t i = 0;
            with_members(m, [&](const auto&... member) { (visit(member, below(path, names[i++])), ...); });
        }
        else if constexpr (std::is_class_v<M> && std::is_copy_constructible_v<M>) {
            const nn::copied_parameters copying(nn::copied_parameters::copies::listed);
            [[maybe_unused]] const M copy(m);
            add(copying.listed(), path);
        }
    }
    /// Throws invalid_argument_error where there are parameters and none is made.
    std::vector<nn::model_variable> finish();

private:
    template <class T> struct any_base {
        template <class B>
            requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>)
        operator B() const;
    };
    // An aggregate whose members can be named: one that has bases is not.
    template <class M> static constexpr bool named_members() {
        if constexpr (!std::is_class_v<M> || !std::is_aggregate_v<M> || std::is_empty_v<M>) return false;
        else if constexpr (requires { M{any_base<M>{}}; }) return false;
        else return member_count<M> > 0 && member_count<M> <= 24;
    }
    template <class M> static constexpr bool is_struct = named_members<M>();

    static std::string below(const std::string& path, const std::string& name) {
        return path.empty() ? name : path + "/" + name;
    }
    void add(const std::vector<any_tensor>& variables, const std::string& path);

    std::vector<nn::model_variable> found_;
    bool some_not_made_ = false;
};

// target := target + part (source - target), of the variables of two models one by one.
operation assign_models(const std::vector<nn::model_variable>& targets, const std::vector<nn::model_variable>& sources,
                        double part);
nn::model_summary summary_of(const std::vector<nn::model_variable>& all);

// What a type is called: "dense_layer<300, ..>" is "dense".
std::string kind_of_layer(std::string_view said);
template <class T> std::string kind_of() { return kind_of_layer(__PRETTY_FUNCTION__); }
template <class M> std::string kind_of_model(const M& m) {
    if constexpr (requires { m.inner(); }) return kind_of_model(m.inner());
    else return kind_of<M>();
}

// Rows of layers, one after another.
class layer_rows {
public:
    template <class M> void add(const std::string& path, const M& layer, const any_tensor& in, const any_tensor& out) {
        model_walk walk;
        walk.visit(layer, "");
        add(path + (path.empty() ? "" : " ") + kind_of_model(layer), walk.finish(), in, out);
    }
    /// Of a model that is called with x: of its layers one by one, or of all in one row. What it gives.
    template <class M, class X> auto add_called(const M& model, const X& x, nn::phase p) {
        if constexpr (computes_within<M>)
            return model.within(x, [&](const auto& in) { return add_called(model.inner(), in, p); });
        else if constexpr (is_layer_sequence<M>) {
            const auto along = [&]<int I>(const auto& self, std::integral_constant<int, I>, const auto& now) {
                if constexpr (I == M::size()) return now;
                else {
                    const auto& layer = model.template layer<I>();
                    const auto next = as_tensor(call(layer, now, p));
                    add(std::to_string(I), layer, now, next);
                    return self(self, std::integral_constant<int, I + 1>(), next);
                }
            };
            return along(along, std::integral_constant<int, 0>(), x);
        } else {
            const auto y = as_tensor(call(model, x, p));
            add("", model, x, y);
            return y;
        }
    }
    nn::model_summary finish(const std::vector<nn::model_variable>& all);

private:
    template <class M> static constexpr bool is_layer_sequence = requires(const M& m) { m.template layer<0>(); }
    &&!requires(const M& m) { m.inner(); };
    template <class M> static constexpr bool computes_within = requires { M::computes_within; }; // of what it casts

    void add(const std::string& name, const std::vector<nn::model_variable>& own, const any_tensor& in,
             const any_tensor& out);
    nn::model_summary summary_;
};

} // namespace tenon::detail

namespace tenon::nn {

/// All variables of a model, each once, with its path. Throws invalid_argument_error where the model was never called.
template <class Model> std::vector<model_variable> variables(const Model& model) {
    detail::model_walk walk;
    walk.visit(model, "");
    return walk.finish();
}

/// Those that are trained, as minimize_options::variables takes them.
template <class Model> std::vector<any_tensor> trainable(const Model& model) {
    std::vector<any_tensor> all;
    for (model_variable& v : variables(model))
        if (v.trained) all.push_back(std::move(v.variable));
    return all;
}

/// A model of the same layers with variables of its own, made when it is first called, which begin with the values that the model's begin with,
/// where those were made before; what layers of the model share those of the clone share. Throws unimplemented_error where weights are split
/// over devices.
template <class Model> Model clone(const Model& model) {
    const copied_parameters copying(copied_parameters::copies::cloned);
    return Model(model);
}

template <class Model> model_summary summary(const Model&, detail::any_argument, detail::any_argument = {}) {
    static_assert(
        detail::is_mistake<Model>,
        "tenon::nn::summary: a model, a tensor that it is called with, and a phase: summary(model, x, nn::training)");
    return {};
}
template <auto..., class X = void> ill_shaped clone() {
    static_assert(detail::is_mistake<X>, "tenon::nn::clone: say of what: clone(model)");
    return {};
}

/// An operation that has the variables of `target` become target + part (source - target): with 1 those of `source`. Both models were called, and
/// have the same variables in the same order; else throws invalid_argument_error, which names the first that differs.
template <class Target, class Source> operation assign(const Target& target, const Source& source, double part = 1) {
    return detail::assign_models(variables(target), variables(source), part);
}

/// Its variables as a table: path, type, number of elements, bytes.
template <class Model> model_summary summary(const Model& model) { return detail::summary_of(variables(model)); }

/// Its layers as a table, with what each gives, called with x in turn. Sizes that the run says count as 1 in operations: those of one example.
template <class Model, Operand X> model_summary summary(const Model& model, const X& x, phase p = inference) {
    if constexpr (std::is_same_v<X, ill_shaped>) return {};
    else {
        detail::layer_rows rows;
        rows.add_called(model, detail::as_tensor(x), p);
        return rows.finish(variables(model));
    }
}

} // namespace tenon::nn

#if TENON_HEADER_ONLY
#include <tenon/nn/model/model.ipp>
#endif
