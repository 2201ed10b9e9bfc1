#include <tenon/core/device_name.hpp>

// SEMANTICS 1, 2: names of devices as the compiler reads them.

namespace tn = tenon;
using namespace tn::literals;
using tn::device_name;

namespace {
constexpr device_name whole = "/job:ps/replica:0/task:1/device:GPU:2";

template <class Policy> constexpr device_name of(Policy p) { return p; }
constexpr tn::detail::device_name_fault fault_in(std::string_view text) {
    return tn::detail::parse_device_name(text).what;
}
using fault = tn::detail::device_name_fault;
} // namespace

static_assert(whole.job == "ps" && whole.replica == 0 && whole.task == 1 && whole.type == "GPU" && whole.index == 2);
static_assert(whole.complete() && !whole.empty());
static_assert(device_name("").empty() && device_name().empty() && !device_name().complete());

// Short forms, any subset in any order, any case of the type.
static_assert("/cpu:0"_dev == "/device:CPU:0"_dev && "/gpu:1"_dev == "/device:gpu:1"_dev &&
              "/GPU:0"_dev == "/gpu:0"_dev);
static_assert("/task:1/job:ps"_dev == "/job:ps/task:1"_dev);
static_assert("/gpu:2/task:1/replica:0/job:ps"_dev == whole);
static_assert("/device:GPU"_dev.type == "GPU" && "/device:GPU"_dev.index == -1 && !"/device:GPU"_dev.complete());

// * is unset, for each field.
static_assert("/job:*/replica:*/task:*/device:*"_dev.empty() && "/device:*:*"_dev.empty());
static_assert("/cpu:*"_dev == "/device:CPU"_dev && "/device:GPU:*"_dev == "/device:GPU"_dev);

// What a literal of a name is, whichever way it comes in.
static_assert(of<device_name>("/gpu:0") == "/gpu:0"_dev);
static_assert(device_name(std::string_view("/gpu:0")) == "/gpu:0"_dev);

// What is unset comes from outside; type and index are one.
static_assert("/task:1"_dev.filled_from("/job:ps/gpu:0") == "/job:ps/task:1/gpu:0"_dev);
static_assert("/task:1"_dev.filled_from("/task:2") == "/task:1"_dev);
static_assert("/device:CPU"_dev.filled_from("/gpu:3") == "/device:CPU"_dev);
static_assert("/device:GPU"_dev.filled_from("/gpu:3") == "/device:GPU"_dev);
static_assert(""_dev.filled_from(whole) == whole && whole.filled_from("/cpu:7") == whole);

// A name allows a device that agrees in all it sets.
static_assert(""_dev.allows(whole) && "/job:ps"_dev.allows(whole) && "/gpu:2"_dev.allows(whole));
static_assert("/device:GPU"_dev.allows(whole) && whole.allows(whole));
static_assert(!"/job:worker"_dev.allows(whole) && !"/gpu:1"_dev.allows(whole) && !"/cpu:2"_dev.allows(whole));
static_assert(!"/task:0"_dev.allows(whole) && !"/replica:1"_dev.allows(whole));

// Names are ordered.
static_assert("/job:a"_dev < "/job:b"_dev && "/task:1"_dev < "/task:2"_dev && !("/gpu:0"_dev < "/gpu:0"_dev));

// What is malformed, and how.
static_assert(fault_in("gpu:0") == fault::part_without_a_slash && fault_in(" /gpu:0") == fault::part_without_a_slash);
static_assert(fault_in("/gpuu:0") == fault::unknown_part && fault_in("/") == fault::unknown_part);
static_assert(fault_in("/gpu:0/") == fault::unknown_part && fault_in("//gpu:0") == fault::unknown_part);
static_assert(fault_in("/Job:ps") == fault::unknown_part && fault_in("/tpu:0") == fault::unknown_part);
static_assert(fault_in("/gpu") == fault::part_without_a_value && fault_in("/gpu:") == fault::part_without_a_value);
static_assert(fault_in("/device:GPU:") == fault::part_without_a_value &&
              fault_in("/job:") == fault::part_without_a_value);
static_assert(fault_in("/gpu:x") == fault::number_that_is_not_decimal);
static_assert(fault_in("/gpu:-1") == fault::number_that_is_not_decimal);
static_assert(fault_in("/gpu:0 ") == fault::number_that_is_not_decimal);
static_assert(fault_in({"/gpu:0\0", 7}) == fault::number_that_is_not_decimal);
static_assert(fault_in("/task:0x1") == fault::number_that_is_not_decimal);
static_assert(fault_in("/task:999999999") == fault::none);
static_assert(fault_in("/task:1000000000") == fault::number_of_more_than_9_digits);
static_assert(fault_in("/gpu:0:1") == fault::part_with_too_many_values);
static_assert(fault_in("/device:GPU:0:1") == fault::part_with_too_many_values);
static_assert(fault_in("/job:a:b") == fault::part_with_too_many_values);
static_assert(fault_in("/job:1a") == fault::job_that_is_no_word && fault_in("/job:a-b") == fault::job_that_is_no_word);
static_assert(fault_in("/job:_a") == fault::job_that_is_no_word &&
              fault_in("/device::0") == fault::type_that_is_no_word);
static_assert(fault_in("/device:G U:0") == fault::type_that_is_no_word);
static_assert(fault_in("/job:abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstu") == fault::none);
static_assert(fault_in("/job:abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuv") == fault::job_or_type_that_is_too_long);
static_assert(fault_in("/device:ABCDEFGHIJKLMNO:0") == fault::none);
static_assert(fault_in("/device:ABCDEFGHIJKLMNOP:0") == fault::job_or_type_that_is_too_long);
static_assert(fault_in("/task:1/task:1") == fault::part_given_twice);
static_assert(fault_in("/cpu:0/gpu:0") == fault::part_given_twice);
static_assert(fault_in("/device:*/gpu:0") == fault::part_given_twice);
static_assert(fault_in("/device:*:0") == fault::index_without_a_type);
