// Tuples, untyped tensors, texts, and a whole program.
#include <cstdio>

#include <tenon/input.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;

// case own_words: An op of a program refuses its operands in its own words: g++ prints them, clang names the constant that has
// them.
// error[gcc]: interpolate: there must be a weight for each knot: float\[4\] x float\[3\]
// error[clang]: interpolate_op, tenon::fault::in_own_words, .*in_words<.*a_weight_for_each>, .*<float, .*size<4> ?>, .*<float, .*size<3> ?>
struct interpolate_op {
    static constexpr const char* name = "interpolate";
    using attributes = tn::no_attributes;
    static constexpr char a_weight_for_each[] = "there must be a weight for each knot";
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) {
        if (in.size() != 2) return tn::fault::expects_more_operands;
        if (tn::equal_shapes(in[0].extents, in[1].extents).what != tn::fault::none) return a_weight_for_each;
        return in[0];
    }
};

auto f(const tn::tensor<float, tn::shape<4>>& knots, const tn::tensor<float, tn::shape<3>>& three,
       const tn::tensor<float, tn::shape<4>>& four) {
    (void)four;                                                             // wrong
    return tn::apply_op<interpolate_op, tn::no_attributes{}>(knots, three); // wrong
    (void)three;                                                            // right
    return tn::apply_op<interpolate_op, tn::no_attributes{}>(knots, four);  // right
}

// case strings_join: Texts are joined element by element.
// error[gcc]: string_join: sizes do not broadcast: (string)?\[3\] x (string)?\[4\]
// error[clang]: string_join_op>, tenon::fault::sizes_do_not_broadcast, .*size<3> ?>, .*size<4> ?>
auto f(const tn::tensor<std::string, tn::shape<3>>& x, const tn::tensor<std::string, tn::shape<4>>& y) {
    return tn::string_join(" ", x, y);          // wrong
    return (void)y, tn::string_join(" ", x, x); // right
}

// case tuple_as_tensor
// error[gcc]: a tuple of tensors is no tensor: take it apart, auto \[a, b\] = t, or take std::get<0>\(t\)
// error[clang]: a_tuple_of_tensors_is_no_tensor_take_it_apart
void program(const tenon::fifo_queue<tenon::component<float, tenon::shape<3>>, int>& q) {
    const auto [x, label] = q.dequeue();
    auto fits = exp(x) * 2.0f;
    auto wrong = exp(q.dequeue()) * 2.0f; // wrong: one error, whatever comes after
}

// case parts_as_tensor: And as what a split gives.
// error[gcc]: a tuple of tensors is no tensor: take it apart
// error[clang]: a_tuple_of_tensors_is_no_tensor_take_it_apart
auto program(const tn::tensor<float, tn::shape<4, 3>>& x) {
    return tn::split<2>(x) * 2.0f;    // wrong
    return tn::split<2>(x)[0] * 2.0f; // right
}

// case tuple_in_matmul
// error[gcc]: a tuple of tensors is no tensor: take it apart
// error[clang]: a_tuple_of_tensors_is_no_tensor_take_it_apart
void program(const tenon::fifo_queue<tenon::component<float, tenon::shape<2, 3>>, int>& q,
             tenon::tensor<float, tenon::shape<3, 4>> w) {
    const auto taken = q.dequeue();
    auto fits = matmul(std::get<0>(taken), w);
    auto wrong = matmul(taken, w); // wrong
}

// case untyped_never_typed: Beside an untyped tensor the result is untyped: it gets its type by as<T, S>(x).
// error[gcc]: use of deleted function .*write_as_or_constant
// error[clang]: invokes a deleted function
// error: write_as_or_constant
using row = tn::tensor<float, tn::shape<3>>;
row program(const row& x, const tn::any_tensor& y) {
    return x + y;                              // wrong
    return tn::as<float, tn::shape<3>>(x + y); // right
}

// case whole_program: One mistake in the middle of a model of 50 layers: one error, although all that follows rests on it: the
// loss, its training, the step and what the program does with the step's results.
// error[gcc]: matmul: inner dimensions differ: \[batch, 32\] x \[31, 32\]
// error[clang]: matmul_op.*inner_dimensions_differ.*<float, batch, .*size<32> ?>, .*<float, .*size<31>, .*size<32> ?>
inline constexpr struct batch : tn::dim<"batch"> {} batch;
int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 32>>("x");
    auto y = tn::placeholder<std::int32_t, tn::shape<batch>>("y");
    auto w = tn::variable<float, tn::shape<32, 32>>("w", tn::glorot_uniform());
    auto b = tn::variable<float, tn::shape<32>>("b", tn::zeros());
    auto w26 = tn::variable<float, tn::shape<31, 32>>("w26", tn::glorot_uniform()); // wrong
    auto w26 = w;                                                                   // right
    const auto h0 = x;
    const auto h1 = relu(matmul(h0, w) + b);
    const auto h2 = relu(matmul(h1, w) + b);
    const auto h3 = relu(matmul(h2, w) + b);
    const auto h4 = relu(matmul(h3, w) + b);
    const auto h5 = relu(matmul(h4, w) + b);
    const auto h6 = relu(matmul(h5, w) + b);
    const auto h7 = relu(matmul(h6, w) + b);
    const auto h8 = relu(matmul(h7, w) + b);
    const auto h9 = relu(matmul(h8, w) + b);
    const auto h10 = relu(matmul(h9, w) + b);
    const auto h11 = relu(matmul(h10, w) + b);
    const auto h12 = relu(matmul(h11, w) + b);
    const auto h13 = relu(matmul(h12, w) + b);
    const auto h14 = relu(matmul(h13, w) + b);
    const auto h15 = relu(matmul(h14, w) + b);
    const auto h16 = relu(matmul(h15, w) + b);
    const auto h17 = relu(matmul(h16, w) + b);
    const auto h18 = relu(matmul(h17, w) + b);
    const auto h19 = relu(matmul(h18, w) + b);
    const auto h20 = relu(matmul(h19, w) + b);
    const auto h21 = relu(matmul(h20, w) + b);
    const auto h22 = relu(matmul(h21, w) + b);
    const auto h23 = relu(matmul(h22, w) + b);
    const auto h24 = relu(matmul(h23, w) + b);
    const auto h25 = relu(matmul(h24, w) + b);
    const auto h26 = relu(matmul(h25, w26) + b);
    const auto h27 = relu(matmul(h26, w) + b);
    const auto h28 = relu(matmul(h27, w) + b);
    const auto h29 = relu(matmul(h28, w) + b);
    const auto h30 = relu(matmul(h29, w) + b);
    const auto h31 = relu(matmul(h30, w) + b);
    const auto h32 = relu(matmul(h31, w) + b);
    const auto h33 = relu(matmul(h32, w) + b);
    const auto h34 = relu(matmul(h33, w) + b);
    const auto h35 = relu(matmul(h34, w) + b);
    const auto h36 = relu(matmul(h35, w) + b);
    const auto h37 = relu(matmul(h36, w) + b);
    const auto h38 = relu(matmul(h37, w) + b);
    const auto h39 = relu(matmul(h38, w) + b);
    const auto h40 = relu(matmul(h39, w) + b);
    const auto h41 = relu(matmul(h40, w) + b);
    const auto h42 = relu(matmul(h41, w) + b);
    const auto h43 = relu(matmul(h42, w) + b);
    const auto h44 = relu(matmul(h43, w) + b);
    const auto h45 = relu(matmul(h44, w) + b);
    const auto h46 = relu(matmul(h45, w) + b);
    const auto h47 = relu(matmul(h46, w) + b);
    const auto h48 = relu(matmul(h47, w) + b);
    const auto h49 = relu(matmul(h48, w) + b);
    const auto h50 = relu(matmul(h49, w) + b);
    auto logits = tn::print(h50, "logits");
    tn::tensor<float, tn::shape<>> loss = mean(tn::nn::cross_entropy(logits, y));
    auto accuracy = tn::nn::accuracy(logits, y);
    auto train = tn::gradient_descent(0.1).minimize(loss + 0.001f * sum(square(w)));
    auto [g, gb] = tn::gradients(mean(h50), w, b);
    auto [low, high] = tn::split<2, 1>(h50);

    tn::session sess;
    sess.run(tn::initialize_variables());
    auto step = sess.callable(tn::feeds(x, y), tn::fetches(train, mean(logits), accuracy));
    tn::array<float, tn::shape<batch, 32>> images(10);
    tn::array<std::int32_t, tn::shape<batch>> labels(10);
    for (int i = 0; i < 10; ++i) {
        auto [l, a] = step(images, labels);
        std::printf("%.4f %.4f\n", static_cast<double>(l.item()), static_cast<double>(100 * a.item()));
        if (l.item() < 0.1f) break;
    }
    auto [gw, norm, parts] = sess.run(tn::feed(x, images), g, sum(square(gb)), tn::concat<1>(low, high));
    for (float value : gw.span()) std::printf("%g ", static_cast<double>(value));
    return gw.size() > 0 && norm.item() > 0 && parts.extent(0) == 10 ? 0 : 1;
}
