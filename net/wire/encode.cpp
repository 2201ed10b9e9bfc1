#include <algorithm>
#include <string>

#include <net/wire/frame.hpp>
#include <tenon/io/files/crc32c.hpp>

namespace tenon::net {

namespace {

// The lengths, then the characters.
bytes packed_strings(const any_array& strings) {
    const auto* const each = strings.data<std::string>();
    const auto count = static_cast<std::size_t>(strings.elements());
    bytes all(bytes_on_wire(strings));
    std::byte* length = all.data();
    std::byte* text = length + count * sizeof(std::uint64_t);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t size = each[i].size();
        std::memcpy(length, &size, sizeof size);
        length += sizeof size;
        if (size > 0) std::memcpy(text, each[i].data(), size);
        text += size;
    }
    return all;
}

} // namespace

message_encoder::message_encoder(message m, std::uint32_t stream, std::size_t most_payload) :
    message_(std::move(m)),
    stream_(stream),
    most_payload_(std::clamp<std::size_t>(most_payload, 1, most_frame_payload)) {
    describe();
    metadata_left_ = descriptors_.size() + message_.body.size();
    size_ = metadata_left_ + payload_left_;
}

void message_encoder::describe() {
    for (const any_array& a : message_.arrays)
        if (a.element() == element_type::string) strings_.push_back(packed_strings(a));
    std::size_t size = 0;
    for (const any_array& a : message_.arrays)
        size += 2 + 8 * static_cast<std::size_t>(a.rank()) + (a.element() == element_type::string ? 8 : 0);

    descriptors_.resize(16 + size);
    std::byte* at = descriptors_.data();
    const auto put = [&](auto number) {
        std::memcpy(at, &number, sizeof number);
        at += sizeof number;
    };
    put(static_cast<std::uint32_t>(message_.arrays.size()));
    put(static_cast<std::uint32_t>(size));
    put(std::uint64_t{message_.body.size()});
    auto next_packed = strings_.begin();
    for (const any_array& a : message_.arrays) {
        put(a.element());
        put(static_cast<std::uint8_t>(a.rank()));
        for (const extent& e : a.extents()) put(e.size);
        std::uint64_t here = a.bytes();
        if (a.element() == element_type::string) {
            here = (next_packed++)->size();
            put(here);
        }
        payload_left_ += here;
    }
}

void message_encoder::next_frame(pieces& to, pieces& of_payload, std::size_t most_payload,
                                 std::uint8_t flag_of_payload) {
    const std::size_t metadata = std::min(metadata_left_, most_frame_metadata);
    const std::size_t payload = metadata == metadata_left_ ? std::min(payload_left_, most_payload) : 0;
    header_ = {};
    header_.type = message_.type;
    header_.flags =
        static_cast<std::uint8_t>((started_ ? 0 : frame_flags::first) | (payload > 0 ? flag_of_payload : 0));
    header_.stream = stream_;
    header_.metadata_bytes = static_cast<std::uint32_t>(metadata);
    header_.request = message_.request;
    header_.sequence = message_.sequence;
    header_.acknowledged = message_.acknowledged;
    header_.payload_bytes = payload;
    header_.verb = message_.verb;
    started_ = true;

    const std::span<const std::byte> head = std::as_bytes(std::span(&header_, 1));
    to.push_back(head);
    const std::size_t before = to.size();
    add_metadata(to, metadata);
    header_.checksum = crc32c(head.first(sizeof header_ - sizeof header_.checksum));
    for (std::size_t i = before; i < to.size(); ++i) header_.checksum = crc32c(to[i], header_.checksum);
    add_payload(of_payload, payload);
}

void message_encoder::add_metadata(pieces& to, std::size_t count) {
    const std::size_t body = message_.body.size();
    if (metadata_left_ > body) {
        const std::size_t left = metadata_left_ - body, n = std::min(count, left);
        to.push_back(std::span(descriptors_).subspan(descriptors_.size() - left, n));
        metadata_left_ -= n;
        count -= n;
    }
    if (count == 0) return;
    to.push_back(std::span(message_.body).subspan(body - metadata_left_, count));
    metadata_left_ -= count;
}

void message_encoder::add_payload(pieces& to, std::size_t count) {
    payload_left_ -= count;
    while (count > 0) {
        const any_array& a = message_.arrays[array_];
        const bool is_string = a.element() == element_type::string;
        const std::span<const std::byte> all = is_string
                                                   ? std::span<const std::byte>(strings_[packed_])
                                                   : std::span(static_cast<const std::byte*>(a.data()), a.bytes());
        const std::size_t n = std::min(count, all.size() - offset_);
        if (n > 0) to.push_back(all.subspan(offset_, n));
        offset_ += n;
        count -= n;
        if (offset_ < all.size()) return;
        if (is_string) ++packed_;
        ++array_;
        offset_ = 0;
    }
}

} // namespace tenon::net
