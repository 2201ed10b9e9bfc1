#pragma once

#include <string>
#include <type_traits>

#include <tenon/nn/layer.hpp>
#include <tenon/ops/shape/gather.hpp>

/// The layer of a learned row for each of many things: words, users.
///
///     auto h = tn::nn::embedding<20000, 64>()(ids);                // int32[batch, time] -> float[batch, time, 64]
///     auto table = tn::nn::embedding<20000, 64, tn::bfloat16>({.partition = {.parts = 4}});

namespace tenon::nn {

struct embedding_options {
    initializer table = normal(0, 1);
    partitioned partition{};        ///< in how many parts the table is, which may lie on different tasks
    std::string name = "embedding"; ///< its variable is NAME/table
};

/// What the compiler checks when an embedding is called. in: integers.
struct embedding_rule {
    static constexpr const char* name = "embedding";
    struct attributes {
        int width = 1;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (!is_integer(in[0].element)) return fault::element_type_must_be_integer;
        extents e = in[0].extents;
        if (e.rank() == max_rank) return fault::rank_too_high;
        e.push_back(a.width);
        return inferred(element_type::float32, e);
    }
};

/// The rows of a table [Rows, Width] that integers name: [...] -> [..., Width]. An index that is no row is an error of the step; a gradient
/// is of the rows that were read, and no more (ops/shape/gather.hpp).
template <int Rows, int Width, Element T = float> class embedding_layer {
    static_assert(Rows > 0 && Width > 0,
                  "tenon::nn::embedding: the numbers of rows and of their elements must be positive");

public:
    template <class X>
    using judged = judgement<embedding_rule, detail::constant_attributes<embedding_rule::attributes{Width}>, X>;

    explicit embedding_layer(embedding_options o = {}) : options_(std::move(o)) {}
    template <class X> auto operator()(const X& ids, called_from here = caller()) const {
        const making made(here);
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else {
            const first_call names(table_, options_.name);
            const auto table =
                table_.template get<T, shape<Rows, Width>>("table", options_.table, {.partition = options_.partition});
            return gather(table, ids);
        }
    }
    /// The variable; an empty handle before the first call.
    const any_tensor& table() const noexcept { return table_.variable(); }

private:
    embedding_options options_;
    parameter table_;
};

template <int Rows, int Width, Element T = float>
embedding_layer<Rows, Width, T> embedding(const embedding_options& o = {}) {
    return embedding_layer<Rows, Width, T>(o);
}
template <int... Sizes, std::integral... N>
    requires(sizeof...(Sizes) < 2)
ill_shaped embedding(N...) {
    static_assert(detail::is_mistake<N...>, "tenon::nn::embedding: the numbers of rows and of their elements are "
                                            "template arguments: embedding<20000, 64>()");
    return {};
}

} // namespace tenon::nn
