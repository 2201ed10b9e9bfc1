#include <net/wire/frame.hpp>
#include <tenon/io/files/crc32c.hpp>

#include "tests.hpp"
#include "../messages.hpp"

using namespace net_test;

namespace {

message with_everything() {
    message m = note("the body", 77);
    m.type = message_type::call;
    m.verb = 9;
    m.acknowledged = 76;
    m.request = ~std::uint64_t{0};
    m.arrays.push_back(numbers(1000));
    m.arrays.emplace_back(); // nothing
    m.arrays.push_back(tn::any_array::zeros(tn::element_type::float64, {3, 0, 5}));
    tn::any_array words(tn::element_type::string, {2, 2});
    words.data<std::string>()[0] = "one";
    words.data<std::string>()[2] = std::string(3000, 'x');
    words.data<std::string>()[3] = std::string("with\0zero", 9);
    m.arrays.push_back(std::move(words));
    tn::any_array scalar(tn::element_type::bfloat16, {});
    std::memset(scalar.data(), 0x7F, 2); // not a number
    m.arrays.push_back(std::move(scalar));
    tn::any_array flags = tn::any_array::zeros(tn::element_type::boolean, {5});
    flags.data<bool>()[3] = true;
    m.arrays.push_back(std::move(flags));
    m.arrays.push_back(tn::any_array(tn::element_type::string, {0}));
    return m;
}

// A single frame whose header and metadata are changed, with a checksum that is right again.
template <class Change> bytes changed(bytes frame, Change change) {
    frame_header h;
    std::memcpy(&h, frame.data(), sizeof h);
    change(h, frame);
    h.checksum = 0;
    std::memcpy(frame.data(), &h, sizeof h);
    const std::span<const std::byte> all = frame;
    const std::size_t metadata = std::min<std::size_t>(h.metadata_bytes, frame.size() - sizeof h);
    h.checksum =
        tenon::crc32c(all.subspan(sizeof h, metadata), tenon::crc32c(all.first(offsetof(frame_header, checksum))));
    std::memcpy(frame.data(), &h, sizeof h);
    return frame;
}

template <class T> void put(bytes& into, std::size_t at, T value) {
    std::memcpy(into.data() + at, &value, sizeof value);
}

constexpr std::size_t descriptors_at = sizeof(frame_header) + 16;

// Refused with words that contain these, and nothing was received.
void check_damaged(const bytes& all, const char* words) {
    CAPTURE(words);
    collector c;
    message_decoder d;
    CHECK_ERROR(tn::data_loss_error, words, d.push(all, c));
    CHECK(c.messages.empty());
}

} // namespace

TEST_CASE("frame: the header lies as the protocol says") {
    const bytes all = frames_of(note("ab", 5), 3);
    REQUIRE(all.size() == 56 + 16 + 2);
    CHECK(to_text(bytes(all.begin(), all.begin() + 4)) == "TNON");
    CHECK(all[4] == std::byte{1}); // version
    CHECK(all[6] == static_cast<std::byte>(message_type::note));
    CHECK(all[7] == std::byte{1});   // first
    CHECK(all[8] == std::byte{3});   // stream
    CHECK(all[12] == std::byte{18}); // metadata
    CHECK(all[24] == std::byte{5});  // sequence
}

TEST_CASE("frame: what goes in comes out, in pieces of any size and frames of any size") {
    const message m = with_everything();
    for (const std::size_t payload : {std::size_t{1}, std::size_t{7}, std::size_t{1000}, most_frame_payload}) {
        const bytes all = frames_of(m.share(), 1, payload);
        for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{64}, all.size()}) {
            const auto got = decoded(all, piece);
            REQUIRE(got.size() == 1);
            CHECK(equal(got[0], m));
        }
    }
}

TEST_CASE("frame: an encoder copies no numbers, and tells its size") {
    tn::any_array a = numbers(5000);
    const void* const data = a.data();
    message_encoder e(note_with("b", a.share()), 0);
    std::vector<std::span<const std::byte>> pieces;
    e.next_frame(pieces);
    CHECK(e.ended());
    CHECK(pieces.back().data() == data);
    CHECK(pieces.back().size() == a.bytes());
    std::size_t sum = 0;
    for (const auto p : pieces) sum += p.size();
    CHECK(sum == e.size() + sizeof(frame_header));
}

TEST_CASE("frame: large payloads and large bodies go in frames of bounded size") {
    message m = note_with(std::string((std::size_t{2} << 20) + 5, 'b'), numbers(3'000'000));
    message_encoder e(m.share(), 4, std::size_t{1} << 30);
    collector c;
    message_decoder d;
    int frames = 0;
    while (!e.ended()) {
        std::vector<std::span<const std::byte>> pieces;
        e.next_frame(pieces);
        ++frames;
        std::size_t sum = 0;
        for (const auto p : pieces) {
            sum += p.size();
            d.push(p, c);
        }
        CHECK(sum <= sizeof(frame_header) + most_frame_metadata + most_frame_payload);
    }
    CHECK(frames == 5); // 1 MiB and 1 MiB of body; the rest with 4 MiB; 4 MiB; the rest
    REQUIRE(c.messages.size() == 1);
    CHECK(equal(c.messages[0], m));
    CHECK(d.is_between_messages());
}

TEST_CASE("frame: messages between the frames of others") {
    const message large = note_with("large", numbers(1000)), other = note_with("other", numbers(900, 5)),
                  small = note("small");
    message_encoder a(large.share(), 1, 1000), b(other.share(), 2, 1000);
    collector c;
    message_decoder d;
    while (!a.ended()) {
        for (message_encoder* e : {&a, &b}) {
            std::vector<std::span<const std::byte>> pieces;
            e->next_frame(pieces);
            for (const auto p : pieces) d.push(p, c);
            if (!a.ended()) d.push(frames_of(small.share(), 0), c);
        }
    }
    REQUIRE(c.messages.size() == 8);
    CHECK(d.open_messages() == 0);
    CHECK(equal(c.messages[6], large));
    CHECK(equal(c.messages[7], other));
    for (std::size_t i = 0; i < 6; ++i) CHECK(equal(c.messages[i], small));
}

TEST_CASE("frame: payloads beside the stream, of some frames or of all") {
    tn::any_array strings(tn::element_type::string, {2});
    strings.data<std::string>()[0] = "one";
    strings.data<std::string>()[1].assign(1000, 'x');
    const message m = note_with("body", numbers(700), std::move(strings), tn::any_array(tn::element_type::float32, {0}),
                                numbers(300, 5));
    for (const std::size_t most : {std::size_t{1}, std::size_t{100}, std::size_t{4096}, std::size_t{1} << 20})
        for (const bool all : {true, false}) {
            message_encoder e(m.share(), 1, most);
            collector c;
            message_decoder d;
            for (bool beside = true; !e.ended(); beside = all || !beside) {
                const std::size_t left = e.payload_left();
                message_encoder::pieces pieces, payload;
                if (beside) e.next_frame(pieces, payload, most);
                else e.next_frame(pieces);
                append(c.beside, payload);
                CHECK(left - e.payload_left() <= most);
                for (const auto p : pieces) d.push(p, c);
                CHECK(c.beside.empty());
            }
            REQUIRE(c.messages.size() == 1);
            CHECK(equal(c.messages[0], m));
            CHECK(d.is_between_messages());
        }
}

TEST_CASE("frame: a payload is read into the place that is given for it") {
    struct placing final : message_sink {
        tn::any_array place = tn::any_array::zeros(tn::element_type::int32, {100});
        std::vector<message> messages;
        std::string body;
        std::size_t asked = 0;
        tn::any_array place_for(const message& head, const tn::tensor_type& type, std::size_t) override {
            ++asked;
            body = to_text(head.body);
            if (head.arrays.size() == 1) return place.share();
            CHECK(type == tn::tensor_type{tn::element_type::int32, {7}});
            return place.share(); // does not fit: not used
        }
        void received(message m) override { messages.push_back(std::move(m)); }
    } sink;
    const message m = note_with("where", numbers(7), numbers(100, 50));
    const bytes all = frames_of(m.share());
    message_decoder d;
    // The payload is asked for where it shall lie.
    const std::span<const std::byte> whole = all;
    d.push(whole.first(all.size() - 400), sink);
    CHECK(d.wanted().data() == static_cast<std::byte*>(sink.place.data()));
    CHECK(d.wanted().size() == 400);
    std::memcpy(d.wanted().data(), all.data() + all.size() - 400, 400);
    d.got(400, sink);
    REQUIRE(sink.messages.size() == 1);
    CHECK(equal(sink.messages[0], m));
    CHECK(sink.messages[0].arrays[1].data() == sink.place.data());
    CHECK(sink.asked == 2);
    CHECK(sink.body == "where");
}

TEST_CASE("frame: what is cut short is known to be so, at any byte") {
    const bytes all = frames_of(with_everything(), 1, 1000);
    for (std::size_t cut = 1; cut < all.size(); cut += 13) {
        collector c;
        message_decoder d;
        d.push(std::span(all).first(cut), c);
        CHECK(c.messages.empty());
        CHECK_FALSE(d.is_between_messages());
    }
}

TEST_CASE("frame: a bit that flips in header or metadata is found") {
    const bytes all = frames_of(note_with("body", numbers(3)));
    for (std::size_t bit = 0; bit < 8 * (all.size() - 12); ++bit) {
        bytes wrong = all;
        wrong[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        collector c;
        message_decoder d;
        bool refused = false;
        try {
            d.push(wrong, c);
        } catch (const tn::error&) {
            refused = true;
        }
        // Lengths that grew wait for bytes; nothing is received in any case.
        CHECK((refused || !d.is_between_messages()));
        CHECK(c.messages.empty());
    }
}

TEST_CASE("frame: what is no frame is refused, and says why") {
    const bytes good = frames_of(note_with("body", numbers(3)));
    const auto header = [&](auto change) { return changed(good, [&](frame_header& h, bytes&) { change(h); }); };
    check_damaged(to_bytes("GET / HTTP/1.1\r\nHost: example.org\r\nAccept: everything\r\n\r\n"),
                  "does not begin as one");
    check_damaged(header([](frame_header& h) { h.version = 7; }), "version 7");
    check_damaged(header([](frame_header& h) { h.type = message_type::count; }), "no message type 13");
    check_damaged(header([](frame_header& h) { h.flags = 0x81; }), "flags 129");
    check_damaged(header([](frame_header& h) { h.reserved[1] = 1; }), "must be zero");
    check_damaged(header([](frame_header& h) { h.metadata_bytes = 0xFFFFFFFF; }), "4294967295 bytes of metadata");
    check_damaged(header([](frame_header& h) { h.payload_bytes = std::uint64_t{1} << 63; }),
                  "9223372036854775808 bytes of payload");
    check_damaged(header([](frame_header& h) { h.flags = 3; }), "memory that the two sides do not share");
    check_damaged(header([](frame_header& h) { h.flags = 3, h.payload_bytes = 0; }), "lies elsewhere, and it has none");
    check_damaged(header([](frame_header& h) { h.payload_bytes = 13; }), "13 bytes of payload, where 12 can come");
    check_damaged(header([](frame_header& h) { h.flags = 0; }), "goes on, which has not begun");
    check_damaged(header([](frame_header& h) { h.metadata_bytes = 8; }), "without saying what is in it");
    bytes sum = good;
    sum[52] ^= std::byte{1};
    check_damaged(sum, "checksum");
}

TEST_CASE("frame: arrays that cannot be are refused before there is memory for them") {
    const bytes good = frames_of(note_with("", tn::any_array::zeros(tn::element_type::int32, {2, 2, 2})));
    const auto described = [&](auto change) { return changed(good, [&](frame_header&, bytes& all) { change(all); }); };
    const auto sizes = [&](std::int64_t a, std::int64_t b, std::int64_t c) {
        return described([&](bytes& all) {
            put(all, descriptors_at + 2, a);
            put(all, descriptors_at + 10, b);
            put(all, descriptors_at + 18, c);
        });
    };
    check_damaged(sizes(std::int64_t{1} << 40, std::int64_t{1} << 40, 1), "2^62 bytes");
    check_damaged(sizes(std::int64_t{1} << 21, std::int64_t{1} << 21, std::int64_t{1} << 22),
                  "2^62 bytes"); // 2^64 elements: 0
    check_damaged(sizes(-1, 2, 2), "a size is -1");
    check_damaged(described([](bytes& all) { all[descriptors_at] = std::byte{200}; }), "no kind 200");
    check_damaged(described([](bytes& all) { all[descriptors_at] = std::byte{0}; }), "what holds nothing has sizes");
    check_damaged(described([](bytes& all) { all[descriptors_at + 1] = std::byte{9}; }), "9 dimensions");
    check_damaged(described([](bytes& all) { all[descriptors_at + 1] = std::byte{2}; }), "8 bytes follow its end");
    check_damaged(described([](bytes& all) { put(all, descriptors_at - 16, std::uint32_t{14}); }),
                  "not described in 26 bytes");
    check_damaged(described([](bytes& all) { put(all, descriptors_at - 16, std::uint32_t{65}); }),
                  "65 arrays are not described");
}

TEST_CASE("frame: strings whose lengths lie are refused, and bools that are neither yes nor no") {
    tn::any_array words(tn::element_type::string, {2});
    words.data<std::string>()[0] = "abc";
    const bytes good = frames_of(note_with("", words.share()));
    const std::size_t lengths_at = good.size() - 19;
    REQUIRE(decoded(good).size() == 1);
    for (const std::uint64_t length :
         {std::uint64_t{4}, std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
        bytes wrong = good;
        put(wrong, lengths_at, length);
        check_damaged(wrong, "where 3 are left");
    }
    bytes less = good;
    put(less, lengths_at, std::uint64_t{2});
    check_damaged(less, "1 bytes follow the strings");
    check_damaged(changed(good, [](frame_header&, bytes& all) { put(all, descriptors_at + 10, std::uint64_t{15}); }),
                  "does not fit into 15 bytes");
    bytes yes = frames_of(note_with("", tn::any_array::zeros(tn::element_type::boolean, {40})));
    yes.back() = std::byte{2};
    check_damaged(yes, "neither 0 nor 1");
}

TEST_CASE("frame: what is beyond the limits of who receives it is refused before there is memory for it") {
    const auto refused = [](const bytes& all, message_limits most, const char* words) {
        collector c;
        c.most = most;
        message_decoder d;
        CHECK_ERROR(tn::resource_exhausted_error, words, d.push(all, c));
        CHECK(c.messages.empty());
    };
    message_limits most{.body_bytes = 3};
    refused(frames_of(note("body")), most, "4 bytes without arrays, where 3 are taken");
    most = {};
    most.arrays = 1;
    refused(frames_of(note_with("", numbers(1), numbers(1))), most, "2 arrays, where 1 are taken");
    most = {};
    most.payload_bytes = 8;
    refused(frames_of(note_with("", numbers(1), numbers(2))), most, "8 bytes in arrays, where 4 are taken");
    // 2^40 bytes, of which not one comes
    const bytes much = changed(frames_of(note_with("", numbers(1))), [](frame_header& h, bytes& all) {
        put(all, descriptors_at + 2, std::int64_t{1} << 38);
        h.payload_bytes = 0;
    });
    refused(much, {}, "1099511627776 bytes in arrays");
    // Together with what is on its way.
    most.payload_bytes = 5000;
    collector c;
    c.most = most;
    message_decoder d;
    const bytes first = frames_of(note_with("", numbers(1000)), 1, 100),
                second = frames_of(note_with("", numbers(1000)), 2, 100);
    d.push(std::span(first).first(182), c);
    CHECK_THROWS_AS(d.push(std::span(second).first(182), c), tn::resource_exhausted_error);
}

TEST_CASE("frame: streams that begin twice, go on as others, stand still or are too many") {
    const bytes whole = frames_of(note_with("", numbers(10)), 1, 20);
    const std::size_t first = sizeof(frame_header) + 16 + 10 + 20;
    const bytes a(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(first)),
        b(whole.begin() + static_cast<std::ptrdiff_t>(first), whole.end());
    const auto joined = [](bytes x, const bytes& y) {
        x.insert(x.end(), y.begin(), y.end());
        return x;
    };
    REQUIRE(decoded(joined(a, b)).size() == 1);
    check_damaged(joined(a, a), "begins twice");
    check_damaged(joined(a, changed(b, [](frame_header& h, bytes&) { h.sequence = 8; })), "goes on as another message");
    check_damaged(joined(a, changed(b, [](frame_header& h, bytes&) { h.payload_bytes = 0; })), "it is empty");
    check_damaged(joined(a, changed(b, [](frame_header& h, bytes&) { h.stream = 9; })), "stream 9 goes on");
    bytes many;
    for (std::uint32_t s = 0; s <= most_open_messages; ++s)
        many = joined(many, changed(a, [&](frame_header& h, bytes&) { h.stream = s; }));
    check_damaged(many, "16 have not ended");
}
