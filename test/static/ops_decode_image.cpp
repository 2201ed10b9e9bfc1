// The types of decoded and encoded images.

#include <string>
#include <type_traits>

#include <tenon/ops/image/decode_image.hpp>

using namespace tenon;

namespace {

inline constexpr struct image_height : dim<"height"> {} height;

inline const tensor<std::string, shape<>> file;
inline const tensor<std::uint8_t, shape<28, 28, 1>> image;
inline const tensor<std::uint16_t, shape<dyn, dyn, dyn>> any;

template <class X, class Y> inline constexpr bool is = std::is_same_v<X, Y>;

static_assert(is<decltype(decode_image(file)), tensor<std::uint8_t, shape<dyn, dyn, dyn>>>);
static_assert(is<decltype(decode_image<3>(file)), tensor<std::uint8_t, shape<dyn, dyn, 3>>>);
static_assert(is<decltype(decode_jpeg<3>(file, 1000)), tensor<std::uint8_t, shape<dyn, dyn, 3>>>);
static_assert(is<decltype(decode_png<shape<28, 28, 1>>(file)), tensor<std::uint8_t, shape<28, 28, 1>>>);
static_assert(is<decltype(decode_png<1, std::uint16_t>(file)), tensor<std::uint16_t, shape<dyn, dyn, 1>>>);
static_assert(is<decltype(decode_image<shape<height, dyn, 4>, std::uint16_t>(file)),
                 tensor<std::uint16_t, shape<height, dyn, 4>>>);
static_assert(is<decltype(encode_png(image)), tensor<std::string, shape<>>>);
static_assert(is<decltype(encode_png(any, {.compression = 9})), tensor<std::string, shape<>>>);
static_assert(is<decltype(encode_jpeg(image, {.quality = 80})), tensor<std::string, shape<>>>);

static_assert(is<decltype(decode_image(ill_shaped{})), ill_shaped>);
static_assert(is<decltype(decode_png<3>(ill_shaped{})), ill_shaped>);
static_assert(is<decltype(encode_png(ill_shaped{})), ill_shaped>);
static_assert(is<decltype(encode_jpeg(ill_shaped{})), ill_shaped>);

} // namespace
