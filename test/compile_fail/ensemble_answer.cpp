// A member answers with what the queues are of.
// error[gcc]: enqueue: value does not fit its component: float\[batch, 10\] x float\[batch, 9\]
// error[clang]: enqueue_rule, tenon::fault::value_does_not_fit_component
// lines: 16
#include <tenon/models.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    const tn::ensemble_queues<tn::component<float, tn::shape<batch, 784>>, tn::component<float, tn::shape<batch, 10>>>
        queues(tn::ensemble_options{});
#ifdef TENON_EXPECT_ERROR
    const auto serve = queues.serve(0, [](auto x) { return tn::softmax(tn::nn::dense<9>()(x)); });
#else
    const auto serve = queues.serve(0, [](auto x) { return tn::softmax(tn::nn::dense<10>()(x)); });
#endif
}
