#include <tenon/core/with_element.hpp>

#include "tests.hpp"

using namespace tenon;
using detail::add_instruction;
using detail::scalar_constant;

// Loops whose runs are elementwise go through many runs a block of elements at a time. What they give is what their runs give one after
// another, to the bit.

namespace {

any_tensor as_type(const any_tensor& t, element_type e) {
    return t.element() == e ? t : add_instruction(opcode::cast, {t}, e);
}

/// A body of random instructions: for each carry a tensor of its type and sizes.
class random_body {
public:
    explicit random_body(unsigned seed) : seed_(seed) {}

    std::vector<any_tensor> operator()(const std::vector<any_tensor>& carries, std::vector<any_tensor> given) const {
        std::mt19937 random(seed_); // the same each time
        const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
        std::vector<any_tensor> values = carries, results;
        values.insert(values.end(), given.begin(), given.end());
        const auto one_of = [&](bool is_scalar) {
            for (;;)
                if (const any_tensor& t = values[below(values.size())]; !is_scalar || t.rank() == 0) return t;
        };
        for (std::size_t step = below(6); step-- > 0;) values.push_back(combined(random, one_of(false), one_of(false)));
        for (const any_tensor& c : carries) {
            any_tensor next = combined(random, as_type(one_of(c.rank() == 0), c.element()), c);
            // It keeps the sizes of the carry, whatever else is in it.
            if (next.element() != c.element()) next = as_type(next, c.element());
            results.push_back(c.element() == element_type::boolean ? add_instruction(opcode::logical_xor, {next, c})
                              : below(3) == 0                      ? add_instruction(opcode::minimum, {next, c})
                                                                   : next);
        }
        return results;
    }

private:
    static any_tensor combined(std::mt19937& random, const any_tensor& a, any_tensor b) {
        b = as_type(b, a.element());
        const auto pick = random() % 6;
        if (a.element() == element_type::boolean)
            return add_instruction(pick < 3 ? opcode::logical_or : opcode::logical_xor, {a, b});
        if (pick == 0 && is_floating(a.element()))
            return add_instruction(opcode::tanh, {add_instruction(opcode::add, {a, b})});
        if (pick == 1 && is_floating(a.element()))
            return add_instruction(opcode::sin, {add_instruction(opcode::multiply, {a, b})});
        if (pick == 2)
            return add_instruction(
                opcode::select, {add_instruction(opcode::less, {a, b}), b, add_instruction(opcode::subtract, {a, b})});
        return add_instruction(pick == 3 ? opcode::subtract : pick == 4 ? opcode::maximum : opcode::add, {a, b});
    }

    unsigned seed_;
};

any_array random_values(std::mt19937& random, element_type e, const extents& sizes) {
    any_array a(e, sizes);
    detail::with_element(e, [&]<class T>(const T&) {
        if constexpr (!std::is_same_v<T, std::string>)
            for (std::int64_t k = 0; k < a.elements(); ++k) {
                const int v = static_cast<int>(random() % 9);
                static_cast<T*>(a.data())[k] = std::is_same_v<T, bool> ? static_cast<T>(v % 2)
                                               : is_floating(e) ? static_cast<T>(static_cast<float>(v) * 0.25f - 1)
                                                                : static_cast<T>(v);
            }
    });
    return a;
}

constexpr element_type types[] = {element_type::float32, element_type::float32,  element_type::float64,
                                  element_type::int32,   element_type::int64,    element_type::boolean,
                                  element_type::float16, element_type::bfloat16, element_type::uint8};

struct random_loop {
    std::vector<any_tensor> carries, given;
    std::vector<fed_value> feeds;

    random_loop(std::mt19937& random, const extents& space) {
        const auto add = [&](std::vector<any_tensor>& to, const extents& sizes) {
            const element_type e = types[random() % std::size(types)];
            to.push_back(untyped::placeholder(e, sizes));
            feeds.push_back({to.back(), random_values(random, e, sizes)});
        };
        for (std::size_t c = 1 + random() % 4; c-- > 0;) add(carries, random() % 3 == 0 ? extents() : space);
        const extents some[] = {extents(), space, space.rank() > 1 ? extents(space[1].size) : space,
                                space.rank() > 1 ? extents(space[0].size, 1) : extents(1)};
        for (std::size_t g = random() % 3; g-- > 0;) add(given, some[random() % 4]);
    }
};

void require_same(const std::vector<any_array>& got, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
        const any_array &a = got[k], &b = got[count + k];
        INFO("result ", k, " of ", to_string(a.type()));
        REQUIRE(a.element() == b.element());
        REQUIRE(a.bytes() == b.bytes());
        REQUIRE(std::memcmp(a.data(), b.data(), a.bytes()) == 0);
    }
}

const extents spaces[] = {extents(1),   extents(5),      extents(16),  extents(3, 7),
                          extents(300), extents(4, 130), extents(0, 3)};

} // namespace

TEST_CASE("while_loop of elementwise runs: what its runs give one after another, to the bit") {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        INFO("seed ", seed);
        std::mt19937 random(seed);
        const graph_scope scope{graph()};
        random_loop l(random, spaces[seed % std::size(spaces)]);
        const random_body step(seed);
        const int runs = seed % 4 == 0 ? 0 : static_cast<int>(seed % 5 == 0 ? 260 + random() % 20 : random() % 12);
        std::vector<any_tensor> first = l.carries;
        first.push_back(scalar_constant(0, element_type::int32));
        std::vector<any_tensor> last = untyped::while_loop(
            [&](const std::vector<any_tensor>& x) {
                return add_instruction(opcode::less, {x.back(), scalar_constant(runs, element_type::int32)});
            },
            [&](std::vector<any_tensor> x) {
                const any_tensor n = add_instruction(opcode::add, {x.back(), scalar_constant(1, element_type::int32)});
                x.pop_back();
                std::vector<any_tensor> next = step(x, l.given);
                next.push_back(n);
                return next;
            },
            first);
        last.pop_back();
        std::vector<any_tensor> written = l.carries;
        for (int r = 0; r < runs; ++r) written = step(written, l.given);
        const std::size_t count = last.size();
        last.insert(last.end(), written.begin(), written.end());
        session s;
        require_same(s.run_untyped(std::move(l.feeds), last), count);
    }
}

TEST_CASE("scan of elementwise runs: what its runs give one after another, to the bit, stacks and all, both ways") {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        INFO("seed ", seed);
        std::mt19937 random(seed);
        const graph_scope scope{graph()};
        const extents space = spaces[seed % std::size(spaces)];
        random_loop l(random, space);
        const random_body step(seed);
        const std::int64_t steps = seed % 6 == 0 ? 0 : static_cast<std::int64_t>(seed % 7 == 0 ? 300 : random() % 9);
        const bool reversed = seed % 2 == 0;
        std::vector<any_tensor> sliced;
        for (const bool scalar : {false, true}) {
            extents sizes(steps);
            for (const extent& e : scalar ? extents() : space) sizes.push_back(e);
            const element_type e = types[random() % std::size(types)];
            sliced.push_back(untyped::placeholder(e, sizes));
            l.feeds.push_back({sliced.back(), random_values(random, e, sizes)});
        }
        const auto run = [&](const std::vector<any_tensor>& c, const std::vector<any_tensor>& x) {
            std::vector<any_tensor> given = l.given;
            given.insert(given.end(), x.begin(), x.end());
            return step(c, given);
        };
        std::vector<any_tensor> got = untyped::scan(
            [&](const std::vector<any_tensor>& c, const std::vector<any_tensor>& x) {
                const std::vector<any_tensor> next = run(c, x);
                return detail::carried_and_given{next, {next[0], c[0]}};
            },
            l.carries, sliced, {.reversed = reversed});
        std::vector<any_tensor> written = l.carries, before(static_cast<std::size_t>(steps)), after(before);
        for (std::int64_t k = 0; k < steps; ++k) {
            const std::int64_t at = reversed ? steps - 1 - k : k;
            std::vector<any_tensor> slices;
            for (const any_tensor& x : sliced)
                slices.push_back(untyped::gather(x, scalar_constant(at, element_type::int64), 0));
            before[static_cast<std::size_t>(at)] = written[0];
            written = run(written, slices);
            after[static_cast<std::size_t>(at)] = written[0];
        }
        const std::size_t count = l.carries.size();
        const any_tensor given = got[count], carried = got[count + 1];
        got.resize(count);
        got.insert(got.end(), written.begin(), written.end());
        for (const auto& [stack, parts] : {std::pair(given, after), {carried, before}})
            for (std::int64_t k = 0; k < steps; ++k)
                got.insert(got.begin() + static_cast<std::ptrdiff_t>(got.size() / 2),
                           untyped::gather(stack, scalar_constant(k, element_type::int64), 0)),
                    got.push_back(parts[static_cast<std::size_t>(k)]);
        session s;
        require_same(s.run_untyped(std::move(l.feeds), got), got.size() / 2);
    }
}
