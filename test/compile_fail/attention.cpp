// Attention: heads, keys, lengths.
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// case heads: Heads that do not divide the width.
// error[gcc]: multi_head_attention: the number of heads does not divide the width: float\[batch, 5, 12\]
// error[clang]: multi_head_attention_rule, tenon::fault::in_own_words, .*heads_do_not_divide.*size<12>
int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, 5, 12>>("x");
    const auto y = tn::nn::multi_head_attention<5>()(x); // wrong
    const auto y = tn::nn::multi_head_attention<4>()(x); // right
    (void)y;
}

// case layer_width: The width beside the number of heads.
// error[gcc]: In instantiation of .*multi_head_attention
// error: tenon::nn::multi_head_attention: .* the width is that of x
int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, 5, 12>>("x");
    const auto y = tn::nn::multi_head_attention<4, 12>()(x); // wrong
    const auto y = tn::nn::multi_head_attention<4, 2>()(x);  // right
    (void)y;
}

// case key_heads: Heads of keys that do not divide those of the queries.
// error[gcc]: attention: the number of heads of keys does not divide that of queries: float\[batch, 8, 5, 4\] x float\[batch, 3,
// error[clang]: attention_op, tenon::fault::in_own_words, .*heads_do_not_divide
int main() {
    const auto q = tn::placeholder<float, tn::shape<batch, 8, 5, 4>>("q");
    const auto k = tn::placeholder<float, tn::shape<batch, 3, 7, 4>>("k"); // wrong
    const auto k = tn::placeholder<float, tn::shape<batch, 2, 7, 4>>("k"); // right
    const auto y = tn::attention(q, k, k);
    (void)y;
}

// case keys: Queries and keys of different sizes.
// error[gcc]: attention: inner dimensions differ: \[4, 3\] x \[5, 2\] x \[5, 2\]
// error[clang]: attention_op, tenon::fault::inner_dimensions_differ, .*size<3>.*size<2>
int main() {
    const auto q = tn::placeholder<float, tn::shape<4, 3>>("q");
    const auto k = tn::placeholder<float, tn::shape<5, 2>>("k"); // wrong
    const auto k = tn::placeholder<float, tn::shape<5, 3>>("k"); // right
    const auto v = tn::placeholder<float, tn::shape<5, 2>>("v");
    const auto y = tn::nn::attention(q, k, v);
    (void)y;
}

// case lengths: Key lengths that are not one a sequence.
// error[gcc]: attention: there is not one key length for each sequence: float\[batch, 8, 5, 4\] x .* x int32\[batch, 5\]
// error[clang]: attention_op, tenon::fault::in_own_words, .*lengths_differ
int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, 8, 5, 4>>("x");
    const auto lengths = tn::placeholder<std::int32_t, tn::shape<batch, 5>>("lengths"); // wrong
    const auto lengths = tn::placeholder<std::int32_t, tn::shape<batch>>("lengths");    // right
    const auto y = tn::attention(x, x, x, lengths, {.causal = true});
    (void)y;
}

// case mask: A mask that is not of the sizes of scores.
// error[gcc]: attention: the mask is added to scores \[.., heads, queries, keys\]: its sizes are theirs, or 1: float\[8, 5, 4\] x
// error[clang]: attention_op, tenon::fault::in_own_words, .*mask_does_not_fit
int main() {
    const auto q = tn::placeholder<float, tn::shape<8, 5, 4>>("q");
    const auto k = tn::placeholder<float, tn::shape<8, 7, 4>>("k");
    const auto mask = tn::placeholder<float, tn::shape<5, 5>>("mask"); // wrong
    const auto mask = tn::placeholder<float, tn::shape<5, 7>>("mask"); // right
    const auto y = tn::attention(q, k, k, mask);
    (void)y;
}

// case values: Values that are not one a key.
// error[gcc]: attention: sizes differ: \[8, 5, 4\] x \[8, 7, 4\] x \[8, 6, 4\]
// error[clang]: attention_op, tenon::fault::sizes_differ, .*size<7>.*size<6>
int main() {
    const auto q = tn::placeholder<float, tn::shape<8, 5, 4>>("q");
    const auto k = tn::placeholder<float, tn::shape<8, 7, 4>>("k");
    const auto v = tn::placeholder<float, tn::shape<8, 6, 4>>("v"); // wrong
    const auto v = tn::placeholder<float, tn::shape<8, 7, 4>>("v"); // right
    const auto y = tn::attention(q, k, v);
    (void)y;
}
