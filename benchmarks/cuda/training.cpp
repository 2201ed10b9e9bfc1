// Training steps on a GPU beside the same as a CUDA graph made by hand over cuBLASLt and cuDNN (PERFORMANCE G3): 784-300-100-10 and the
// convolutional network of P6. Images and labels come from the host's memory in each step, and the loss goes back.

#include "cuda/gpu.hpp"
#include "cuda/hand_training.hpp"
#include "models.hpp"
#include "ratio.hpp"

namespace {

std::vector<ratio::row> rows;

template <class Model, class Hand> void compare(const std::string& name, int batch) {
    const std::string ours = name + "/tenon", theirs = name + "/graph";
    benchmark::RegisterBenchmark(ours.c_str(), [](benchmark::State& state) {
        Model m(0);
        const auto step = m.step();
        const typename Model::batch data;
        for (int i = 0; i < 5; ++i) (void)step(data.images, data.labels); // plans it, and records it
        for (auto _ : state) benchmark::DoNotOptimize(step(data.images, data.labels));
    })->UseRealTime();
    benchmark::RegisterBenchmark(theirs.c_str(), [batch](benchmark::State& state) {
        Hand by_hand(batch, 0.01F);
        const typename Model::batch data;
        for (auto _ : state) benchmark::DoNotOptimize(by_hand.step(data.images.data(), data.labels.data()));
    })->UseRealTime();
    rows.push_back({name, ours, theirs, 0.95, 1e3, "us"});
}

} // namespace

int main(int argc, char** argv) {
    if (!gpu::is_there()) return 77;
    compare<models::mlp<128>, baseline::hand_gpu_mlp>("G3: 784-300-100-10, batch 128", 128);
    compare<models::mlp<4096>, baseline::hand_gpu_mlp>("784-300-100-10, batch 4096", 4096);
#if defined(TENON_WITH_CUDNN)
    compare<models::conv<64>, baseline::hand_gpu_conv>("G3: LeNet, batch 64", 64);
    compare<models::conv<1024>, baseline::hand_gpu_conv>("LeNet, batch 1024", 1024);
#endif
    return ratio::run(argc, argv, rows);
}
