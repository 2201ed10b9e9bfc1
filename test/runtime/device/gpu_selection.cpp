#include "tests.hpp"

// SEMANTICS 10-12 on simulated GPUs: which of them a session has, in which order, and as how many devices.

namespace {

constexpr std::size_t memory = 1 << 20;

struct chosen {
    std::shared_ptr<const tn::gpu_backend> cards = tn::simulated_gpu(4, memory);
    tn::session_options options(tn::gpu_selection of) const { return {.gpus = cards, .gpu_devices = std::move(of)}; }
    std::vector<std::int64_t> devices(tn::gpu_selection of) const { // bytes of each GPU
        std::vector<std::int64_t> bytes;
        for (const tn::device_attributes& d : tn::session(options(std::move(of))).list_logical_devices())
            if (d.name.type == "GPU") {
                CHECK(d.name.index == static_cast<int>(bytes.size()));
                bytes.push_back(d.memory);
            }
        return bytes;
    }
    std::string refused(tn::gpu_selection of) const {
        return message_of<tn::invalid_argument_error>([&] { const tn::session s(options(std::move(of))); });
    }
};

using sizes = std::vector<std::int64_t>;

} // namespace

TEST_CASE("SEMANTICS 10: simulated GPUs are chosen as real ones: some, in any order, none, or all") {
    const chosen c;
    CHECK(c.devices({}).size() == 4);
    CHECK(c.devices({.visible = {{3, 2}}}).size() == 2);
    CHECK(c.devices({.visible = std::vector<int>{}}).empty());
    CHECK(contains(c.refused({.visible = {{4}}}), "card 4; there are:\n  0: simulated GPU"));
    CHECK(contains(c.refused({.visible = {{-1}}}), "card -1"));
    CHECK(contains(c.refused({.visible = {{1, 1}}}), "card 1 twice"));
}

TEST_CASE("SEMANTICS 11: a simulated GPU is several devices, each with its bytes, within the policy's") {
    const chosen c;
    CHECK(c.devices({.visible = {{1, 0}}, .logical = {{1000, 2000}}}) == sizes{1000, 2000, memory});
    CHECK(contains(c.refused({.logical = {{memory / 2, memory / 2 + 1}}}), std::to_string(memory / 2 + 1)));
    CHECK(contains(c.refused({.visible = {{0}}, .logical = {{1}, {1}}}), "is for 2 cards, of which 1 are visible"));
    auto half = c.options({.logical = {{memory / 4, memory / 2}}});
    half.gpu_memory.fraction = 0.5;
    CHECK_THROWS_AS(tn::session{half}, tn::invalid_argument_error);

    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<50'000>>("x");
    const auto y = tn::on("/gpu:1", [&] { return x + 1.0f; });
    tn::session s(g, c.options({.visible = {{0}}, .logical = {{memory / 2, memory / 8}}}));
    CHECK_ERROR(tn::resource_exhausted_error, "/device:GPU:1, of which " + std::to_string(memory / 8) + " may be used",
                s.run(tn::feed(x, tn::array<float, tn::shape<50'000>>()), y));
}

TEST_CASE("SEMANTICS 10: other GPUs than those in use are refused while they are; a task's sessions have the task's") {
    const chosen c;
    {
        const tn::task first(tn::task_options{.gpus = c.cards, .gpu_devices = {.visible = {{0, 1}}}});
        CHECK(first.list_logical_devices().size() == 3);
        CHECK(c.devices({.visible = {{0, 1}}}).size() == 2);
        CHECK(c.devices({.visible = std::vector<int>{}}).empty());
        CHECK_ERROR(tn::failed_precondition_error, "in use", c.devices({.visible = {{1, 0}}}));
        CHECK(contains(message_of<tn::invalid_argument_error>([&] {
                           const tn::graph g;
                           const tn::session s(first, g, {.gpu_devices = {.visible = {{0}}}});
                       }),
                       "session_options::gpu_devices is set for a session of a task"));
    }
    CHECK(c.devices({.visible = {{1, 0}}}).size() == 2);
}
