#pragma once

// A part of train/optimize/optimizers.ipp: gradients' norms, and gradients held within bounds.

namespace tenon {

namespace detail {

// The gradient, or where it is sparse its rows, each index once: equal ones are zero after the first.
inline std::optional<row_gradient> summed_rows(row_gradients& found, const any_tensor& gradient) {
    std::optional<row_gradient> rows = found.of(gradient);
    if (rows) rows->values = add<sum_equal_rows_op>({true}, {rows->values, rows->indices});
    return rows;
}

// The sum of scalars in double: a tree of nodes that each read as many as a tape can.
inline any_tensor sum_of_scalars(std::vector<any_tensor> scalars) {
    do {
        std::vector<any_tensor> sums;
        for (std::size_t begin = 0; begin < scalars.size(); begin += max_tape_inputs) {
            tape_writer t;
            std::optional<tape_value> sum;
            for (std::size_t i = begin; i < std::min(begin + max_tape_inputs, scalars.size()); ++i) {
                const tape_value x = t.cast(t.read(scalars[i]), element_type::float64);
                sum = sum ? *sum + x : x;
            }
            t.write(*sum, element_type::float64);
            sums.push_back(t.finish().front());
        }
        scalars = std::move(sums);
    } while (scalars.size() > 1);
    return scalars.front();
}

// The sum of the squares of all elements, by one pass over each gradient.
inline any_tensor squared_norm(const std::vector<gradient_and_variable>& gradients) {
    if (gradients.empty()) throw invalid_argument_error("global_norm: there are no gradients");
    row_gradients found;
    std::vector<any_tensor> parts;
    for (const gradient_and_variable& g : gradients) {
        check_gradient(g);
        const element_type type = compute_type(g.gradient.element());
        const follow_scope there(g.gradient.node());
        tape_writer t;
        const std::optional<row_gradient> rows = summed_rows(found, g.gradient);
        const tape_value x = t.read(rows ? rows->values : g.gradient);
        t.write_sum(x * x, type, scalar_constant(0, type));
        parts.push_back(t.finish().front());
    }
    return sum_of_scalars(std::move(parts));
}

inline void check_limit(const char* name, double limit) {
    if (!(limit > 0))
        throw invalid_argument_error(std::string(name) + ": the limit is " + detail::text_of_number(limit) +
                                     "; give a number greater than 0");
}

// g * limit / max(norm, limit)
inline void scale_down(any_tensor& gradient, const any_tensor& squared, double limit) {
    const element_type type = gradient.element();
    tape_writer t;
    const tape_value norm = sqrt(t.read(squared));
    const tape_value least = t.literal(limit, norm.type);
    t.write(t.cast(least / t.apply(opcode::maximum, norm, least), compute_type(type)), compute_type(type));
    const any_tensor scale = t.finish().front(); // one for all gradients of a type
    const follow_scope there(gradient.node());
    tape_writer product;
    const tape_value factor = product.read(scale);
    product.write(product.read(gradient) * factor, type);
    gradient = product.finish().front();
}

} // namespace detail

TENON_INLINE std::vector<gradient_and_variable> clip_by_value(std::vector<gradient_and_variable> gradients, double low,
                                                              double high) {
    if (!(low <= high))
        throw invalid_argument_error("clip_by_value: the lower bound " + detail::text_of_number(low) +
                                     " is above the upper one, " + detail::text_of_number(high));
    detail::row_gradients found;
    for (gradient_and_variable& g : gradients) {
        detail::check_gradient(g);
        const detail::home_scope scope{graph(g.variable.node()->graph)};
        const detail::follow_scope there(g.gradient.node());
        // Zeros that stay zeros need not be there.
        const auto rows = low <= 0 && high >= 0 ? detail::summed_rows(found, g.gradient) : std::nullopt;
        detail::tape_writer t;
        const detail::tape_value x = t.read(rows ? rows->values : g.gradient);
        t.write(minimum(t.apply(opcode::maximum, x, t.literal(low, x.type)), t.literal(high, x.type)),
                g.gradient.element());
        const any_tensor clipped = t.finish().front();
        g.gradient = rows ? gradient_of_rows({rows->indices, clipped}, g.variable) : clipped;
    }
    return gradients;
}

TENON_INLINE std::vector<gradient_and_variable> clip_by_norm(std::vector<gradient_and_variable> gradients,
                                                             double limit) {
    detail::check_limit("clip_by_norm", limit);
    std::vector<any_tensor> variables;
    for (const gradient_and_variable& g : gradients) {
        detail::check_gradient(g);
        variables.push_back(g.variable);
    }
    // The gradients of a variable's parts are one.
    std::unordered_map<const node*, std::vector<gradient_and_variable>> of_whole;
    std::unordered_map<const node*, const node*> whole_of;
    for (const detail::whole_variable& w : detail::whole_variables(variables))
        for (const any_tensor& p : w.parts) whole_of[p.node()] = w.variable.node();
    for (const gradient_and_variable& g : gradients)
        if (const node* const whole = whole_of[g.variable.node()]; whole != g.variable.node())
            of_whole[whole].push_back(g);
    for (gradient_and_variable& g : gradients) {
        const detail::home_scope scope{graph(g.variable.node()->graph)};
        const auto parts = of_whole.find(whole_of[g.variable.node()]);
        const any_tensor squared =
            detail::squared_norm(parts == of_whole.end() ? std::vector<gradient_and_variable>{g} : parts->second);
        detail::scale_down(g.gradient, squared, limit); // equal nodes are one: the norm of a whole is made once
    }
    return gradients;
}

TENON_INLINE std::vector<gradient_and_variable> clip_by_global_norm(std::vector<gradient_and_variable> gradients,
                                                                    double limit) {
    detail::check_limit("clip_by_global_norm", limit);
    if (gradients.empty()) throw invalid_argument_error("clip_by_global_norm: there are no gradients");
    detail::check_gradient(gradients.front());
    const detail::home_scope scope{graph(gradients.front().variable.node()->graph)};
    const any_tensor squared = detail::squared_norm(gradients);
    for (gradient_and_variable& g : gradients) detail::scale_down(g.gradient, squared, limit);
    return gradients;
}

TENON_INLINE tensor<double, shape<>> global_norm(const std::vector<gradient_and_variable>& gradients) {
    if (gradients.empty()) throw invalid_argument_error("global_norm: there are no gradients");
    detail::check_gradient(gradients.front());
    const detail::home_scope scope{graph(gradients.front().variable.node()->graph)};
    detail::tape_writer t;
    t.write(sqrt(t.read(detail::squared_norm(gradients))), element_type::float64);
    return tensor<double, shape<>>::unchecked(t.finish().front());
}

} // namespace tenon
