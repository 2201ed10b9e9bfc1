#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <net/wire/message.hpp>

/// Messages as frames, the bytes of a connection; docs/protocol.md has the layout. A message is one frame or several: the
/// metadata (what its arrays are, and the body) comes first, then the payload, which is the arrays' memory as it lies; frames of
/// other messages may stand between. Nothing here reads or writes a socket.

namespace tenon::net {

inline constexpr std::uint32_t frame_magic = 0x4E4F4E54; ///< "TNON", as it stands on the wire
inline constexpr std::uint16_t frame_version = 1;

/// The most that one frame holds.
inline constexpr std::size_t most_frame_metadata = std::size_t{1} << 20;
inline constexpr std::size_t most_frame_payload = std::size_t{4} << 20;
/// Messages of a connection whose frames stand between those of others.
inline constexpr std::size_t most_open_messages = 16;

namespace frame_flags {
inline constexpr std::uint8_t first = 1;  ///< the message begins here
inline constexpr std::uint8_t beside = 2; ///< the payload does not follow: it lies in memory that both sides have
inline constexpr std::uint8_t all = first | beside;
} // namespace frame_flags

/// What every frame begins with, as it lies on the wire.
struct frame_header {
    std::uint32_t magic = frame_magic;
    std::uint16_t version = frame_version;
    message_type type{};
    std::uint8_t flags = 0;
    std::uint32_t stream = 0; ///< frames of one message have one number; it is free again when the message is complete
    std::uint32_t metadata_bytes = 0; ///< of this frame
    std::uint64_t request = 0;
    std::uint64_t sequence = 0;
    std::uint64_t acknowledged = 0;
    std::uint64_t payload_bytes = 0; ///< of this frame
    std::uint8_t verb = 0;
    std::uint8_t reserved[3] = {};
    std::uint32_t checksum = 0; ///< crc32c of what stands before it and of the frame's metadata
};
static_assert(sizeof(frame_header) == 56);

/// A message on its way out. Its frames' pieces are its own memory: they are valid until the next frame is made or it ends.
class message_encoder {
public:
    /// `most_payload` of each frame: 1 to most_frame_payload.
    message_encoder(message m, std::uint32_t stream, std::size_t most_payload = std::size_t{1} << 20);
    message_encoder(message_encoder&&) = delete;

    using pieces = std::vector<std::span<const std::byte>>;
    /// Appends the next frame's pieces, in order.
    void next_frame(pieces& to) { next_frame(to, to, most_payload_, 0); }
    /// Likewise, with so much payload at most, of which the pieces go beside the stream.
    void next_frame(pieces& to, pieces& beside, std::size_t most_payload) {
        next_frame(to, beside, most_payload, frame_flags::beside);
    }
    /// All frames have been made.
    bool ended() const noexcept { return started_ && metadata_left_ == 0 && payload_left_ == 0; }
    /// Bytes of metadata and payload, in all frames together.
    std::size_t size() const noexcept { return size_; }
    /// Bytes of payload that frames are still to be made of.
    std::size_t payload_left() const noexcept { return payload_left_; }

private:
    void describe();
    void next_frame(pieces& to, pieces& of_payload, std::size_t most_payload, std::uint8_t flag_of_payload);
    void add_metadata(pieces& to, std::size_t count);
    void add_payload(pieces& to, std::size_t count);

    message message_;
    std::uint32_t stream_;
    std::size_t most_payload_;
    std::size_t size_ = 0, metadata_left_ = 0, payload_left_ = 0;
    bool started_ = false;
    frame_header header_;
    bytes descriptors_;
    std::vector<bytes> strings_;         // arrays of strings, packed
    std::size_t array_ = 0, offset_ = 0; // of the payload that comes next
    std::size_t packed_ = 0;             // strings_ that have gone
};

/// Who is told of what arrives.
class message_sink {
public:
    virtual message_limits limits() { return {}; }
    /// Memory for the array that comes next, head.arrays.size(), of a message of which all but its further arrays is here; an empty
    /// array, or one of another type: the decoder makes one, but of strings, of which only what it takes on the wire is asked for.
    /// Throws resource_exhausted_error where there is no room for it: the rest of the message's arrays is read past, not kept.
    virtual any_array place_for(const message& head, const tensor_type& type, std::size_t size) {
        (void)head, (void)type, (void)size;
        return {};
    }
    /// Fills `to` with what comes next beside the stream. Throws data_loss_error where it is not there.
    virtual void read_beside(std::span<std::byte> to);
    virtual void received(message m) = 0;

protected:
    ~message_sink() = default;
};

/// Frames become messages. It says where the next bytes go and is told when they are there; a payload's go into its array.
/// What does not follow the rules is a data_loss_error, what is beyond a limit a resource_exhausted_error; after either, nothing
/// further can be read.
class message_decoder {
public:
    message_decoder() = default;
    message_decoder(message_decoder&&) = delete;

    /// Where the next bytes go: never empty, and valid until they have come.
    std::span<std::byte> wanted() noexcept { return to_; }
    /// The first `bytes` of those wanted are there. Tells `sink` of messages that are complete by that.
    void got(std::size_t bytes, message_sink& sink);
    /// As wanted and got, for bytes that lie elsewhere.
    void push(std::span<const std::byte> from, message_sink& sink);

    /// Nothing has come of a message, or frame, that is not complete.
    bool is_between_messages() const noexcept { return state_ == reading::header && filled_ == 0 && open_.empty(); }
    /// Messages that have begun and not ended.
    std::size_t open_messages() const noexcept { return open_.size(); }

private:
    struct open_message {
        std::uint32_t stream = 0;
        message head;
        std::uint32_t arrays = 0;
        std::size_t descriptors_left = 0, body_left = 0;
        bytes descriptors;
        std::vector<tensor_type> types;
        std::vector<std::size_t> sizes; // of each array in the payload
        std::size_t payload_left = 0;
        any_array array; // that is being read
        bytes packed;    // strings
        std::size_t filled = 0;
    };
    enum class reading { header, metadata, payload };

    void want_header() noexcept;
    void check_header() const;
    void frame_begins(message_sink& sink);
    void begin_message(std::span<const std::byte>& metadata, const message_limits& limits);
    void add_metadata(open_message& m, std::span<const std::byte> metadata, const message_limits& limits);
    void describe(open_message& m, const message_limits& limits);
    void want_payload();
    void read_beside(message_sink& sink);
    void payload_came(std::size_t count, message_sink& sink);
    void begin_array(open_message& m, message_sink& sink);
    any_array place_of(open_message& m, std::size_t i, message_sink& sink);
    void end_message(message_sink& sink);

    reading state_ = reading::header;
    frame_header header_;
    std::span<std::byte> to_{reinterpret_cast<std::byte*>(&header_), sizeof header_};
    std::size_t filled_ = 0; // of the header
    bytes metadata_;
    std::size_t frame_left_ = 0; // of this frame's payload
    std::size_t current_ = 0;    // of open_
    std::vector<open_message> open_;
    std::size_t promised_ = 0; // payload that is still to come, of all
};

} // namespace tenon::net
