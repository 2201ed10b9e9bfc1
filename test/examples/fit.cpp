// examples/fit.cpp prints what the comment above it says.
#define main fit_example
#include "../../examples/fit.cpp"
#undef main

#include <doctest/doctest.h>

#include "examples/said_output.hpp"

TEST_CASE("a recurrent network learns to remember in epochs, and the best of them is left") {
    CHECK(is_as_said(output_of(fit_example), "fit.cpp"));
}
