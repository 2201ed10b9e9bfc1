// examples/tfrecord_shards.cpp prints what its comment says.
#define main tfrecord_shards
#include "../../examples/tfrecord_shards.cpp"
#undef main

#include <doctest/doctest.h>

#include <string>

#include "examples/support.hpp"

TEST_CASE("shards of TFRecords that several threads read teach a model what is in them") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const std::string output = printed([] { CHECK(tfrecord_shards() == 0); });
    CHECK(output == "6 shards, 768 images\n"
                    "192 steps of 32 images, each image 8 times\n"
                    "95 % of the images are told right: yes\n");
}
