#include <tenon/runtime/plan/layout.hpp>
#include <tenon/runtime/plan/order.hpp>

#include "tests.hpp"
#include "runtime/plan/handmade.hpp"

// Where values lie.

namespace rt = tenon::runtime;
using handmade::maker;
using tn::opcode;

namespace {

using kind = rt::location::kind;

struct laid_out {
    std::vector<int> order;
    rt::memory_layout memory = {};
};

laid_out lay_out(maker& m) {
    rt::bind_variables(m.program, m.options);
    laid_out l{.order = rt::ordering(m.program, m.options).order()};
    l.memory = rt::lay_out(m.program, m.options, l.order);
    return l;
}

} // namespace

TEST_CASE("layout: values that live at one time have no byte in common, and all lie within the arena") {
    std::mt19937 random(3);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
    for (int round = 0; round < 8; ++round) {
        maker m;
        std::vector<int> values;
        for (const std::int64_t size : {3, 40, 40, 500}) values.push_back(m.feed({size}));
        for (int i = 0; i < 120; ++i) {
            const int a = values[below(values.size())], b = values[below(values.size())];
            const bool alike = m.program.value(a).type == m.program.value(b).type;
            values.push_back(alike ? m.fused(opcode::add, {a, b}) : m.fused(opcode::exp, {a}));
        }
        for (int i = 0; i < 3; ++i) m.fetch(values[values.size() - 1 - static_cast<std::size_t>(i)]);
        const laid_out l = lay_out(m);

        struct life {
            std::size_t begin, end;
            int first, last, value;
        };
        std::vector<life> lives;
        std::vector<int> last_read(m.program.values.size(), -1);
        for (std::size_t at = 0; at < l.order.size(); ++at)
            for (const int v : m.program.item(l.order[at]).inputs)
                last_read[static_cast<std::size_t>(m.program.root(v))] = static_cast<int>(at);
        for (std::size_t at = 0; at < l.order.size(); ++at)
            for (const int v : m.program.item(l.order[at]).outputs) {
                const rt::location& place = l.memory.locations[static_cast<std::size_t>(v)];
                if (place.where != kind::arena) continue;
                const auto bytes = static_cast<std::size_t>(tn::bytes_of(m.program.value(v).type));
                const int first = static_cast<int>(at);
                lives.push_back({place.offset, place.offset + bytes, first,
                                 std::max(first, last_read[static_cast<std::size_t>(v)]), v});
                CHECK(place.offset % 64 == 0);
                CHECK(place.offset + bytes <= l.memory.arena_bytes());
            }
        int in_place = 0;
        for (const life& a : lives)
            for (const life& b : lives) {
                if (a.first >= b.first || a.last < b.first || a.end <= b.begin || b.end <= a.begin) continue;
                // Only what ends where the other begins, as an operand of it.
                const auto& inputs = m.item_of(b.value).inputs;
                REQUIRE(a.last == b.first);
                REQUIRE(a.begin == b.begin);
                REQUIRE(std::find(inputs.begin(), inputs.end(), a.value) != inputs.end());
                ++in_place;
            }
        CHECK(in_place > 0);
        CHECK(l.memory.arena_bytes() >= l.memory.devices[0].lower_bound);
    }
}

TEST_CASE("layout: an elementwise result is written where an operand ends, and nowhere else") {
    maker m;
    const int x = m.feed({64, 64});
    const int a = m.fused(opcode::exp, {x}), ends = m.fused(opcode::sin, {a}),
              read_again = m.fused(opcode::cos, {ends}), y = m.fused(opcode::add, {ends, read_again});
    const int product = m.item(tn::matmul_definition, tn::encode(tn::matmul_op::attributes{}), {y, y});
    const int last = m.fused(opcode::exp, {product});
    m.fetch(last);
    const laid_out l = lay_out(m);
    const auto offset = [&](int v) {
        REQUIRE(l.memory.locations[static_cast<std::size_t>(v)].where == kind::arena);
        return l.memory.locations[static_cast<std::size_t>(v)].offset;
    };
    CHECK(offset(ends) == offset(a));
    CHECK(offset(read_again) != offset(ends));
    CHECK(offset(product) != offset(y)); // a product reads its operands again after it began to write
}

TEST_CASE("layout: feeds, variables, constants and fetches lie where they are, and views where what they are of lies") {
    maker m;
    const int x = m.feed({2, 6}), v = m.variable({2, 6}), c = m.constant(2, {2, 6});
    m.program.value(c).constant =
        m.item_of(c).attributes.get<std::shared_ptr<const tn::any_array>>("value"); // as the rewriter does
    m.program.value(c).producer = -1;
    m.item_of(c).removed = true;
    const int y = m.fused(opcode::fma, {x, v, c});
    const int view = m.program.add(rt::program_value{
        .origin = m.program.value(y).origin, .type = {tn::element_type::float32, {12}}, .view_of = y});
    const int z = m.fused(opcode::exp, {y});
    m.item_of(z).inputs[0] = view;
    m.fetch(z);
    const laid_out l = lay_out(m);
    const auto at = [&](int value) { return l.memory.locations[static_cast<std::size_t>(value)]; };
    CHECK(at(x).where == kind::feed);
    CHECK(at(v).where == kind::variable); // where it lies, each step finds out
    CHECK(at(c).where == kind::resident);
    CHECK(at(c).address == m.program.value(c).constant->data());
    CHECK(at(z).where == kind::fetch);
    CHECK(at(y).where == kind::arena);
    CHECK(at(view).where == kind::arena);
    CHECK(at(view).offset == at(y).offset);
    CHECK(l.memory.devices[0].fetched_bytes == 12 * sizeof(float));
}

TEST_CASE("layout: each device has an arena of its own") {
    maker m(2);
    const int x = m.feed({1000}), a = m.fused(opcode::exp, {x}), b = m.fused(opcode::sin, {a}, {.device = 1});
    const int c = m.fused(opcode::cos, {b}, {.device = 1}), d = m.fused(opcode::add, {a, c});
    m.fetch(d);
    const laid_out l = lay_out(m);
    CHECK(l.memory.devices[0].arena_bytes == rt::arena_bytes_of(1000 * sizeof(float)));
    CHECK(l.memory.devices[1].arena_bytes == rt::arena_bytes_of(1000 * sizeof(float)));
}
