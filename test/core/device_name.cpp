#include <doctest/doctest.h>

#include <map>
#include <string>

#include <tenon/core/device_name.hpp>
#include <tenon/core/error.hpp>

#include "messages.hpp"

// Names of devices from text that is known at run time; test/static/device_name.cpp has the rules.

namespace tn = tenon;
using namespace tn::literals;

namespace {
std::string mistake(const std::string& text) {
    return message_of<tn::invalid_argument_error>([&] { (void)tn::device_name(text); });
}
int index_of(const tn::device_name& d) { return d.index; }
} // namespace

TEST_CASE("SEMANTICS 1: a device's name is written with the parts that are set, in one order and spelling") {
    CHECK(to_string("/gpu:2/task:1/replica:0/job:ps"_dev) == "/job:ps/replica:0/task:1/device:GPU:2");
    CHECK(to_string("/cpu:0"_dev) == "/device:CPU:0");
    CHECK(to_string("/device:gpu/job:worker"_dev) == "/job:worker/device:GPU:*");
    CHECK(to_string("/job:*/task:3"_dev) == "/task:3");
    CHECK(to_string(tn::device_name()).empty());
}

TEST_CASE("SEMANTICS 1: text that comes at run time is read by the same rules") {
    const std::string text = "/job:worker/task:12/gpu:3";
    CHECK(tn::device_name(text) == "/job:worker/task:12/gpu:3"_dev);
    CHECK(tn::device_name(text.c_str()) == "/job:worker/task:12/gpu:3"_dev);
    CHECK(index_of(text) == 3);
    CHECK(index_of("/gpu:4") == 4);
    for (const char* written : {"", "/job:a", "/device:GPU:*", "/job:a_1/replica:2/task:3/device:TPU:4"})
        CHECK(to_string(tn::device_name(written)) == written);
}

TEST_CASE("SEMANTICS 1: a malformed name is an invalid_argument_error naming the bad part and the whole text") {
    CHECK(mistake("/job:ps/gpuu:0/task:1") ==
          "device name \"/job:ps/gpuu:0/task:1\": a part is none of /job:NAME, /replica:N, /task:N, /device:TYPE:N, "
          "/cpu:N and /gpu:N: \"/gpuu:0\"; a name is like /job:ps/replica:0/task:1/device:GPU:0 or /gpu:0");
    CHECK(contains(mistake("/job:ps/task:-1"), "a number is not made of the digits 0 to 9: \"/task:-1\""));
    CHECK(contains(mistake("gpu:0"), "device name \"gpu:0\": a part does not begin with a slash; a name is like"));
    CHECK(contains(mistake("/cpu:0/gpu:0"), "a part is given twice: \"/gpu:0\""));
    CHECK(contains(mistake("/task:12345678901234567890"), "a number has more than 9 digits"));
    CHECK(mistake(std::string(100000, 'a')).size() < 1000);
    CHECK(contains(mistake("/job:" + std::string(48, 'a')), "a job's name has more than 47 characters"));
}

TEST_CASE("device names are keys") {
    std::map<tn::device_name, int> numbers;
    numbers["/gpu:0"] = 1;
    numbers["/gpu:1"] = 2;
    ++numbers["/device:GPU:0"];
    CHECK(numbers.size() == 2);
    CHECK(numbers["/gpu:0"] == 2);
}
