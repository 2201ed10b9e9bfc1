// What is fed and what is run.
#include <cstdint>

#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// case callable: A callable's operands are checked like feeds.
// error[gcc]: feed: sizes differ: \[batch, 784\] x \[batch, 300\]
// error[clang]: feed_rule, tenon::fault::sizes_differ, .*<float, batch, .*size<784> ?>, .*<float, batch, .*size<300> ?>
void f(tn::session& s, const tn::tensor<float, tn::shape<batch, 784>>& x,
       const tn::array<float, tn::shape<batch, 784>>& fits, const tn::array<float, tn::shape<batch, 300>>& wrong) {
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x)));
    (void)fits;  // wrong
    step(wrong); // wrong
    (void)wrong; // right
    step(fits);  // right
}

// case element_type: SEMANTICS 16: a fed value of the wrong dtype does not compile.
// error[gcc]: feed: element types differ: float\[batch\] x double\[batch\]
// error[clang]: feed_rule, tenon::fault::element_types_differ, .*<float, batch>, .*<double, batch>
auto f(const tn::tensor<float, tn::shape<batch>>& x, const tn::array<float, tn::shape<batch>>& fits,
       const tn::array<double, tn::shape<batch>>& wrong) {
    (void)fits;                // wrong
    return tn::feed(x, wrong); // wrong
    (void)wrong;               // right
    return tn::feed(x, fits);  // right
}

// case fraction: 16: a number with a fraction is not fed to integers.
// error: feed
// error: tenon::feed: what is fed must be an array, or for a scalar tensor a number of its kind
auto f(const tn::tensor<std::int32_t, tn::shape<>>& x) {
    return tn::feed(x, 3.7); // wrong
    return tn::feed(x, 3);   // right
}

// case fractions: Nor are several.
// error: feed
// error: tenon::feed: what is fed must be an array, or for a scalar tensor a number of its kind: none with a fraction
auto f(const tn::tensor<std::int32_t, tn::shape<2>>& x) {
    return tn::feed(x, {1.5, 2.0}); // wrong
    return tn::feed(x, {1, 2});     // right
}

// case loose_element_type: The element type is known by type even where the sizes are not.
// error: feed
// error: tenon::feed: the array's element type is not the tensor's
auto f(const tn::tensor<float, tn::shape<3>>& x, const tn::array<float>& fits, const tn::array<double>& wrong) {
    (void)fits;                // wrong
    return tn::feed(x, wrong); // wrong
    (void)wrong;               // right
    return tn::feed(x, fits);  // right
}

// case results: A step that is fed wrongly gives as many results as ever.
// error[gcc]: feed: sizes differ: \[batch, 784\] x \[batch, 300\]
// error[clang]: feed_rule, tenon::fault::sizes_differ, .*<float, batch, .*size<784> ?>, .*<float, batch, .*size<300> ?>
float f(tn::session& s, const tn::tensor<float, tn::shape<batch, 784>>& x,
        const tn::array<float, tn::shape<batch, 784>>& fits, const tn::array<float, tn::shape<batch, 300>>& wrong) {
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x), tn::no_op(), sum(x)));
    (void)fits;                // wrong
    auto [m, n] = step(wrong); // wrong
    (void)wrong;               // right
    auto [m, n] = step(fits);  // right
    return m.item() + n.item();
}

// case shape: SEMANTICS 16: a fed value of the wrong sizes does not compile where they are known by type.
// error[gcc]: feed: sizes differ: \[batch, 784\] x \[batch, 300\]
// error[clang]: feed_rule, tenon::fault::sizes_differ, .*<float, batch, .*size<784> ?>, .*<float, batch, .*size<300> ?>
auto f(const tn::tensor<float, tn::shape<batch, 784>>& x, const tn::array<float, tn::shape<batch, 784>>& fits,
       const tn::array<float, tn::shape<batch, 300>>& wrong) {
    (void)fits;                // wrong
    return tn::feed(x, wrong); // wrong
    (void)wrong;               // right
    return tn::feed(x, fits);  // right
}

// case text: What is no array and no number is fed to nothing, and the step gives as many results as ever.
// error: feed
// error: tenon::feed: what is fed must be an array, or for a scalar tensor a number of its kind
float f(tn::session& s, const tn::tensor<float, tn::shape<>>& x) {
    const auto step = s.callable(tn::feeds(x), tn::fetches(exp(x)));
    auto [e] = step("1"); // wrong
    auto [e] = step(1);   // right
    return e.item();
}

// case list_for_scalar: Several values for one.
// error[gcc]: In instantiation of .*feed
// error: tenon::feed: the tensor is a scalar, and is fed one value: feed\(x, 0.5f\)
auto program(const tn::tensor<float, tn::shape<>>& x) {
    return tn::feed(x, {1.0f, 2.0f}); // wrong
    return tn::feed(x, 1.0f);         // right
}

// case no_value: A feed without its value.
// error[gcc]: In instantiation of .*feed
// error: tenon::feed: say the value, too: feed\(x, value\)
auto program(const tn::tensor<float, tn::shape<>>& x) {
    return tn::feed(x);       // wrong
    return tn::feed(x, 1.0f); // right
}
