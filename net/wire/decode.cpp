#include <algorithm>
#include <string>

#include <net/wire/frame.hpp>
#include <tenon/io/files/crc32c.hpp>

namespace tenon::net {

namespace {

constexpr std::size_t prefix_bytes = 16; // how many arrays, bytes of descriptors, of the body
constexpr std::size_t least_descriptor = 2, most_descriptor = 2 + 8 * max_rank + 8;
constexpr std::size_t kept_metadata = std::size_t{4} << 10; // between messages

[[noreturn]] void damaged(const std::string& why) { throw data_loss_error("a frame: " + why); }
[[noreturn]] void too_much(const std::string& what, std::uint64_t many, std::size_t most) {
    throw resource_exhausted_error("a message of " + std::to_string(many) + " " + what + ", where " +
                                   std::to_string(most) + " are taken: send less at once, or raise the limit");
}

any_array strings_of(const tensor_type& type, bytes packed) {
    const auto count = static_cast<std::size_t>(type.extents.elements());
    std::size_t text = count * sizeof(std::uint64_t);
    any_array a(type.element, type.extents);
    auto* const each = a.data<std::string>();
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t length = 0;
        std::memcpy(&length, packed.data() + i * sizeof length, sizeof length);
        if (length > packed.size() - text)
            damaged("string " + std::to_string(i) + " of " + to_string(type) + " has " + std::to_string(length) +
                    " bytes, where " + std::to_string(packed.size() - text) + " are left");
        each[i].assign(reinterpret_cast<const char*>(packed.data()) + text, length);
        text += length;
    }
    if (text != packed.size())
        damaged(std::to_string(packed.size() - text) + " bytes follow the strings of " + to_string(type));
    return a;
}

// A bool that is neither yes nor no is none, whatever a program then does with it.
void check_bools(const any_array& a) {
    const auto* const at = static_cast<const unsigned char*>(a.data());
    unsigned char all = 0;
    for (std::size_t i = 0; i < a.bytes(); ++i) all |= at[i];
    if (all > 1) damaged("an element of " + to_string(a.type()) + " is neither 0 nor 1");
}

} // namespace

void message_sink::read_beside(std::span<std::byte>) {
    damaged("its payload lies in memory that the two sides do not share");
}

void message_decoder::want_header() noexcept {
    state_ = reading::header;
    filled_ = 0;
    to_ = std::as_writable_bytes(std::span(&header_, 1));
}

void message_decoder::push(std::span<const std::byte> from, message_sink& sink) {
    while (!from.empty()) {
        const std::size_t n = std::min(from.size(), to_.size());
        std::memcpy(to_.data(), from.data(), n);
        from = from.subspan(n);
        got(n, sink);
    }
}

void message_decoder::got(std::size_t count, message_sink& sink) {
    if (count == 0) return;
    to_ = to_.subspan(count);
    if (state_ == reading::payload) return payload_came(count, sink);
    if (state_ == reading::header) filled_ += count;
    if (!to_.empty()) return;
    if (state_ == reading::header) {
        check_header();
        metadata_.resize(header_.metadata_bytes);
        state_ = reading::metadata;
        to_ = metadata_;
        if (!to_.empty()) return;
    }
    frame_begins(sink);
    if (header_.flags & frame_flags::beside) read_beside(sink);
}

void message_decoder::check_header() const {
    const frame_header& h = header_;
    if ((h.magic & 0xFFFF) == 0x0316) damaged("it begins as TLS does; both sides must use it, or neither");
    if (h.magic != frame_magic) damaged("it does not begin as one; does the other side speak Tenon's protocol?");
    if (h.version != frame_version)
        damaged("the other side speaks version " + std::to_string(h.version) + " of the protocol, this one " +
                std::to_string(frame_version) + "; use one version of Tenon on both");
    if (h.type >= message_type::count) damaged("there is no message type " + std::to_string(static_cast<int>(h.type)));
    if (h.flags & ~frame_flags::all) damaged("flags " + std::to_string(h.flags) + " are not known");
    if ((h.flags & frame_flags::beside) && h.payload_bytes == 0) damaged("its payload lies elsewhere, and it has none");
    if (h.reserved[0] || h.reserved[1] || h.reserved[2]) damaged("bytes that must be zero are not");
    if (h.metadata_bytes > most_frame_metadata)
        damaged(std::to_string(h.metadata_bytes) + " bytes of metadata, where at most " +
                std::to_string(most_frame_metadata) + " are allowed");
    if (h.payload_bytes > most_frame_payload)
        damaged(std::to_string(h.payload_bytes) + " bytes of payload, where at most " +
                std::to_string(most_frame_payload) + " are allowed");
}

void message_decoder::frame_begins(message_sink& sink) {
    const std::span<const std::byte> head = std::as_bytes(std::span(&header_, 1));
    if (crc32c(metadata_, crc32c(head.first(sizeof header_ - sizeof header_.checksum))) != header_.checksum)
        damaged("its checksum is wrong: it was damaged on its way");
    std::span<const std::byte> metadata = metadata_;
    const message_limits limits = sink.limits();
    const auto same =
        std::find_if(open_.begin(), open_.end(), [&](const open_message& m) { return m.stream == header_.stream; });
    current_ = static_cast<std::size_t>(same - open_.begin());
    if (header_.flags & frame_flags::first) {
        if (same != open_.end()) damaged("stream " + std::to_string(header_.stream) + " begins twice");
        begin_message(metadata, limits);
    } else {
        if (same == open_.end()) damaged("stream " + std::to_string(header_.stream) + " goes on, which has not begun");
        const message& m = same->head;
        if (m.type != header_.type || m.verb != header_.verb || m.request != header_.request ||
            m.sequence != header_.sequence || m.acknowledged != header_.acknowledged)
            damaged("stream " + std::to_string(header_.stream) + " goes on as another message than it began");
        if (metadata.empty() && header_.payload_bytes == 0) damaged("it is empty");
    }
    open_message& m = open_[current_];
    const bool had_metadata = m.descriptors_left + m.body_left > 0;
    add_metadata(m, metadata, limits);
    const bool has_metadata = m.descriptors_left + m.body_left == 0;
    if (header_.payload_bytes > (has_metadata ? m.payload_left : 0))
        damaged(std::to_string(header_.payload_bytes) + " bytes of payload, where " +
                std::to_string(has_metadata ? m.payload_left : 0) + " can come");
    if (metadata_.capacity() > kept_metadata) bytes().swap(metadata_);
    frame_left_ = header_.payload_bytes;
    if (has_metadata && (had_metadata || header_.flags & frame_flags::first)) {
        begin_array(m, sink);
        if (m.payload_left == 0) return end_message(sink);
    }
    want_payload();
}

void message_decoder::begin_message(std::span<const std::byte>& metadata, const message_limits& limits) {
    if (open_.size() == most_open_messages)
        damaged("a message more begins, where " + std::to_string(open_.size()) + " have not ended");
    if (metadata.size() < prefix_bytes) damaged("a message begins without saying what is in it");
    byte_reader r(metadata.first(prefix_bytes), "a frame");
    const auto arrays = r.number<std::uint32_t>();
    const std::size_t descriptors = r.number<std::uint32_t>();
    const auto body = r.number<std::uint64_t>();
    if (arrays > limits.arrays) too_much("arrays", arrays, limits.arrays);
    if (body > limits.body_bytes) too_much("bytes without arrays", body, limits.body_bytes);
    if (descriptors < arrays * least_descriptor || descriptors > arrays * most_descriptor)
        damaged(std::to_string(arrays) + " arrays are not described in " + std::to_string(descriptors) + " bytes");
    metadata = metadata.subspan(prefix_bytes);

    open_message& m = open_.emplace_back();
    m.stream = header_.stream;
    m.head.type = header_.type;
    m.head.verb = header_.verb;
    m.head.sequence = header_.sequence;
    m.head.acknowledged = header_.acknowledged;
    m.head.request = header_.request;
    m.arrays = arrays;
    m.descriptors_left = descriptors;
    m.body_left = static_cast<std::size_t>(body);
}

void message_decoder::add_metadata(open_message& m, std::span<const std::byte> metadata, const message_limits& limits) {
    if (metadata.size() > m.descriptors_left + m.body_left)
        damaged(std::to_string(metadata.size()) + " bytes of metadata, where " +
                std::to_string(m.descriptors_left + m.body_left) + " are left to come");
    if (m.descriptors_left > 0) {
        const auto these = metadata.first(std::min(metadata.size(), m.descriptors_left));
        m.descriptors.insert(m.descriptors.end(), these.begin(), these.end());
        m.descriptors_left -= these.size();
        metadata = metadata.subspan(these.size());
        if (m.descriptors_left == 0) describe(m, limits);
    }
    // Once, for what came in a frame before and says how much follows.
    if (!m.head.body.empty()) m.head.body.reserve(m.head.body.size() + m.body_left);
    m.head.body.insert(m.head.body.end(), metadata.begin(), metadata.end());
    m.body_left -= metadata.size();
}

void message_decoder::describe(open_message& m, const message_limits& limits) {
    byte_reader r(m.descriptors, "the arrays of a message");
    m.types.reserve(m.arrays);
    m.sizes.reserve(m.arrays);
    for (std::uint32_t i = 0; i < m.arrays; ++i) {
        tensor_type type{.element = r.one_of<element_type>(static_cast<std::size_t>(element_type::string) + 1)};
        const auto rank = r.number<std::uint8_t>();
        if (rank > max_rank) r.fail("one has " + std::to_string(rank) + " dimensions");
        for (int axis = 0; axis < rank; ++axis) {
            const auto size = r.number<std::int64_t>();
            if (size < 0) r.fail("a size is " + std::to_string(size));
            type.extents.push_back(size);
        }
        std::uint64_t size = 0;
        if (type.element == element_type::none) {
            if (rank != 0) r.fail("what holds nothing has sizes");
        } else {
            std::int64_t elements = 0;
            try {
                elements = checked_elements(type.element, type.extents);
            } catch (const invalid_argument_error& e) {
                r.fail(e.what());
            }
            if (type.element == element_type::string) {
                size = r.number<std::uint64_t>();
                if (static_cast<std::uint64_t>(elements) > size / sizeof(std::uint64_t))
                    r.fail(to_string(type) + " does not fit into " + std::to_string(size) + " bytes");
            } else size = static_cast<std::uint64_t>(elements) * size_of(type.element);
        }
        const std::size_t room = limits.payload_bytes - std::min(limits.payload_bytes, promised_);
        if (size > room) too_much("bytes in arrays", size, room);
        promised_ += size;
        m.payload_left += size;
        m.types.push_back(type);
        m.sizes.push_back(size);
    }
    r.end();
    bytes().swap(m.descriptors);
}

// Where an array's bytes go; an empty array where they go nowhere, or to `packed`.
any_array message_decoder::place_of(open_message& m, std::size_t i, message_sink& sink) {
    const tensor_type& type = m.types[i];
    if (type.element == element_type::none || !m.head.refused.empty()) return {};
    const bool is_text = type.element == element_type::string;
    try {
        any_array a = sink.place_for(m.head, type, m.sizes[i]);
        if (is_text) return {};
        return a.type() == type ? std::move(a) : any_array(type.element, type.extents);
    } catch (const resource_exhausted_error& e) {
        m.head.refused = e.what();
        for (any_array& before : m.head.arrays) before = {};
        return {};
    }
}

// Goes on to the next array that has bytes to come, past those that have none.
void message_decoder::begin_array(open_message& m, message_sink& sink) {
    m.filled = 0;
    m.array = {};
    for (std::size_t i = m.head.arrays.size(); i < m.types.size(); ++i) {
        const tensor_type& type = m.types[i];
        any_array a = place_of(m, i, sink);
        if (m.sizes[i] > 0) {
            m.array = std::move(a);
            return;
        }
        if (type.element == element_type::string && m.head.refused.empty()) a = any_array(type.element, type.extents);
        m.head.arrays.push_back(std::move(a));
    }
}

void message_decoder::want_payload() {
    if (frame_left_ == 0) return want_header();
    open_message& m = open_[current_];
    const std::size_t i = m.head.arrays.size(), n = std::min(frame_left_, m.sizes[i] - m.filled);
    state_ = reading::payload;
    if (!m.head.refused.empty()) {
        metadata_.resize(std::min(n, kept_metadata));
        to_ = metadata_;
    } else if (m.types[i].element ==
               element_type::string) { // memory comes with the bytes, not with the promise of them
        m.packed.resize(m.filled + n);
        to_ = std::span(m.packed).subspan(m.filled, n);
    } else to_ = {static_cast<std::byte*>(m.array.data()) + m.filled, n};
}

// All of this frame's.
void message_decoder::read_beside(message_sink& sink) {
    while (state_ == reading::payload) {
        const std::size_t count = to_.size();
        sink.read_beside(to_);
        to_ = {};
        payload_came(count, sink);
    }
}

void message_decoder::payload_came(std::size_t count, message_sink& sink) {
    open_message& m = open_[current_];
    m.filled += count;
    m.payload_left -= count;
    promised_ -= count;
    frame_left_ -= count;
    const std::size_t i = m.head.arrays.size();
    if (m.filled == m.sizes[i]) {
        const tensor_type& type = m.types[i];
        if (!m.head.refused.empty()) {
            m.head.arrays.emplace_back();
            m.packed = {};
        } else if (type.element == element_type::string) {
            m.head.arrays.push_back(strings_of(type, std::move(m.packed)));
            m.packed = {};
        } else {
            if (type.element == element_type::boolean) check_bools(m.array);
            m.head.arrays.push_back(std::move(m.array));
        }
        begin_array(m, sink);
        if (m.payload_left == 0) return end_message(sink);
    }
    if (to_.empty()) want_payload();
}

void message_decoder::end_message(message_sink& sink) {
    message m = std::move(open_[current_].head);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(current_));
    want_header();
    sink.received(std::move(m));
}

} // namespace tenon::net
