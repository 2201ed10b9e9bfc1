// An op of a program refuses its operands in its own words: g++ prints them, clang names the constant that has them.
// error[gcc]: interpolate: there must be a weight for each knot: float\[4\] x float\[3\]
// error[clang]: interpolate_op, tenon::fault::in_own_words, .*in_words<.*a_weight_for_each>, .*<float, .*size<4> ?>, .*<float, .*size<3> ?>
#include <tenon/graph/tensor.hpp>

namespace tn = tenon;

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
#ifdef TENON_EXPECT_ERROR
    (void)four;
    return tn::apply_op<interpolate_op, tn::no_attributes{}>(knots, three);
#else
    (void)three;
    return tn::apply_op<interpolate_op, tn::no_attributes{}>(knots, four);
#endif
}
