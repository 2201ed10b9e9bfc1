// Images decoded by decode_image, beside libpng and libjpeg-turbo called directly into memory that is there: sizes of MNIST,
// of ImageNet's networks, and of a screen. Photographs are stood in for by something smooth with noise.

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tenon/io/image/image.hpp>

#include "ratio.hpp"

#if TENON_WITH_PNG && TENON_WITH_JPEG
#include <jpeglib.h>
#include <png.h>

namespace tn = tenon;

namespace {

tn::any_array photograph(std::int64_t height, std::int64_t width, int channels) {
    tn::any_array a(tn::element_type::uint8, {height, width, channels});
    std::minstd_rand random(1);
    auto* to = a.data<std::uint8_t>();
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x)
            for (int c = 0; c < channels; ++c)
                *to++ = static_cast<std::uint8_t>(
                    120 + 90 * std::sin(0.03 * static_cast<double>(x) + c) * std::cos(0.02 * static_cast<double>(y)) +
                    static_cast<double>(random() % 16));
    return a;
}

void read_from(png_structp png, png_bytep to, std::size_t bytes) {
    auto& rest = *static_cast<std::string_view*>(png_get_io_ptr(png));
    if (bytes > rest.size()) png_error(png, "cut off");
    rest.copy(reinterpret_cast<char*>(to), bytes);
    rest.remove_prefix(bytes);
}

void png_by_library(std::string_view file, std::vector<std::uint8_t>& to) {
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png_create_info_struct(png);
    png_set_read_fn(png, &file, read_from);
    png_read_info(png, info);
    const std::size_t row = png_get_rowbytes(png, info), height = png_get_image_height(png, info);
    for (std::size_t y = 0; y < height; ++y) png_read_row(png, to.data() + y * row, nullptr);
    png_read_end(png, nullptr);
    png_destroy_read_struct(&png, &info, nullptr);
}

void jpeg_by_library(std::string_view file, std::vector<std::uint8_t>& to) {
    jpeg_decompress_struct d;
    jpeg_error_mgr errors;
    d.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, reinterpret_cast<const unsigned char*>(file.data()), static_cast<unsigned long>(file.size()));
    jpeg_read_header(&d, TRUE);
    jpeg_start_decompress(&d);
    auto* row = to.data();
    for (; d.output_scanline < d.output_height; row += d.output_width * static_cast<unsigned>(d.output_components))
        jpeg_read_scanlines(&d, &row, 1);
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
}

} // namespace

int main(int argc, char** argv) {
    std::vector<ratio::row> rows;
    for (const bool png : {true, false})
        for (const auto& [height, width, channels] : {std::tuple{28, 28, 1}, {224, 224, 3}, {768, 1024, 3}}) {
            const tn::any_array image = photograph(height, width, channels);
            const std::string file = png ? tn::encode_png(image) : tn::encode_jpeg(image, {.quality = 90});
            const std::string title = std::string(png ? "PNG " : "JPEG ") + std::to_string(width) + " x " +
                                      std::to_string(height) + ", channels: " + std::to_string(channels);
            benchmark::RegisterBenchmark((title + ", Tenon").c_str(), [file](benchmark::State& state) {
                for (auto _ : state) benchmark::DoNotOptimize(tn::decode_image(file).data());
            });
            benchmark::RegisterBenchmark((title + ", library").c_str(),
                                         [file, png, n = image.bytes()](benchmark::State& state) {
                                             std::vector<std::uint8_t> to(n);
                                             for (auto _ : state) {
                                                 png ? png_by_library(file, to) : jpeg_by_library(file, to);
                                                 benchmark::DoNotOptimize(to.data());
                                             }
                                         });
            rows.push_back({title, title + ", Tenon", title + ", library", 0.95, 1000, "us"});
        }
    return ratio::run(argc, argv, rows);
}

#else
int main() { std::puts("this build of Tenon has no libpng or no libjpeg"); }
#endif
