#include "tests.hpp"
#include "emulator/control.hpp"

// SEMANTICS 10-12: which cards a session has, in which order, as how many devices, and with how much of their memory.

namespace emulator = tenon::emulator;

namespace {

constexpr std::size_t gigabyte = std::size_t{1} << 30;

// Four cards that can be told apart.
void four_cards() {
    emulator::reset();
    std::vector<emulator::card> all(4);
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].name = "Card " + std::to_string(i);
        all[i].memory = (i + 1) * gigabyte;
    }
    all[1].major = 7;
    all[1].minor = 0;
    emulator::cards(all);
}

std::vector<std::string> gpus_of(const std::vector<tn::device_attributes>& all) {
    std::vector<std::string> names;
    for (const tn::device_attributes& d : all)
        if (d.name.type == "GPU") names.push_back(d.description.substr(0, d.description.find(',')));
    return names;
}

tn::session_options visible(std::vector<int> cards) {
    tn::session_options o;
    o.gpu_devices.visible = std::move(cards);
    o.gpu_devices.least_capability = 0;
    return o;
}

std::string refused(const tn::session_options& o) {
    return message_of<tn::invalid_argument_error>([&] { const tn::session s(o); });
}

using names = std::vector<std::string>;

} // namespace

TEST_CASE("SEMANTICS 10: cards are chosen and ordered: 3,2 makes card 3 /gpu:0; none leaves the CPU; not set is all") {
    four_cards();
    tn::session_options all;
    all.gpu_devices.least_capability = 0;
    CHECK(gpus_of(tn::session(all).list_logical_devices()) == names{"Card 0", "Card 1", "Card 2", "Card 3"});
    CHECK(gpus_of(tn::session(visible({3, 2})).list_logical_devices()) == names{"Card 3", "Card 2"});
    CHECK(gpus_of(tn::session(visible({})).list_logical_devices()).empty());
    const auto devices = tn::session(visible({3, 2})).list_logical_devices();
    CHECK(tn::to_string(devices[1].name) == "/job:localhost/replica:0/task:0/device:GPU:0");
    CHECK(devices[1].memory == static_cast<std::int64_t>(4 * gigabyte));
    CHECK(devices[2].memory == static_cast<std::int64_t>(3 * gigabyte));
}

TEST_CASE("SEMANTICS 10: nothing is asked of cards that are not chosen, by whichever thread") {
    four_cards();
    std::thread([] {
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<16>>("x");
        const auto rows = tn::placeholder<std::int32_t, tn::shape<3>>("rows"); // of which the host is told
        const auto y = tn::on("/gpu:0", [&] { return tn::gather(tn::add_n(x, x), rows); });
        auto s = std::make_unique<tn::session>(g, visible({3}));
        tn::trace seen;
        const tn::array<float, tn::shape<16>> values;
        const tn::array<std::int32_t, tn::shape<3>> some;
        const auto step = [&] { (void)s->run(tn::feed(x, values), tn::feed(rows, some), y); };
        for (int i = 0; i < 6; ++i) std::thread(step).join();
        s->set_trace(&seen);
        std::thread(step).join();
        std::thread([&] { s.reset(); }).join();
    }).join();
    CHECK(emulator::has_context(3));
    for (const int other : {0, 1, 2}) CHECK(!emulator::has_context(other));
}

TEST_CASE("SEMANTICS 10: a card that is not there, or is named twice, is refused with those that there are") {
    four_cards();
    const std::string beyond = refused(visible({1, 4}));
    CHECK(contains(beyond, "card 4"));
    CHECK(contains(beyond, "3: Card 3"));
    CHECK(contains(refused(visible({-1})), "card -1"));
    CHECK(contains(refused(visible({2, 0, 2})), "card 2 twice"));
}

TEST_CASE("SEMANTICS 10: cards below the least capability are left out, and the log says so") {
    four_cards();
    names lines;
    tn::session_options o{.placement_log = [&](const std::string& line) { lines.push_back(line); }};
    CHECK(gpus_of(tn::session(o).list_logical_devices()) == names{"Card 0", "Card 2", "Card 3"});
    REQUIRE(lines.size() == 1);
    CHECK(contains(lines[0], "GPU 1 is left out: its compute capability is 7.0, and 7.5 is asked for"));
    CHECK(contains(lines[0], "Card 1"));
    o.gpu_devices.least_capability = 91;
    CHECK(gpus_of(tn::session(o).list_logical_devices()).empty());
    CHECK(lines.size() == 5);
}

TEST_CASE("SEMANTICS 10: other cards while some are in use are refused; afterwards they can be had") {
    four_cards();
    {
        tn::session first(visible({0, 2}));
        CHECK_NOTHROW(tn::session(visible({0, 2})));
        CHECK_NOTHROW(tn::session(visible({})));
        const std::string text = message_of<tn::failed_precondition_error>([] {
            const tn::session other(visible({2, 0}));
        });
        CHECK(contains(text, "in use"));
        CHECK(contains(text, "has cards 0, 2, and this one asks for cards 2, 0"));
        auto parted = visible({0, 2});
        parted.gpu_devices.logical = {{gigabyte / 2, gigabyte / 4}};
        CHECK_THROWS_AS(tn::session{parted}, tn::failed_precondition_error);
    }
    CHECK_NOTHROW(tn::session(visible({2, 0})));
}

TEST_CASE("SEMANTICS 11: a card is several devices, each with its bytes, and all of them within the card's") {
    four_cards();
    auto o = visible({3, 1});
    o.gpu_devices.logical = {{gigabyte, 2 * gigabyte}};
    {
        tn::session s(o);
        const auto devices = s.list_logical_devices();
        CHECK(gpus_of(devices) == names{"Card 3", "Card 3", "Card 1"});
        CHECK(devices[1].memory == static_cast<std::int64_t>(gigabyte));
        CHECK(devices[2].memory == static_cast<std::int64_t>(2 * gigabyte));
        CHECK(s.memory_info("/gpu:0").limit == gigabyte);
        CHECK(s.memory_info("/gpu:1").limit == 2 * gigabyte);
    }
    o.gpu_devices.logical = {{gigabyte, 3 * gigabyte + 1}};
    const std::string text = refused(o);
    CHECK(contains(text, std::to_string(3 * gigabyte + 1)));
    CHECK(contains(text, std::to_string(4 * gigabyte)));
    o.gpu_devices.logical = {{gigabyte, 0}};
    CHECK(contains(refused(o), "a device of 0 bytes"));
    o.gpu_devices.logical = {{1}, {1}, {1}};
    CHECK(contains(refused(o), "is for 3 cards, of which 2 are visible"));
}

TEST_CASE("SEMANTICS 11: what is asked for and not free is refused with its bytes; what grows is not") {
    emulator::reset();
    emulator::cards({{.memory = 10 * gigabyte}});
    void* others = nullptr; // another process
    REQUIRE(cudaMalloc(&others, 6 * gigabyte) == cudaSuccess);
    for (const bool growth : {false, true}) {
        CAPTURE(growth);
        tn::session_options o{.gpu_memory = {.fraction = 0.5, .growth = growth}};
        CHECK_ERROR(tn::resource_exhausted_error, std::to_string(5 * gigabyte) + " bytes are asked for",
                    tn::session(o));
        o.gpu_memory.fraction = 0.3;
        CHECK_NOTHROW(tn::session{o});
    }
    CHECK_NOTHROW(tn::session{});
    CHECK(cudaFree(others) == cudaSuccess);
}

TEST_CASE("SEMANTICS 8, 12: the map of devices and the lists have a card's name, memory, bus, capability, and whom it "
          "reaches") {
    emulator::reset();
    emulator::cards({{.name = "Card 0", .major = 8, .minor = 9, .memory = 2 * gigabyte}, {.name = "Card 1"}});
    names lines;
    tn::session_options o{.log_device_placement = true};
    o.placement_log = [&](const std::string& line) { lines.push_back(line); };
    { const tn::session s(o); }
    REQUIRE(lines.size() >= 2);
    CHECK(contains(lines[1], "/gpu:0 -> device: 0, name: Card 0, pci bus id: "));
    CHECK(contains(lines[1], "compute capability: 8.9"));
    CHECK(contains(lines[1], "reaches the memory of: 1"));
    CHECK(contains(lines[1], "memory: " + std::to_string(2 * gigabyte) + " bytes"));
    CHECK(gpus_of(tn::list_physical_devices()) == names{"Card 0", "Card 1"});
}

TEST_CASE(
    "without a driver, or with one too old, sessions have the CPU, and who asks for a GPU is told why there is none") {
    for (const auto& [error, why] : {std::pair(cudaErrorInsufficientDriver, "install the NVIDIA driver"),
                                     std::pair(cudaErrorNoDevice, "CUDA_VISIBLE_DEVICES"),
                                     std::pair(cudaErrorSystemNotReady, "nvidia-fabricmanager")}) {
        emulator::reset();
        emulator::driver(error);
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<>>("x");
        const auto plain = x + 1.0f;
        const auto pinned = tn::on("/gpu:0", [&] { return x + 2.0f; });
        tn::session s(g);
        CHECK(s.run(tn::feed(x, 1.0f), plain)() == 2);
        CHECK_ERROR(tn::invalid_argument_error, why, s.run(tn::feed(x, 1.0f), pinned));
        CHECK(s.run(tn::feed(x, 3.0f), plain)() == 4);
        CHECK(tn::list_physical_devices().size() == 1);
        emulator::driver(cudaSuccess);
    }
}
