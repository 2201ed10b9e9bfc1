#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "gpu/needs_gpu.hpp"

int main(int argc, char** argv) {
    doctest::Context tests(argc, argv);
    if (!tests.shouldExit() && !has_gpu()) return 77;
    return tests.run();
}
