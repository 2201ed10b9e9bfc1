// Nor captured.
// error[gcc]: use of deleted function .*write_copy_or_std_move
// error[clang]: call to deleted constructor of
// error: detail::write_copy_or_std_move = \{\}\) = delete; // a.copy\(\), a.share\(\) or std::move\(a\)
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto program(tn::any_array& a) {
#ifdef TENON_EXPECT_ERROR
    return [a] { return a.rank(); };
#else
    return [a = a.copy()] { return a.rank(); };
#endif
}
