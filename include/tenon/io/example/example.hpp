#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/io/example/feature_kind.hpp>

/// tf.Example and tf.SequenceExample: named features, as TFRecord files hold them, in the wire format of protocol buffers
/// (https://protobuf.dev/programming-guides/encoding; tensorflow/core/example/{feature,example}.proto).
///
///     tn::example e{{{"label", 7}, {"image", tn::feature(pixels)}, {"name", "seven"}}};
///     records.write(e.serialize());
///     const std::int64_t label = tn::example::parse(bytes).features.at("label").int64s()[0];
///
/// In graphs: parse_example (ops/input/parse_example.hpp).

namespace tenon {

/// A list of texts, of floats or of integers; or none of them.
class feature {
public:
    feature() = default;
    feature(std::vector<std::string> values) : kind_(feature_kind::bytes), bytes_(std::move(values)) {}    // NOLINT
    feature(std::vector<float> values) : kind_(feature_kind::floats), floats_(std::move(values)) {}        // NOLINT
    feature(std::vector<std::int64_t> values) : kind_(feature_kind::int64s), int64s_(std::move(values)) {} // NOLINT
    feature(std::string value) : feature(std::vector<std::string>{std::move(value)}) {}                    // NOLINT
    feature(const char* value) : feature(std::string(value)) {}                                            // NOLINT
    template <class N>
        requires std::is_arithmetic_v<N> feature(N value) { // NOLINT: a number is a list of one
            if constexpr (std::is_floating_point_v<N>) *this = feature(std::vector<float>{static_cast<float>(value)});
            else {
                if (!std::in_range<std::int64_t>(+value))
                    throw invalid_argument_error("feature: " + std::to_string(value) + " is more than int64 holds");
                *this = feature(std::vector<std::int64_t>{static_cast<std::int64_t>(value)});
            }
        }
    /// The elements in row-major order: texts, floats (of half and bfloat16 too), integers (of bools too). Throws
    /// invalid_argument_error for double and uint64, of which it cannot hold every value.
    explicit feature(const any_array& elements);

    feature_kind kind() const noexcept { return kind_; }
    /// Throw invalid_argument_error where it is of another kind, naming both.
    const std::vector<std::string>& bytes() const { return of(feature_kind::bytes), bytes_; }
    const std::vector<float>& floats() const { return of(feature_kind::floats), floats_; }
    const std::vector<std::int64_t>& int64s() const { return of(feature_kind::int64s), int64s_; }

    friend bool operator==(const feature&, const feature&) = default;

private:
    void of(feature_kind wanted) const;

    feature_kind kind_ = feature_kind::none;
    std::vector<std::string> bytes_;
    std::vector<float> floats_;
    std::vector<std::int64_t> int64s_;
};

/// tf.Example.
struct example {
    std::map<std::string, feature> features;

    std::string serialize() const;
    /// Fields that the format does not know are skipped; of a name that comes twice the last counts. Throws data_loss_error, with
    /// the byte and the feature, for bytes that are no example. `who` begins the message.
    static example parse(std::string_view bytes, const std::string& who = "example::parse");
    friend bool operator==(const example&, const example&) = default;
};

/// tf.SequenceExample: features of the whole, and lists of features, one a step.
struct sequence_example {
    std::map<std::string, feature> context;
    std::map<std::string, std::vector<feature>> feature_lists;

    std::string serialize() const;
    static sequence_example parse(std::string_view bytes, const std::string& who = "sequence_example::parse");
    friend bool operator==(const sequence_example&, const sequence_example&) = default;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/example/example.ipp>
#endif
