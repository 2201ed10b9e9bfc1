#include <tenon/runtime/device/device.hpp>

#include "tests.hpp"

TEST_CASE("SEMANTICS 12: the physical devices have a name, a type, memory and a description") {
    const auto devices = tn::list_physical_devices();
    REQUIRE(devices.size() == 1);
    CHECK(to_string(devices[0].name) == "/job:localhost/replica:0/task:0/device:CPU:0");
    CHECK(devices[0].memory > 0);
    CHECK(devices[0].description.starts_with("CPU, "));
}

TEST_CASE("a device has memory of its own, aligned to 64 bytes, and copies to and from it") {
    const auto cpu = tn::make_cpu_device();
    void* p = cpu->allocate(1000);
    CHECK(reinterpret_cast<std::uintptr_t>(p) % 64 == 0);
    char text[1000], back[1000];
    std::memset(text, 7, sizeof text);
    cpu->copy_from_host(p, text, sizeof text);
    cpu->copy_to_host(back, p, sizeof back);
    CHECK(std::memcmp(text, back, sizeof text) == 0);
    cpu->copy_to_host(back, p, 0);
    cpu->deallocate(p, 1000);
    CHECK_THROWS_AS((void)cpu->allocate(std::size_t{1} << 60), tn::resource_exhausted_error);
}

TEST_CASE("a device counts what is allocated and its variables, up to its limit") {
    const auto cpu = tn::make_cpu_device(1000);
    void* p = cpu->allocate(600);
    (void)cpu->resources().variable("", "v", {tn::element_type::float32, {50}});
    CHECK(cpu->memory().in_use == 800);
    CHECK_THROWS_WITH_AS((void)cpu->allocate(201),
                         "/device:CPU:0: 201 bytes are too many: of the 1000 that may be used "
                         "(session_options::memory_limit), variables hold 200 and steps 600",
                         tn::resource_exhausted_error);
    CHECK_THROWS_WITH_AS((void)cpu->resources().variable("", "w", {tn::element_type::float32, {51}}),
                         "variable \"w\", float[51]: 204 bytes are too many: of the 1000 that may be used "
                         "(session_options::memory_limit), variables hold 200 and steps 600\n"
                         "  200 bytes: v float[50], variable\n"
                         "use smaller variables, or let /device:CPU:0 have more memory",
                         tn::resource_exhausted_error);
    void* q = cpu->allocate(200);
    cpu->deallocate(q, 200);
    cpu->deallocate(p, 600);
    CHECK(cpu->memory().in_use == 200);
    CHECK(cpu->memory().peak == 1000);
}

TEST_CASE("a device knows the kernels of ops, by the type of their elements") {
    const auto cpu = tn::make_cpu_device();
    CHECK((cpu->kernel_of(tn::identity_definition, tn::element_type::string) != nullptr));
    CHECK((cpu->kernel_of(tn::placeholder_definition, tn::element_type::float32) == nullptr));
    const auto gpu = std::move(tn::simulated_gpu(1, 1 << 20)->make({}).front());
    CHECK((gpu->kernel_of(tn::identity_definition, tn::element_type::int32) != nullptr));
    CHECK((gpu->kernel_of(tn::identity_definition, tn::element_type::string) == nullptr));
    CHECK((gpu->kernel_of(tn::variable_definition, tn::element_type::float32) != nullptr));
    CHECK((gpu->kernel_of(tn::variable_definition, tn::element_type::int32) == nullptr));
    CHECK((gpu->kernel_of(tn::print_definition, tn::element_type::float32) == nullptr));
}

TEST_CASE("the registry of ops keeps the first definition of a name and lists all by name") {
    CHECK(tn::find_op("identity") == &tn::identity_definition);
    CHECK(tn::find_op("no such op") == nullptr);
    const auto all = tn::all_ops();
    CHECK(all.size() > 5);
    for (std::size_t i = 1; i < all.size(); ++i) CHECK(std::string(all[i - 1]->name) < all[i]->name);
    CHECK(&tn::register_op(tn::op_definition{.name = "identity"}) == &tn::identity_definition);
    CHECK((tn::find_op("identity")->infer != nullptr));
}
