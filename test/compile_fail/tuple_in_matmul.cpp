// error[gcc]: a tuple of tensors is no tensor: take it apart
// error[clang]: a_tuple_of_tensors_is_no_tensor_take_it_apart
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/queue/queue.hpp>

void program(const tenon::fifo_queue<tenon::component<float, tenon::shape<2, 3>>, int>& q,
             tenon::tensor<float, tenon::shape<3, 4>> w) {
    const auto taken = q.dequeue();
    auto fits = matmul(std::get<0>(taken), w);
#ifdef TENON_EXPECT_ERROR
    auto wrong = matmul(taken, w);
#endif
}
