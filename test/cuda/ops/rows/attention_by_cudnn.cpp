#if defined(TENON_WITH_CUDNN)

#include <doctest/doctest.h>

#include <algorithm>

#include "emulator/control.hpp"
#include "emulator/libraries/cudnn.hpp"
#include <cuda/dnn/attention.hpp>

#include "attended_on_gpu.hpp"
#include "environment.hpp"

// Which attention is cuDNN's, and in which parts its gradient is asked for.

using namespace tenon;
namespace cudnn = tenon::emulator::cudnn;

namespace {

const test::attention_problem causal{
    .batch = 2, .heads = 4, .key_heads = 2, .n = 24, .m = 20, .d = 8, .e = 16, .causal = true};

template <class T> void check(const test::attention_problem& p, std::size_t graphs, bool wide_lengths = false) {
    auto o = test::attention_operands::of<T>(p);
    if (wide_lengths) {
        o.lengths = any_array(element_type::int64, {p.batch});
        std::copy(p.lengths.begin(), p.lengths.end(), o.lengths.template data<std::int64_t>());
    }
    cudnn::reset();
    CHECK(test::difference_from_formula<T>(p, o, test::attended_on_gpu(p, o)) == "");
    CHECK(cudnn::executed().size() == graphs);
    cudnn::reset();
}

} // namespace

TEST_CASE_TEMPLATE("attention of 16 bits is one graph of cuDNN, and so is its gradient", T, half, bfloat16) {
    check<T>(causal, 2);
    check<T>({.heads = 3, .key_heads = 3, .n = 5, .m = 9, .d = 8, .e = 8, .scale = 0.4}, 2);
    check<float>(causal, 0);
    check<double>(causal, 0);
    for (const bool is_causal : {false, true}) { // sequences of all keys, of none, and of one
        test::attention_problem lengths = causal;
        lengths.causal = is_causal;
        lengths.batch = 4;
        lengths.lengths = {20, 0, 7, 1};
        check<T>(lengths, 2);
        check<T>(lengths, 2, true);
    }
    const test::environment own("TENON_CUDA_ATTENTION", "own");
    check<T>(causal, 0);
}

TEST_CASE("parts of a gradient are put together") {
    const test::environment parts("TENON_CUDA_ATTENTION", "in_parts");
    check<half>(causal, 1 + 4);
    check<half>({.batch = 3, .heads = 4, .key_heads = 2, .n = 6, .m = 9, .d = 8, .e = 8}, 1 + 6);
    check<half>({.batch = 3, .heads = 4, .key_heads = 2, .n = 6, .m = 9, .d = 8, .e = 8, .lengths = {3, 0, 9}}, 1 + 6);
    check<half>({.batch = 4, .n = 5, .m = 9, .d = 8, .e = 8},
                1 + 1); // four sequences begin at multiples of 16 bytes, fewer do not
}

TEST_CASE("what cuDNN has no engine for is computed without it: attention") {
    const auto o = test::attention_operands::of<half>(causal);
    cudnn::reset();
    cudnn::refuse(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    CHECK(test::difference_from_formula<half>(causal, o, test::attended_on_gpu(causal, o)) == "");
    CHECK(cudnn::executed().empty());
    cudnn::reset();
    cudnn::refuse(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR); // which the gradient alone has
    CHECK(test::difference_from_formula<half>(causal, o, test::attended_on_gpu(causal, o)) == "");
    CHECK(cudnn::executed().size() == 1);
    cudnn::reset();
}

TEST_CASE("a gradient is divided into the fewest parts whose working memory is within its limit") {
    cuda::attention_layout l;
    l.batch = 8;
    l.heads = l.key_heads = 16;
    l.queries = l.keys = 1024;
    l.size = l.value_size = 64;
    l.lie_densely();
    cuda::attention_layout part = cuda::dnn::gradient_part(l, false); // 2.4 MB a head
    CHECK(part.batch == 4);
    CHECK(part.heads == 16);
    CHECK(part.key_heads == 16);
    part = cuda::dnn::gradient_part(l, true); // one head of one sequence
    CHECK(part.batch == 1);
    CHECK(part.heads == 1);
    l.key_heads = 2; // of eight heads of queries each: 19 MB
    part = cuda::dnn::gradient_part(l, false);
    CHECK(part.batch == 4);
    CHECK(part.heads == 16);
    CHECK(part.key_heads == 2);
    l.queries = l.keys = 8192; // 1.1 GB
    CHECK(cuda::dnn::gradient_part(l, false).batch == 0);
}

#endif
