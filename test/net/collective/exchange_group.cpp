#include <tenon/simd/ordered_sum.hpp>

#include "tests.hpp"
#include "each_thread.hpp"
#include "together.hpp"

using namespace together;

namespace {

tn::any_array drawn(std::mt19937& draw, tn::element_type element, const tn::extents& sizes) {
    tn::any_array a(element, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        const auto value = static_cast<float>(static_cast<int>(draw() % 2000) - 1000) / 64.0f;
        if (element == tn::element_type::float32) a.data<float>()[i] = value;
        else if (element == tn::element_type::float64) a.data<double>()[i] = static_cast<double>(value) / 3;
        else if (element == tn::element_type::float16) a.data<tn::half>()[i] = static_cast<tn::half>(value);
        else if (element == tn::element_type::bfloat16) a.data<tn::bfloat16>()[i] = static_cast<tn::bfloat16>(value);
        else if (element == tn::element_type::int32) a.data<std::int32_t>()[i] = static_cast<std::int32_t>(draw());
        else if (element == tn::element_type::int64) a.data<std::int64_t>()[i] = static_cast<std::int64_t>(draw());
        else a.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(draw());
    }
    return a;
}

// The plain sum, an element at a time.
template <class T, class Wide>
void plain(const std::vector<tn::any_array>& from, const std::vector<double>& f, tn::any_array& to) {
    for (std::int64_t i = 0; i < to.elements(); ++i) {
        Wide sum{};
        for (std::size_t r = 0; r < from.size(); ++r) {
            Wide x = static_cast<Wide>(from[r].data<T>()[i]);
            if constexpr (std::is_floating_point_v<Wide>)
                if (!f.empty()) {
                    volatile Wide rounded = x * static_cast<Wide>(f[r]);
                    x = rounded;
                }
            sum = r == 0 ? x : static_cast<Wide>(sum + x);
        }
        to.data<T>()[i] = static_cast<T>(sum);
    }
}
tn::any_array plain_sum(const std::vector<tn::any_array>& from, const std::vector<double>& f) {
    tn::any_array to(from[0].element(), from[0].extents());
    switch (to.element()) {
    case tn::element_type::float32: plain<float, float>(from, f, to); break;
    case tn::element_type::float64: plain<double, double>(from, f, to); break;
    case tn::element_type::float16: plain<tn::half, float>(from, f, to); break;
    case tn::element_type::bfloat16: plain<tn::bfloat16, float>(from, f, to); break;
    case tn::element_type::int32: plain<std::int32_t, std::uint32_t>(from, f, to); break;
    case tn::element_type::int64: plain<std::int64_t, std::uint64_t>(from, f, to); break;
    default: plain<std::uint8_t, std::uint32_t>(from, f, to);
    }
    return to;
}
bool same_bits(const tn::any_array& a, const tn::any_array& b) {
    return a.type() == b.type() && (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

// All members ask for the same, with values of their own; each in a step of its own, in turn `turn` of `of`.
struct asked_of_all {
    asked_of_all(members& m, tn::collective_kind kind, const std::string& name, std::vector<tn::any_array>& values,
                 const std::vector<double>& weights = {}) {
        for (std::size_t r = 0; r < m.groups.size(); ++r) {
            all.push_back(std::make_unique<asked>());
            asked& a = *all.back();
            a.what = {kind, name, values[r].type()};
            if (kind == tn::collective_kind::gather) a.what.type.extents[0] = tn::extent(0);
            if (!weights.empty()) a.weight = weights[r];
            a.value = values[r].copy();
        }
    }
    std::vector<std::unique_ptr<asked>> all;
};

std::string failure(asked& a) {
    return message_of<std::exception>([&] { (void)a.get(); });
}

} // namespace

TEST_CASE("sums are those of one process that adds in the order of ranks, to the bit, whatever their sizes") {
    std::mt19937 draw(7);
    const tn::element_type types[] = {tn::element_type::float32,  tn::element_type::float64, tn::element_type::float16,
                                      tn::element_type::bfloat16, tn::element_type::int32,   tn::element_type::int64,
                                      tn::element_type::uint8};
    for (int size = 1; size <= 5; ++size) {
        members m(size, static_cast<unsigned>(draw()));
        std::uint64_t step = 0;
        for (int turn = 0; turn < 25; ++turn) {
            const tn::element_type element = types[draw() % 7];
            const std::int64_t sizes[] = {0,    1,     7,      1000,
                                          5000, 20000, 300001, static_cast<std::int64_t>(draw() % 700000)};
            const std::int64_t n = sizes[draw() % 8];
            const bool mean = tn::is_floating(element) && draw() % 2 == 0;
            std::vector<tn::any_array> values;
            std::vector<double> weights, f;
            double all = 0;
            for (int r = 0; r < size; ++r) {
                values.push_back(drawn(draw, element, tn::extents(n)));
                weights.push_back(static_cast<double>(draw() % 5));
                all += weights.back();
            }
            for (const double w : weights) f.push_back(all == 0 ? 0 : w / all);
            const tn::any_array expected = plain_sum(values, mean ? f : std::vector<double>());
            asked_of_all asks(m, mean ? tn::collective_kind::mean : tn::collective_kind::sum, "x", values, weights);
            ++step;
            for (int k = 0; k < size; ++k) {
                const auto r = static_cast<std::size_t>((k + turn) % size);
                m.groups[r]->begin(*asks.all[r], {step, 0, 1});
            }
            for (auto& a : asks.all) CHECK(same_bits(a->get(), expected));
        }
        for (auto& g : m.groups) CHECK(g->under_way() == 0);
    }
}

TEST_CASE("what is gathered differs in rows, and what is broadcast is rank 0's") {
    std::mt19937 draw(11);
    for (int size = 1; size <= 5; ++size) {
        members m(size, static_cast<unsigned>(draw()));
        std::uint64_t step = 0;
        for (int turn = 0; turn < 25; ++turn) {
            const bool broadcast = turn % 3 == 0;
            const std::int64_t columns = draw() % 2 ? 3 : 1000;
            std::vector<tn::any_array> values;
            std::int64_t rows = 0;
            for (int r = 0; r < size; ++r) {
                const std::int64_t own = broadcast ? turn * 20 : static_cast<std::int64_t>(draw() % 300);
                values.push_back(drawn(draw, tn::element_type::float32, tn::extents(own, columns)));
                rows += own;
            }
            tn::any_array joined(tn::element_type::float32, tn::extents(rows, columns));
            std::int64_t at = 0;
            for (const tn::any_array& v : values) {
                if (v.bytes() > 0) std::memcpy(joined.data<float>() + at, v.data(), v.bytes());
                at += v.elements();
            }
            asked_of_all asks(m, broadcast ? tn::collective_kind::broadcast : tn::collective_kind::gather, "x", values);
            ++step;
            for (std::size_t r = 0; r < m.groups.size(); ++r) m.groups[r]->begin(*asks.all[r], {step, 0, 1});
            for (auto& a : asks.all) CHECK(same_bits(a->get(), broadcast ? values[0] : joined));
        }
        for (auto& g : m.groups) CHECK(g->under_way() == 0);
    }
}

TEST_CASE("collectives of a step follow their turns, whichever is ready first, and several are under way") {
    members m(3, 5);
    std::mt19937 draw(3);
    for (std::uint64_t step = 1; step <= 10; ++step) {
        std::vector<asked_of_all> asks;
        std::vector<tn::any_array> expected;
        constexpr int turns = 6;
        for (int t = 0; t < turns; ++t) {
            std::vector<tn::any_array> values;
            for (int r = 0; r < 3; ++r)
                values.push_back(drawn(draw, tn::element_type::float32, tn::extents(t * 9000 + 5)));
            expected.push_back(plain_sum(values, {}));
            asks.emplace_back(m, tn::collective_kind::sum, "turn " + std::to_string(t), values);
        }
        for (std::size_t r = 0; r < 3; ++r) {
            std::vector<int> order{0, 1, 2, 3, 4, 5};
            std::shuffle(order.begin(), order.end(), draw);
            for (const int t : order) m.groups[r]->begin(*asks[static_cast<std::size_t>(t)].all[r], {step, t, turns});
        }
        for (std::size_t t = 0; t < turns; ++t)
            for (auto& a : asks[t].all) CHECK(same_bits(a->get(), expected[t]));
    }
}

TEST_CASE("processes that mean different things are told, all of them, in the same words") {
    const auto differ = [](tn::collective_kind kind, const std::string& name, const tn::extents& sizes) {
        members m(3, 9);
        std::vector<std::unique_ptr<asked>> all;
        for (std::size_t r = 0; r < 3; ++r) {
            all.push_back(std::make_unique<asked>());
            all[r]->what = {tn::collective_kind::sum, "a", {tn::element_type::float32, tn::extents(30000)}};
            if (r == 1) all[r]->what = {kind, name, {tn::element_type::float32, sizes}};
            all[r]->value = tn::any_array::zeros(tn::element_type::float32, all[r]->what.type.extents);
            try {
                m.groups[r]->begin(*all[r], {1, 0, 1});
            } catch (const tn::error&) { // the others have disagreed before it came: that is its failure, too
                all[r]->completed(std::current_exception());
            }
        }
        std::vector<std::string> said;
        for (auto& a : all) said.push_back(failure(*a));
        for (const std::string& s : said) {
            CHECK(contains(s, "do not agree on collective number 1: rank "));
            CHECK(contains(s, "rank 1 has "));
        }
        for (auto& g : m.groups) CHECK_THROWS_AS(g->check(), tn::invalid_argument_error);
        return said[1];
    };
    CHECK(contains(differ(tn::collective_kind::sum, "a", tn::extents(30001)), "sum a (float[30001])"));
    CHECK(contains(differ(tn::collective_kind::sum, "b", tn::extents(30000)), "sum b (float[30000])"));
    CHECK(contains(differ(tn::collective_kind::sum, "a", tn::extents(10)), "sum a (float[10])"));
    CHECK(contains(differ(tn::collective_kind::broadcast, "a", tn::extents(30000)), "broadcast a (float[30000])"));
}

TEST_CASE("who waits knows for whom, and a step that is stopped ends the group for all") {
    members m(3, 4);
    std::vector<tn::any_array> values;
    for (int r = 0; r < 3; ++r) values.push_back(tn::any_array::zeros(tn::element_type::float32, tn::extents(40000)));
    asked_of_all asks(m, tn::collective_kind::sum, "x", values);
    m.groups[0]->begin(*asks.all[0], {1, 0, 2});
    m.groups[1]->begin(*asks.all[1], {1, 0, 2});
    while (m.groups[0]->awaited(*asks.all[0]).find("rank 1,") != std::string::npos ||
           m.groups[0]->awaited(*asks.all[0]).find("rank 1 has") != std::string::npos)
        std::this_thread::yield();
    CHECK(m.groups[0]->awaited(*asks.all[0]) == "sum x (float[40000]), number 1 of group g; rank 2 has not come to it");
    CHECK(m.groups[1]->stop(*asks.all[1]));
    CHECK_FALSE(m.groups[1]->stop(*asks.all[1]));
    const std::string why = failure(*asks.all[0]);
    CHECK(contains(why, "rank 1 has stopped a step in sum x"));
    CHECK_THROWS_AS(m.groups[1]->check(), tn::aborted_error);
    for (;;) { // rank 2 may not have heard yet
        try {
            m.groups[2]->check();
            std::this_thread::yield();
        } catch (const tn::aborted_error&) {
            break;
        }
    }
    CHECK_THROWS_AS(m.groups[2]->begin(*asks.all[2], {1, 0, 2}), tn::aborted_error);
}

TEST_CASE("what was not begun is taken back as if it had not come") {
    members m(2, 4);
    std::vector<tn::any_array> values;
    for (int r = 0; r < 2; ++r) values.push_back(tn::any_array::zeros(tn::element_type::float32, tn::extents(4)));
    asked_of_all asks(m, tn::collective_kind::sum, "x", values);
    m.groups[0]->begin(*asks.all[0], {1, 1, 2}); // its turn has not come
    CHECK(
        contains(m.groups[0]->awaited(*asks.all[0]), "number 2 of the 2 of its step, of which number 1 has not begun"));
    CHECK(m.groups[0]->stop(*asks.all[0]));
    m.groups[0]->check();
    m.groups[0]->begin(*asks.all[0], {2, 0, 1});
    m.groups[1]->begin(*asks.all[1], {1, 0, 1});
    (void)asks.all[0]->get();
    (void)asks.all[1]->get();
}

TEST_CASE("two steps at once are refused") {
    members m(2, 4);
    std::vector<tn::any_array> values;
    for (int r = 0; r < 2; ++r) values.push_back(tn::any_array::zeros(tn::element_type::float32, tn::extents(4)));
    asked_of_all asks(m, tn::collective_kind::sum, "x", values), others(m, tn::collective_kind::sum, "y", values);
    m.groups[0]->begin(*asks.all[0], {1, 0, 2});
    CHECK_THROWS_AS(m.groups[0]->begin(*others.all[0], {2, 0, 2}), tn::failed_precondition_error);
}

TEST_CASE("a member that is lost, or leaves, ends what waits for it") {
    for (const bool leaves : {false, true}) {
        members m(3, 4);
        std::vector<tn::any_array> values;
        for (int r = 0; r < 3; ++r)
            values.push_back(tn::any_array::zeros(tn::element_type::float32, tn::extents(40000)));
        asked_of_all asks(m, tn::collective_kind::sum, "x", values);
        m.groups[0]->begin(*asks.all[0], {1, 0, 1});
        m.groups[1]->begin(*asks.all[1], {1, 0, 1});
        if (leaves) m.groups[2]->leave(0);
        else
            for (const std::size_t r : {0u, 1u}) m.groups[r]->lost(2, "rank 2 is lost: it was killed");
        for (const std::size_t r : {0u, 1u})
            CHECK(contains(failure(*asks.all[r]), leaves ? "rank 2 has left it" : "rank 2 is lost: it was killed"));
        CHECK_THROWS_AS(m.groups[0]->check(), tn::unavailable_error);
    }
}

TEST_CASE("members that are done leave together, and what one still needs comes first") {
    for (unsigned seed = 1; seed < 20; ++seed) {
        members m(3, seed);
        std::vector<tn::any_array> values;
        std::mt19937 draw(seed);
        for (int r = 0; r < 3; ++r) values.push_back(drawn(draw, tn::element_type::float32, tn::extents(400000)));
        const tn::any_array expected = plain_sum(values, {});
        asked_of_all asks(m, tn::collective_kind::sum, "x", values);
        std::vector<char> good(3);
        on_threads(std::size_t{3}, [&](std::size_t r) {
            m.groups[r]->begin(*asks.all[r], {1, 0, 1});
            good[r] = same_bits(asks.all[r]->get(), expected);
            m.groups[r]->leave(60);
        });
        for (const char g : good) CHECK(g);
    }
}

TEST_CASE("a member that says what cannot be ends the group, and is named with what it said") {
    using here = net::collective_here;
    const std::pair<std::function<void(here&)>, const char*> lies[] = {
        {[](here& h) { h.sizes.assign(tn::max_rank + 1, 1); }, "too many sizes"},
        {[](here& h) { h.sizes = {-4}; }, "a size below 0"},
        {[](here& h) { h.element = tn::element_type::string; }, "no numbers"},
        {[](here& h) { h.weight = -1; }, "a weight below 0"},
        {[](here& h) { h.weight = std::nan(""); }, "a weight below 0"},
        {[](here& h) { h.rows = -1; }, "a weight below 0"},
        {[](here& h) { h.kind = tn::collective_kind::gather, h.sizes = {}; }, "a scalar to gather"},
        {[](here& h) { h.sizes = {5}; }, "a value of other sizes than it says"},
        {[](here&) {}, "twice that it has come"},
    };
    for (const auto& one : lies) {
        const auto& lie = one.first;
        const std::string words = one.second;
        CAPTURE(words);
        members m(3);
        const tn::any_array value = tn::any_array::zeros(tn::element_type::float32, tn::extents(4));
        std::vector<tn::any_array> values;
        for (int r = 0; r < 3; ++r) values.push_back(value.copy());
        asked_of_all asks(m, tn::collective_kind::sum, "x", values);
        m.groups[0]->begin(*asks.all[0], {1, 0, 1});
        const auto say = [&](const std::function<void(here&)>& change) {
            here h{7, 1, tn::collective_kind::sum, "x", value.element(), {4}, 1, 0, value.copy()};
            change(h);
            m.groups[0]->came(1, std::move(h));
        };
        if (words == "twice that it has come") say(lie);
        say(lie);
        m.groups[0]->lost(2, "the test is over"); // where it has not ended before
        const std::string said = failure(*asks.all[0]);
        CHECK_MESSAGE(contains(said, "rank 1 has sent, of collective number 1, " + words), said);
    }
}
