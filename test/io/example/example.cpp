#include <bit>

#include <tenon/io/example/example.hpp>

#include "tests.hpp"

// tf.Example and tf.SequenceExample, against bytes that others wrote and a writer that takes every freedom of the format.

using namespace std::string_literals;

namespace {

std::string from_hex(const std::string& digits) {
    std::string bytes;
    for (std::size_t i = 0; i < digits.size(); i += 2)
        bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    return bytes;
}

// As plainly as can be.
std::string varint(std::uint64_t n) {
    std::string s;
    do {
        s += static_cast<char>(n % 128 + (n >= 128 ? 128 : 0));
        n /= 128;
    } while (n > 0);
    return s;
}
std::string field(int number, const std::string& bytes) {
    return varint(static_cast<std::uint64_t>(number) * 8 + 2) + varint(bytes.size()) + bytes;
}
std::string four_bytes(float f) {
    const auto bits = std::bit_cast<std::uint32_t>(f);
    std::string s;
    for (int i = 0; i < 4; ++i) s += static_cast<char>(bits / (1U << 8 * i) % 256);
    return s;
}

// Writes examples in all the ways that the format allows.
class free_writer {
public:
    explicit free_writer(std::uint64_t seed) : random_(seed) {}
    std::size_t below(std::size_t n) { return random_() % n; }

    tn::feature some_feature() {
        const std::size_t n = below(5);
        switch (below(4)) {
        case 0: {
            std::vector<std::string> v(n);
            for (std::string& s : v)
                for (std::size_t i = below(6); i > 0; --i) s += static_cast<char>(random_());
            return v;
        }
        case 1: {
            std::vector<float> v(n);
            for (float& f : v) f = static_cast<float>(random_()) * 0x1p-40f - 100;
            return v;
        }
        case 2: {
            std::vector<std::int64_t> v(n);
            for (std::int64_t& i : v) i = static_cast<std::int64_t>(random_() >> below(64)) * (below(2) ? 1 : -1);
            return v;
        }
        default: return {};
        }
    }
    std::string some_name() { return std::string(below(3), 'n') + static_cast<char>('a' + below(4)); }

    // A field that no example has, or nothing.
    std::string unknown() {
        const std::uint64_t number = 4 + below(1000);
        switch (below(12)) {
        case 0: return varint(number * 8) + varint(random_());
        case 1: return varint(number * 8 + 1) + "12345678";
        case 2: return varint(number * 8 + 2) + varint(3) + "abc";
        case 3: return varint(number * 8 + 5) + "1234";
        default: return "";
        }
    }

    std::string message(const tn::feature& f) {
        if (f.kind() == tn::feature_kind::none) return unknown();
        // lists may come in pieces, and each piece packed or one by one
        std::vector<std::string> pieces(1 + below(3));
        const auto spread = [&](const auto& values, auto alone, auto packed) {
            std::size_t at = 0;
            for (std::size_t i = 0; i < pieces.size(); ++i) {
                const std::size_t end = i + 1 == pieces.size() ? values.size() : at + below(values.size() - at + 1);
                std::string together;
                for (; at < end; ++at) {
                    pieces[i] += unknown();
                    if (!packed(values[at]).empty() && below(2)) {
                        together += packed(values[at]);
                        if (below(2)) continue;
                    } else {
                        if (!together.empty()) pieces[i] += field(1, std::exchange(together, ""));
                        pieces[i] += alone(values[at]);
                    }
                    if (!together.empty()) pieces[i] += field(1, std::exchange(together, ""));
                }
                if (!together.empty()) pieces[i] += field(1, together);
            }
        };
        if (f.kind() == tn::feature_kind::bytes)
            spread(
                f.bytes(), [](const std::string& s) { return field(1, s); }, [](const std::string&) { return ""s; });
        else if (f.kind() == tn::feature_kind::floats)
            spread(
                f.floats(), [](float v) { return varint(1 * 8 + 5) + four_bytes(v); }, four_bytes);
        else
            spread(
                f.int64s(), [](std::int64_t v) { return varint(1 * 8 + 0) + varint(static_cast<std::uint64_t>(v)); },
                [](std::int64_t v) { return varint(static_cast<std::uint64_t>(v)); });
        std::string all;
        if (below(6) == 0) all = field(1 + static_cast<int>(below(3)), ""); // another kind before: the last counts
        const int kind = static_cast<int>(f.kind());
        if (!all.empty() && all[0] == static_cast<char>(kind * 8 + 2)) all.clear();
        for (const std::string& piece : pieces) all += unknown() + field(kind, piece);
        return all + unknown();
    }
    std::string message(const std::vector<tn::feature>& steps) {
        std::string all;
        for (const tn::feature& f : steps) all += unknown() + field(1, message(f));
        return all + unknown();
    }

    // A map as field `number`, perhaps in several parts; of a name that comes again the last counts.
    template <class Map, class Make> std::string map(int number, Map& to, Make make) {
        std::string all;
        for (std::size_t parts = below(3); parts > 0; --parts) {
            std::string part;
            for (std::size_t n = below(4); n > 0; --n) {
                const std::string name = some_name();
                to[name] = make();
                std::string value = message(to[name]), before, behind = field(1, name);
                if (below(2)) std::swap(before, behind);
                const std::string entry = before + field(2, value) + behind;
                part += unknown() + field(1, unknown() + entry);
            }
            all += unknown() + field(number, part);
        }
        return all;
    }

private:
    std::mt19937_64 random_;
};

} // namespace

TEST_CASE("an example that Python wrote is read, and is written in the same bytes") {
    // struct.pack, by the book: age = [29, -1], movie = two texts, ratings = [9.0, 9.7]
    const std::string bytes =
        from_hex("0a640a160a03616765120f1a0d0a0b1dffffffffffffffffff010a310a056d6f76696512280a260a18546865"
                 "20536861777368616e6b20526564656d7074696f6e0a0a466967687420436c75620a170a07726174696e6773"
                 "120c120a0a080000104133331b41");
    const tn::example e{{{"age", std::vector<std::int64_t>{29, -1}},
                         {"movie", std::vector<std::string>{"The Shawshank Redemption", "Fight Club"}},
                         {"ratings", std::vector<float>{9.0f, 9.7f}}}};
    CHECK(tn::example::parse(bytes) == e);
    CHECK(e.serialize() == bytes);
}

TEST_CASE("a sequence example that Python wrote is read, and is written in the same bytes") {
    const std::string bytes =
        from_hex("0a150a130a066c6f63616c6512090a070a0570745f425212220a200a066d6f7669657312160a090a070a01"
                 "610a0262630a020a000a050a030a0164");
    const tn::sequence_example e{{{"locale", "pt_BR"}},
                                 {{"movies", {std::vector<std::string>{"a", "bc"}, std::vector<std::string>{}, "d"}}}};
    CHECK(tn::sequence_example::parse(bytes) == e);
    CHECK(e.serialize() == bytes);
    // Its context is where an example has its features.
    CHECK(tn::example::parse(bytes).features == e.context);
}

TEST_CASE("whatever freedom of the format a writer takes, the example is what it means") {
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        CAPTURE(seed);
        free_writer w(seed);
        tn::example e;
        const std::string bytes = w.map(1, e.features, [&] { return w.some_feature(); }) + w.unknown();
        CHECK(tn::example::parse(bytes) == e);
        CHECK(tn::example::parse(e.serialize()) == e);
        tn::sequence_example s;
        const std::string sequence =
            w.map(1, s.context, [&] { return w.some_feature(); }) + w.map(2, s.feature_lists, [&] {
                std::vector<tn::feature> steps(w.below(4));
                for (tn::feature& f : steps) f = w.some_feature();
                return steps;
            });
        CHECK(tn::sequence_example::parse(sequence) == s);
        CHECK(tn::sequence_example::parse(s.serialize()) == s);
    }
}

TEST_CASE("a value in two pieces is both, one after another; of two kinds the last counts") {
    const std::string one = field(3, field(1, varint(7))), two = field(3, field(1, varint(8)));
    const auto value = [](const std::string& parts) {
        return tn::example::parse(field(1, field(1, field(1, "x") + parts))).features.at("x");
    };
    CHECK(value(field(2, one) + field(2, two)) == tn::feature(std::vector<std::int64_t>{7, 8}));
    CHECK(value(field(2, one + field(1, field(1, "text")) + two)) == tn::feature(8));
    CHECK(value(field(2, "")).kind() == tn::feature_kind::none);
    CHECK(value("").kind() == tn::feature_kind::none);
}

TEST_CASE("features are made of what programs have") {
    CHECK(tn::feature(7) == tn::feature(std::vector<std::int64_t>{7}));
    CHECK(tn::feature(true) == tn::feature(std::vector<std::int64_t>{1}));
    CHECK(tn::feature(0.5) == tn::feature(std::vector<float>{0.5f}));
    CHECK(tn::feature("a") == tn::feature(std::vector<std::string>{"a"}));
    CHECK(tn::feature(tn::array<std::uint8_t>({{1, 255}, {3, 4}})) ==
          tn::feature(std::vector<std::int64_t>{1, 255, 3, 4}));
    CHECK(tn::feature(tn::array<tn::half>({1.5f})) == tn::feature(1.5f));
    CHECK(tn::feature(tn::array<bool>({true, false})) == tn::feature(std::vector<std::int64_t>{1, 0}));
    CHECK(tn::feature(tn::array<std::string>({"a", "b"})).bytes()[1] == "b");
    CHECK_THROWS_AS(tn::feature(tn::array<double>({1.5})), tn::invalid_argument_error);
    CHECK(contains(message_of<tn::invalid_argument_error>([] { tn::feature f(~std::uint64_t{}); }),
                   "18446744073709551615 is more than int64 holds"));
    CHECK(message_of<tn::invalid_argument_error>([] { tn::feature(7).floats(); }) ==
          "feature: float_list is asked for, and int64_list is what it holds");
}

TEST_CASE("bytes that are no example are a data_loss_error with the byte and the feature") {
    const auto said = [](const std::string& bytes) {
        return message_of<tn::data_loss_error>([&] { tn::example::parse(bytes); });
    };
    const auto of = [&](const std::string& value) { return said(field(1, field(1, field(1, "x") + field(2, value)))); };
    CHECK(said("\x0a\x05"s) ==
          "example::parse: these bytes are no example: a value of 5 bytes begins where 0 are left (byte 2)");
    CHECK(contains(said("\x80"s), "a number is cut off (byte 0)"));
    CHECK(contains(said("\x0b"s), "a field is a group, which it does not have (byte 0)"));
    CHECK(contains(said("\x0c"s), "a field is a group"));
    CHECK(contains(said("\x0e"s), "a field is of wire type 6, which there is not (byte 0)"));
    CHECK(contains(said("\x02"s), "a field has the number 0"));
    CHECK(contains(said("\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s), "a number has more than 64 bits (byte 1)"));
    CHECK(contains(said("\x20\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s), "a number has more than 64 bits"));
    CHECK(contains(said("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s),
                   "a value of 18446744073709551615 bytes begins where 0 are left"));
    CHECK(of(field(2, field(1, "12345"))) == "example::parse: feature \"x\": these bytes are no example: floats take 5 "
                                             "bytes, which 4 do not divide (byte 12)");
    CHECK(contains(of(field(3, field(1, "\x80"))), "feature \"x\": these bytes are no example: a number is cut off"));
    CHECK(contains(of("\x1a\x02"s), "feature \"x\""));
}

TEST_CASE("an example cut off anywhere is an error, or the example without what is behind") {
    const tn::example e{{{"a", std::vector<std::int64_t>{1, 300}}, {"b", std::vector<float>{1, 2}}, {"c", "text"}}};
    const std::string bytes = e.serialize();
    for (std::size_t n = 1; n < bytes.size(); ++n)
        CHECK_THROWS_AS(tn::example::parse(bytes.substr(0, n)), tn::data_loss_error);
    CHECK(tn::example::parse("").features.empty());
}
