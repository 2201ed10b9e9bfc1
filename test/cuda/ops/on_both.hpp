#pragma once

#include "tests.hpp"
#include "both_devices.hpp"

/// One node run on the GPU and on the host.

namespace tenon::test {

/// Random numbers of which drawn_seed() says how they are drawn again.
inline std::mt19937 seeded() { return std::mt19937(static_cast<std::mt19937::result_type>(drawn_seed())); }

inline constexpr element_type of_each_size[] = {element_type::uint8, element_type::bfloat16, element_type::float32,
                                                element_type::int64};

inline any_array random_array(element_type e, const extents& sizes, std::mt19937& random) {
    any_array a(e, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i)
        op_table::set_number(a, i, static_cast<double>(random() % 201) - 100.0);
    return a;
}

// The results of one node of the op, on a device, and of what is fetched of it.
inline std::vector<any_array> on_device(const char* device, const std::string& op, const attributes& a,
                                        const std::vector<any_array>& inputs, const std::vector<bool>& read) {
    std::vector<const any_array*> values;
    for (const any_array& x : inputs) values.push_back(&x);
    return std::move(steps_on(device, 1, 0, values, [&](const std::vector<any_tensor>& in) {
        node* const n = add_node(*find_op(op), in, a);
        std::vector<any_tensor> fetched;
        for (std::size_t o = 0; o < n->outputs.size(); ++o)
            if (read.empty() || read[o]) fetched.emplace_back(node_output{n, static_cast<int>(o)});
        return fetched;
    })[0]);
}
/// Both give the same bits. `read`: which of several outputs are fetched; none is said: all.
template <class A>
void check_same(const std::string& op, const A& a, const std::vector<any_array>& inputs,
                const std::vector<bool>& read = {}) {
    std::string types;
    for (const any_array& x : inputs) types += " " + to_string(x.type());
    INFO(op, " of", types);
    const std::vector<any_array> wanted = on_device("/cpu:0", op, encode(a), inputs, read);
    CHECK(op_table::difference(on_device("/gpu:0", op, encode(a), inputs, read), wanted) == "");
}
/// Both give the same numbers, but for what rounding leaves.
template <class A> void check_close(const std::string& op, const A& a, const std::vector<any_array>& inputs) {
    std::string types;
    for (const any_array& x : inputs) types += " " + to_string(x.type());
    INFO(op, " of", types);
    op_table::arguments wanted;
    for (const any_array& y : on_device("/cpu:0", op, encode(a), inputs, {})) wanted.push_back(op_table::to_plain(y));
    CHECK(op_table::difference(on_device("/gpu:0", op, encode(a), inputs, {}), wanted, 4) == "");
}

template <class... X> std::vector<any_array> arrays(X&&... x) {
    std::vector<any_array> all;
    (all.push_back(std::forward<X>(x)), ...);
    return all;
}

// Up to so many elements in any number of dimensions.
inline extents random_sizes(std::mt19937& random, int most_rank = max_rank, std::int64_t most = 3000) {
    const int rank = static_cast<int>(random() % static_cast<unsigned>(most_rank + 1));
    extents sizes;
    std::int64_t elements = 1;
    for (int i = 0; i < rank; ++i) {
        const std::int64_t size =
            random() % 25 == 0 ? 0 : 1 + static_cast<std::int64_t>(random() % (rank < 4 ? 40 : 5));
        sizes.push_back(elements * size > most ? 1 : size);
        elements *= std::max<std::int64_t>(sizes[i].size, 1);
    }
    return sizes;
}

} // namespace tenon::test
