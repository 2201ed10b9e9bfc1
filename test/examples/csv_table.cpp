// examples/csv_table.cpp prints what the comment above it says.
#define main csv_table
#include "../../examples/csv_table.cpp"
#undef main

#include <doctest/doctest.h>

#include "examples/said_output.hpp"

TEST_CASE("a table with missing fields teaches the formula that it was made by") {
    CHECK(is_as_said(output_of(csv_table), "csv_table.cpp"));
}
