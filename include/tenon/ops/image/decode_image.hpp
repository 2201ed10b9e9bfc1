#pragma once

#include <cstdint>
#include <string>

#include <tenon/graph/tensor.hpp>
#include <tenon/io/image/image_format.hpp>
#include <tenon/io/image/jpeg.hpp>
#include <tenon/io/image/png.hpp>

/// Images of what files hold, and back (io/image/image.hpp says what is read, and which errors there are).
///
///     auto file = tn::read_file(path);                            // in ops/input/files.hpp: string[]
///     auto photo = tn::decode_jpeg<3>(file);                      // uint8[?, ?, 3]
///     auto digit = tn::decode_png<tn::shape<28, 28, 1>>(file);    // uint8[28, 28, 1]; another size is an error
///     auto deep = tn::decode_png<tn::shape<tn::dyn, tn::dyn, 1>, std::uint16_t>(file);

namespace tenon {

/// in: what an image file holds, one text, or its bytes, uint8[n]. The image: uint8 or uint16 [height, width, channels].
struct decode_image_op {
    static constexpr const char* name = "decode_image";
    static constexpr op_flags flags = op_flags::waits; // its sizes are in the file
    static constexpr element_types gpu_types = no_elements;
    struct attributes {
        image_format format = image_format::automatic;
        element_type element = element_type::uint8;
        extents sizes{extent(), extent(), extent()}; ///< as far as they are known; no number of channels: as stored
        std::int64_t largest_image = decode_image_options().largest_image;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        const bool bytes = in[0].element == element_type::uint8 && in[0].extents.rank() == 1;
        if (!bytes && (in[0].element != element_type::string || in[0].extents.rank() != 0))
            return fault::path_must_be_text;
        if (a.element != element_type::uint8 && a.element != element_type::uint16)
            return fault::element_type_not_supported;
        if (a.sizes.rank() != 3) return fault::ranks_differ;
        if (a.sizes[2].is_number() && (a.sizes[2].size < 1 || a.sizes[2].size > 4)) return fault::channels_differ;
        return inferred(a.element, a.sizes);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(decode_image, decode_image);

namespace detail {
// Of what makes a file of an image.
struct encodes_image {
    static constexpr element_types gpu_types = no_elements;
    static constexpr inferred encoded(type_list in, bool wide, int most_channels, bool alpha) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (in[0].element != element_type::uint8 && !(wide && in[0].element == element_type::uint16))
            return fault::element_type_not_supported;
        if (in[0].extents.rank() < 3) return fault::rank_too_low;
        if (in[0].extents.rank() > 3) return fault::rank_too_high;
        const extent channels = in[0].extents[2];
        if (channels.is_number() &&
            (channels.size < 1 || channels.size > most_channels || (!alpha && channels.size % 2 == 0)))
            return fault::channels_differ;
        return inferred(element_type::string, {});
    }
};
} // namespace detail

/// in: an image [height, width, channels], uint8 or uint16, of 1 to 4 channels. What a PNG file of it holds.
struct encode_png_op : detail::encodes_image {
    static constexpr const char* name = "encode_png";
    struct attributes {
        int compression = encode_png_options().compression;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) { return encoded(in, true, 4, true); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(decode_image, encode_png);

/// in: an image [height, width, channels], uint8, of 1 or 3 channels. What a JPEG file of it holds.
struct encode_jpeg_op : detail::encodes_image {
    static constexpr const char* name = "encode_jpeg";
    struct attributes {
        int quality = encode_jpeg_options().quality;
        bool progressive = false;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) { return encoded(in, false, 3, false); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(decode_image, encode_jpeg);

namespace untyped {
/// `sizes`: [height, width, channels] as far as they are known; not given: whatever the file holds.
any_tensor decode_image(const any_tensor& file, const extents& sizes = {extent(), extent(), extent()},
                        element_type element = element_type::uint8,
                        std::int64_t largest_image = decode_image_options().largest_image, called_from here = caller());
any_tensor decode_png(const any_tensor& file, const extents& sizes = {extent(), extent(), extent()},
                      element_type element = element_type::uint8,
                      std::int64_t largest_image = decode_image_options().largest_image, called_from here = caller());
any_tensor decode_jpeg(const any_tensor& file, const extents& sizes = {extent(), extent(), extent()},
                       element_type element = element_type::uint8,
                       std::int64_t largest_image = decode_image_options().largest_image, called_from here = caller());
any_tensor encode_png(const any_tensor& image, const encode_png_options& o = {}, called_from here = caller());
any_tensor encode_jpeg(const any_tensor& image, const encode_jpeg_options& o = {}, called_from here = caller());
} // namespace untyped

namespace detail {

/// Of a decoded image: sizes that the file decides, all of them or all but the channels.
using any_image = shape<dyn, dyn, dyn>;
template <int Channels> using image_of = shape<dyn, dyn, Channels>;

// The rule of decode_image for sizes S and elements T, which say what the result is.
template <class S, class T> struct decode_image_rule {
    static constexpr const char* name = "decode_image";
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        return decode_image_op::infer({image_format::automatic, element_type_of<T>, S::extents, 0}, in, 0);
    }
};
template <class S, class T, class X, class Make> auto decoded(const X& file, Make make) {
    static_assert(S::rank == 3,
                  "tenon: an image has three sizes: shape<height, width, channels>, of which any may be dyn");
    static_assert(std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t>,
                  "tenon: images are decoded to std::uint8_t or std::uint16_t");
    if constexpr (S::rank != 3) return ill_shaped{};
    else {
        using verdict = verdict_on_operands<decode_image_rule<S, T>, X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else return tensor<T, canonical_t<S>>::unchecked(make(as_tensor(file), S::extents, element_type_of<T>));
    }
}

} // namespace detail

/// The image in what a PNG, JPEG or PNM file holds: elements T, std::uint8_t or std::uint16_t, and sizes S, [height, width,
/// channels], each a number, a named size, or dyn. Another height or width is an invalid_argument_error; channels are made as many
/// as S says, and are as stored where it says dyn. An image of more pixels than largest_image is a resource_exhausted_error.
template <Shape S = detail::any_image, Element T = std::uint8_t, OperandOrIllShaped X>
auto decode_image(const X& file, std::int64_t largest_image = decode_image_options().largest_image,
                  called_from here = caller()) {
    const making made(here);
    return detail::decoded<S, T>(file, [&](const any_tensor& t, const extents& sizes, element_type e) {
        return untyped::decode_image(t, sizes, e, largest_image);
    });
}
/// And of so many channels, 1 to 4, of any height and width.
template <int Channels, Element T = std::uint8_t, OperandOrIllShaped X>
auto decode_image(const X& file, std::int64_t largest_image = decode_image_options().largest_image,
                  called_from here = caller()) {
    const making made(here);
    return decode_image<detail::image_of<Channels>, T>(file, largest_image);
}

/// The same of PNG files only.
template <Shape S = detail::any_image, Element T = std::uint8_t, OperandOrIllShaped X>
auto decode_png(const X& file, std::int64_t largest_image = decode_image_options().largest_image,
                called_from here = caller()) {
    const making made(here);
    return detail::decoded<S, T>(file, [&](const any_tensor& t, const extents& sizes, element_type e) {
        return untyped::decode_png(t, sizes, e, largest_image);
    });
}
template <int Channels, Element T = std::uint8_t, OperandOrIllShaped X>
auto decode_png(const X& file, std::int64_t largest_image = decode_image_options().largest_image,
                called_from here = caller()) {
    const making made(here);
    return decode_png<detail::image_of<Channels>, T>(file, largest_image);
}

/// The same of JPEG files only.
template <Shape S = detail::any_image, Element T = std::uint8_t, OperandOrIllShaped X>
auto decode_jpeg(const X& file, std::int64_t largest_image = decode_image_options().largest_image,
                 called_from here = caller()) {
    const making made(here);
    return detail::decoded<S, T>(file, [&](const any_tensor& t, const extents& sizes, element_type e) {
        return untyped::decode_jpeg(t, sizes, e, largest_image);
    });
}
template <int Channels, Element T = std::uint8_t, OperandOrIllShaped X>
auto decode_jpeg(const X& file, std::int64_t largest_image = decode_image_options().largest_image,
                 called_from here = caller()) {
    const making made(here);
    return decode_jpeg<detail::image_of<Channels>, T>(file, largest_image);
}

/// What a PNG file of the image holds, as one text. image: uint8 or uint16 [height, width, 1 to 4 channels].
template <Operand X> // an array is encoded as it is
auto encode_png(const X& image, const encode_png_options& o = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<encode_png_op, detail::default_attributes<encode_png_op>>(encode_png_op::attributes{o.compression},
                                                                              image);
}
/// What a JPEG file of the image holds, as one text. image: uint8 [height, width, 1 or 3 channels].
template <Operand X> // an array is encoded as it is
auto encode_jpeg(const X& image, const encode_jpeg_options& o = {}, called_from here = caller()) {
    const making made(here);
    return apply_op<encode_jpeg_op, detail::default_attributes<encode_jpeg_op>>(
        encode_jpeg_op::attributes{o.quality, o.progressive}, image);
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_decode_image)

#include <tenon/io/image/image.hpp>
#include <tenon/op/immediate_kernel.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor decode_image(const any_tensor& file, const extents& sizes, element_type element,
                                     std::int64_t largest_image, called_from here) {
    return tenon::add<decode_image_op>({image_format::automatic, element, sizes, largest_image}, {file}, here);
}
TENON_INLINE any_tensor decode_png(const any_tensor& file, const extents& sizes, element_type element,
                                   std::int64_t largest_image, called_from here) {
    const making made(here);
    return tenon::add<decode_image_op>({image_format::png, element, sizes, largest_image}, {file}, "decode_png");
}
TENON_INLINE any_tensor decode_jpeg(const any_tensor& file, const extents& sizes, element_type element,
                                    std::int64_t largest_image, called_from here) {
    const making made(here);
    return tenon::add<decode_image_op>({image_format::jpeg, element, sizes, largest_image}, {file}, "decode_jpeg");
}
TENON_INLINE any_tensor encode_png(const any_tensor& image, const encode_png_options& o, called_from here) {
    return tenon::add<encode_png_op>({o.compression}, {image}, here);
}
TENON_INLINE any_tensor encode_jpeg(const any_tensor& image, const encode_jpeg_options& o, called_from here) {
    return tenon::add<encode_jpeg_op>({o.quality, o.progressive}, {image}, here);
}
} // namespace untyped

namespace detail {

class decode_image_select {
public:
    explicit decode_image_select(const kernel_setup& s) {
        const auto a = decode<decode_image_op::attributes>(s.attrs);
        const auto number = [&](int d, std::int64_t otherwise) {
            return a.sizes[d].is_number() ? a.sizes[d].size : otherwise;
        };
        how_.channels = static_cast<int>(number(2, 0));
        how_.element = a.element;
        how_.largest_image = a.largest_image;
        how_.height = number(0, -1);
        how_.width = number(1, -1);
        how_.format = a.format;
        if (a.format == image_format::png) who_ = "decode_png";
        if (a.format == image_format::jpeg) who_ = "decode_jpeg";
    }
    std::vector<any_array> operator()(const std::vector<any_array>& in) const {
        std::vector<any_array> out;
        const std::string_view file = in[0].element() == element_type::string
                                          ? *in[0].data<std::string>()
                                          : std::string_view(static_cast<const char*>(in[0].data()), in[0].bytes());
        out.push_back(tenon::decode_image(file, how_, who_));
        return out;
    }

private:
    decode_image_options how_;
    std::string who_ = "decode_image";
};

// Makes a file of the image that lies at the only input.
template <class Op> class encode_image_kernel final : public kernel {
public:
    explicit encode_image_kernel(const kernel_setup& s) :
        type_(s.inputs[0]), how_(decode<typename Op::attributes>(s.attrs)) {}
    void run(const kernel_run& r) override {
        // it is only read
        const any_array image = any_array::view(const_cast<void*>(r.in[0]), type_.element, type_.extents);
        if constexpr (std::is_same_v<Op, encode_png_op>)
            *r.output<std::string>(0) = tenon::encode_png(image, {how_.compression});
        else *r.output<std::string>(0) = tenon::encode_jpeg(image, {how_.quality, how_.progressive});
    }
    double cost() const override { return 10000; }

private:
    tensor_type type_;
    typename Op::attributes how_;
};

} // namespace detail

TENON_KERNEL(decode_image, detail::immediate_kernel<detail::decode_image_select>);
TENON_KERNEL(encode_png, detail::encode_image_kernel<encode_png_op>);
TENON_KERNEL(encode_jpeg, detail::encode_image_kernel<encode_jpeg_op>);

} // namespace tenon

#endif
