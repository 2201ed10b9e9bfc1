// Records, images and examples of files.
#include <tenon/input.hpp>

namespace tn = tenon;

// case decode_default_kind: A default that is not of its column's kind: a fraction for whole numbers.
// error[gcc]: auto tenon::decode_csv\(.*\[with Columns = \{float, int\}
// error[gcc]: tenon::decode_csv: a default is not of its column's kind
// error[clang]: tenon::decode_csv: a default is not of its column's kind
auto f(const tn::tensor<std::string, tn::shape<>>& record) {
    auto [a, b] = tn::decode_csv<float, std::int32_t>(record, 5.f, 6.5f); // wrong
    auto [a, b] = tn::decode_csv<float, std::int32_t>(record, 5.f, 6);    // right
    return b;
}

// case decode_default_text: A text where a number is expected.
// error[gcc]: auto tenon::decode_csv\(.*\[with Columns = .*float\}
// error[gcc]: tenon::decode_csv: a default is not of its column's kind
// error[clang]: tenon::decode_csv: a default is not of its column's kind
auto f(const tn::tensor<std::string, tn::shape<>>& record) {
    auto [a, b] = tn::decode_csv<std::string, float>(record, "none", "none");              // wrong
    auto [a, b] = tn::decode_csv<std::string, float>(record, "none", tn::required<float>); // right
    return a;
}

// case decode_default_too_many: One default more than there are columns.
// error[gcc]: auto tenon::decode_csv\(.*\[with Columns = \{float, float\}
// error[gcc]: tenon::decode_csv: there are more defaults than columns
// error[clang]: tenon::decode_csv: there are more defaults than columns
auto f(const tn::tensor<std::string, tn::shape<>>& record) {
    auto [a, b] = tn::decode_csv<float, float>(record, 5.f, 6.f, 7.f); // wrong
    auto [a, b] = tn::decode_csv<float, float>(record, 5.f, 6.f);      // right
    return a;
}

// case decode_image_channels: An image has 1 to 4 channels.
// error[gcc]: decode_image: numbers of channels differ: \[\]
// error[clang]: decode_image_rule<.*>, tenon::fault::channels_differ
auto f(const tn::tensor<std::string, tn::shape<>>& file) {
    return tn::decode_png<tn::shape<28, 28, 5>>(file); // wrong
    return tn::decode_png<tn::shape<28, 28, 4>>(file); // right
}

// case decode_image_rank: The sizes of an image are three.
// error[gcc]: with S = tenon::shape<28, 28>
// error: tenon: an image has three sizes
auto f(const tn::tensor<std::string, tn::shape<>>& file) {
    return tn::decode_png<tn::shape<28, 28>>(file);    // wrong
    return tn::decode_png<tn::shape<28, 28, 1>>(file); // right
}

// case decode_records: Records are strings.
// error[gcc]: decode_csv: element type is not supported: float\[7\]
// error[clang]: decode_csv_op>, tenon::fault::element_type_not_supported, .*<float, .*size<7> ?>
auto f(const tn::tensor<float, tn::shape<7>>& x, const tn::tensor<std::string, tn::shape<7>>& lines) {
    auto [a, b] = tn::decode_csv(x, 5.f, 6);     // wrong
    auto [a, b] = tn::decode_csv(lines, 5.f, 6); // right
    return (void)x, (void)lines, b;
}

// case parse_example_element: Examples hold three types of elements.
// error[gcc]: template constraint failure for .*FeatureElement<T>.* class tenon::fixed_feature
// error[clang]: constraints not satisfied for class template 'fixed_feature' .with T = int
// error[clang]: does not satisfy 'FeatureElement'
// lines: 16
auto f(const tn::tensor<std::string, tn::shape<8>>& serialized) {
    return tn::parse_example(serialized, tn::fixed_feature<std::int32_t>("label")); // wrong
    return tn::parse_example(serialized, tn::fixed_feature<std::int64_t>("label")); // right
}

// case parse_example_fixed_size: A feature of fixed length has sizes that are numbers.
// error[gcc]: template constraint failure for .*FixedShape<S>.* class tenon::fixed_feature
// error[clang]: constraints not satisfied for class template 'fixed_feature'
// error[clang]: does not satisfy 'FixedShape'
// lines: 16
auto f(const tn::tensor<std::string, tn::shape<8>>& serialized) {
    return tn::parse_example(serialized, tn::fixed_feature<float, tn::shape<tn::dyn, 3>>("points"));  // wrong
    return tn::parse_example(serialized, tn::padded_feature<float, tn::shape<tn::dyn, 3>>("points")); // right
}

// case parse_example_sequence: Feature lists are a tf.SequenceExample's.
// error[gcc]: tenon::parse_example\(.*sequence_feature<float,
// error: tenon::parse_example: a sequence_feature is read by parse_sequence_example
inline constexpr struct batch : tn::dim<"batch"> {} batch;
auto f(const tn::tensor<std::string, tn::shape<batch>>& serialized) {
    const auto frames = tn::sequence_feature<float, tn::shape<tn::dyn, 3>>("frames");
    return tn::parse_example(serialized, frames);          // wrong
    return tn::parse_sequence_example(serialized, frames); // right
}

// case parse_example_single: One example is parsed by a function of its own.
// error[gcc]: parse_example: rank is too low: \[\]
// error[clang]: serialized_rule<1>, tenon::fault::rank_too_low
auto f(const tn::tensor<std::string, tn::shape<>>& serialized) {
    const auto label = tn::fixed_feature<std::int64_t>("label");
    return tn::parse_example(serialized, label);        // wrong
    return tn::parse_single_example(serialized, label); // right
}
