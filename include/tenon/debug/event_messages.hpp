#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/core/array/any_array.hpp>
#include <tenon/graph/graph.hpp>

/// The messages of event files (tensorflow/core/util/event.proto, framework/summary.proto, framework/graph.proto), as bytes in the wire
/// format of protocol buffers. Texts that are not UTF-8 are no texts there: what is not ASCII in such is written as '?'.

namespace tenon::detail {

/// A message, field by field.
class wire_message {
public:
    wire_message& number(std::uint32_t field, std::int64_t value);
    wire_message& real(std::uint32_t field, double value);
    wire_message& real(std::uint32_t field, float value);
    wire_message& bytes(std::uint32_t field, std::string_view value);
    wire_message& text(std::uint32_t field, std::string_view value);
    wire_message& message(std::uint32_t field, const wire_message& value) { return bytes(field, value.all_); }
    const std::string& str() const noexcept { return all_; }

private:
    std::string all_;
};

/// Event, of this time in seconds since 1970, without what it says.
wire_message event_at(double seconds, std::int64_t step);

/// Summary with one value of this tag.
wire_message scalar_summary(std::string_view tag, float value);
/// HistogramProto of all finite elements, in buckets whose limits grow by a tenth. Of numbers and bools.
wire_message histogram_summary(std::string_view tag, const any_array& values);
/// A PNG file.
wire_message image_summary(std::string_view tag, std::int64_t height, std::int64_t width, std::int64_t channels,
                           std::string_view png);
/// A text, in Markdown; for the plugin of that name.
wire_message text_summary(std::string_view tag, std::string_view text);

/// GraphDef: of each node its name, op, inputs, control inputs, device and the sizes of its outputs.
std::string graph_message(const graph& g);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/debug/event_messages.ipp>
#endif
