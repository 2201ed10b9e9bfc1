// examples/text_classes.cpp prints what the comment above it says.
#define main text_classes
#include "../../examples/text_classes.cpp"
#undef main

#include <doctest/doctest.h>

#include "examples/said_output.hpp"

TEST_CASE("lines of text in batches of about one length: little padding, and most are told right") {
    CHECK(is_as_said(output_of(text_classes), "text_classes.cpp"));
}
