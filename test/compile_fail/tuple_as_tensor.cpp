// error[gcc]: a tuple of tensors is no tensor: take it apart, auto \[a, b\] = t, or take std::get<0>\(t\)
// error[clang]: a_tuple_of_tensors_is_no_tensor_take_it_apart
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/queue/queue.hpp>

void program(const tenon::fifo_queue<tenon::component<float, tenon::shape<3>>, int>& q) {
    const auto [x, label] = q.dequeue();
    auto fits = exp(x) * 2.0f;
#ifdef TENON_EXPECT_ERROR
    auto wrong = exp(q.dequeue()) * 2.0f; // one error, whatever comes after
#endif
}
