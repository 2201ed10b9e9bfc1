// fashion_mnist, which learns other images each epoch: half of them are mirrored, and all are moved by up to 2 pixels.
// needs: the data set (examples/run.sh installs it)
#include <tenon/image.hpp>
#include <tenon/tenon.hpp>

namespace {

constexpr auto augmented = [](auto images) {
    auto mirrored = tenon::random_flip_left_right(tenon::expand_dims<-1>(images), {.seed = 2});
    auto cut = tenon::random_crop<28, 28>(tenon::pad_to<32, 32>(mirrored), {.seed = 3});
    return tenon::squeeze<-1>(cut);
};

} // namespace

#define FASHION_MNIST_AUGMENTED 1
#include "fashion_mnist.cpp"
