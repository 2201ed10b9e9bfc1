#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <tenon/input.hpp>

#include "ratio.hpp"

/// Ops on batches of images, each beside the plain loop that a user would write for the same images, or beside a copy of the
/// bytes where nothing but bytes is moved. One thread. The time of a batch, in microseconds.

namespace tn = tenon;

namespace {

struct batch_of {
    int images, height, width;
    std::int64_t pixels() const { return std::int64_t{images} * height * width; }
};
constexpr batch_of small{128, 32, 32}, large{128, 224, 224};

tn::array<float> pictures(const batch_of& b) {
    tn::array<float> a(tn::extents{b.images, b.height, b.width, 3});
    for (std::int64_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>((i * 37 + 11) % 251) / 250;
    return a;
}

// The other sides, on a batch of three channels.

void copied(const float* x, float* y, const batch_of& b) {
    std::memcpy(y, x, static_cast<std::size_t>(b.pixels()) * 3 * sizeof(float));
}
void mirrored(const float* x, float* y, const batch_of& b) {
    for (std::int64_t row = 0; row < std::int64_t{b.images} * b.height; ++row) {
        const bool flipped = row / b.height % 2 == 0;
        for (int i = 0; i < b.width; ++i)
            for (int c = 0; c < 3; ++c)
                y[(row * b.width + i) * 3 + c] = x[(row * b.width + (flipped ? b.width - 1 - i : i)) * 3 + c];
    }
}
void cropped(const float* x, float* y, const batch_of& b) {
    const int h = b.height * 3 / 4, w = b.width * 3 / 4;
    for (int n = 0; n < b.images; ++n)
        for (int r = 0; r < h; ++r)
            std::memcpy(y + (std::int64_t{n} * h + r) * w * 3,
                        x + ((std::int64_t{n} * b.height + r + n % 8) * b.width + n % 7) * 3,
                        static_cast<std::size_t>(w) * 3 * sizeof(float));
}
void framed(const float* x, float* y, const batch_of& b) {
    const int h = b.height + 8, w = b.width + 8;
    std::memset(y, 0, static_cast<std::size_t>(b.images) * static_cast<std::size_t>(h * w) * 3 * sizeof(float));
    for (int n = 0; n < b.images; ++n)
        for (int r = 0; r < b.height; ++r)
            std::memcpy(y + ((std::int64_t{n} * h + r + 4) * w + 4) * 3,
                        x + (std::int64_t{n} * b.height + r) * b.width * 3,
                        static_cast<std::size_t>(b.width) * 3 * sizeof(float));
}
void resized(const float* x, float* y, const batch_of& b) {
    const int h = b.height * 3 / 4, w = b.width * 3 / 4;
    const float sy = static_cast<float>(b.height) / static_cast<float>(h);
    const float sx = static_cast<float>(b.width) / static_cast<float>(w);
    for (int n = 0; n < b.images; ++n) {
        const float* image = x + std::int64_t{n} * b.height * b.width * 3;
        for (int r = 0; r < h; ++r) {
            const float at_y = std::max(0.0F, (static_cast<float>(r) + 0.5F) * sy - 0.5F);
            const int top = static_cast<int>(at_y), low = std::min(top + 1, b.height - 1);
            const float v = at_y - static_cast<float>(top);
            for (int i = 0; i < w; ++i) {
                const float at_x = std::max(0.0F, (static_cast<float>(i) + 0.5F) * sx - 0.5F);
                const int left = static_cast<int>(at_x), right = std::min(left + 1, b.width - 1);
                const float u = at_x - static_cast<float>(left);
                for (int c = 0; c < 3; ++c)
                    *y++ = (1 - v) * ((1 - u) * image[(top * b.width + left) * 3 + c] +
                                      u * image[(top * b.width + right) * 3 + c]) +
                           v * ((1 - u) * image[(low * b.width + left) * 3 + c] +
                                u * image[(low * b.width + right) * 3 + c]);
            }
        }
    }
}
void turned(const float* x, float* y, const batch_of& b) {
    const float cosine = std::cos(0.2F), sine = std::sin(0.2F);
    const float my = static_cast<float>(b.height - 1) / 2, mx = static_cast<float>(b.width - 1) / 2;
    for (int n = 0; n < b.images; ++n) {
        const float* image = x + std::int64_t{n} * b.height * b.width * 3;
        const auto pixel = [&](int row, int column, int c) {
            return row < 0 || row >= b.height || column < 0 || column >= b.width
                       ? 0.0F
                       : image[(row * b.width + column) * 3 + c];
        };
        for (int r = 0; r < b.height; ++r)
            for (int i = 0; i < b.width; ++i) {
                const float dy = static_cast<float>(r) - my, dx = static_cast<float>(i) - mx;
                const float at_x = cosine * dx - sine * dy + mx, at_y = sine * dx + cosine * dy + my;
                const int left = static_cast<int>(at_x + 1000) - 1000, top = static_cast<int>(at_y + 1000) - 1000;
                const float u = at_x - static_cast<float>(left), v = at_y - static_cast<float>(top);
                for (int c = 0; c < 3; ++c)
                    *y++ = (1 - v) * ((1 - u) * pixel(top, left, c) + u * pixel(top, left + 1, c)) +
                           v * ((1 - u) * pixel(top + 1, left, c) + u * pixel(top + 1, left + 1, c));
            }
    }
}
void scaled(const float* x, float* y, const batch_of& b) {
    for (std::int64_t i = 0; i < b.pixels() * 3; ++i) y[i] = (x[i] - 0.45F) / 0.22F;
}
void brightened(const float* x, float* y, const batch_of& b) {
    const std::int64_t image = std::int64_t{b.height} * b.width * 3;
    for (int n = 0; n < b.images; ++n)
        for (std::int64_t i = n * image; i < (n + 1) * image; ++i) y[i] = x[i] + static_cast<float>(n) / 128;
}
void contrasted(const float* x, float* y, const batch_of& b) {
    const std::int64_t pixels = std::int64_t{b.height} * b.width;
    for (int n = 0; n < b.images; ++n, x += pixels * 3, y += pixels * 3) {
        float sums[3] = {};
        for (std::int64_t i = 0; i < pixels; ++i)
            for (int c = 0; c < 3; ++c) sums[c] += x[3 * i + c];
        for (float& s : sums) s /= static_cast<float>(pixels);
        for (std::int64_t i = 0; i < pixels; ++i)
            for (int c = 0; c < 3; ++c) y[3 * i + c] = (x[3 * i + c] - sums[c]) * 1.2F + sums[c];
    }
}
void saturated(const float* x, float* y, const batch_of& b) {
    for (std::int64_t i = 0; i < b.pixels(); ++i, x += 3, y += 3) {
        const float most = std::max({x[0], x[1], x[2]}), chroma = most - std::min({x[0], x[1], x[2]});
        const float by = chroma > 0 ? std::min(1.2F, most / chroma) : 1;
        for (int c = 0; c < 3; ++c) y[c] = most - (most - x[c]) * by;
    }
}
void other_hue(const float* x, float* y, const batch_of& b) {
    for (std::int64_t i = 0; i < b.pixels(); ++i, x += 3, y += 3) {
        const float most = std::max({x[0], x[1], x[2]}), chroma = most - std::min({x[0], x[1], x[2]});
        float hue = chroma == 0    ? 0
                    : most == x[0] ? (x[1] - x[2]) / chroma
                    : most == x[1] ? (x[2] - x[0]) / chroma + 2
                                   : (x[0] - x[1]) / chroma + 4;
        hue += 0.3F;
        const float first[] = {5, 3, 1};
        for (int c = 0; c < 3; ++c) {
            float k = first[c] + hue;
            k -= 6 * std::floor(k / 6);
            y[c] = most - chroma * std::max(0.0F, std::min({k, 4 - k, 1.0F}));
        }
    }
}
void gray(const float* x, float* y, const batch_of& b) {
    for (std::int64_t i = 0; i < b.pixels(); ++i)
        y[i] = 0.2989F * x[3 * i] + 0.587F * x[3 * i + 1] + 0.114F * x[3 * i + 2];
}
void hidden(const float* x, float* y, const batch_of& b) {
    copied(x, y, b);
    for (int n = 0; n < b.images; ++n)
        for (int r = 0; r < 8; ++r)
            std::memset(y + ((std::int64_t{n} * b.height + r + n % 8) * b.width + n % 5) * 3, 0, 8 * 3 * sizeof(float));
}
void blended(const float* x, float* y, const batch_of& b) {
    const std::int64_t image = std::int64_t{b.height} * b.width * 3;
    for (int n = 0; n < b.images; ++n) {
        const float w = static_cast<float>(n) / 128;
        const float* other = x + (b.images - 1 - n) * image;
        for (std::int64_t i = 0; i < image; ++i) y[n * image + i] = w * x[n * image + i] + (1 - w) * other[i];
    }
}

struct side_by_side {
    std::string name;
    std::function<tn::any_tensor(const tn::any_tensor&, const batch_of&)> ours;
    void (*theirs)(const float*, float*, const batch_of&);
};

const std::vector<side_by_side> all = {
    {"flip_left_right", [](auto& x, auto&) { return tn::untyped::random_flip_left_right(x, {.seed = 1}); }, mirrored},
    {"flip_up_down, a copy", [](auto& x, auto&) { return tn::untyped::random_flip_up_down(x, {.seed = 1}); }, copied},
    {"random_crop",
     [](auto& x, auto& b) { return tn::untyped::random_crop(x, b.height * 3 / 4, b.width * 3 / 4, {1}); }, cropped},
    {"pad_to", [](auto& x, auto& b) { return tn::untyped::pad_to(x, b.height + 8, b.width + 8); }, framed},
    {"resize, bilinear",
     [](auto& x, auto& b) { return tn::untyped::resize(x, tn::bilinear, b.height * 3 / 4, b.width * 3 / 4); }, resized},
    {"rotate, bilinear", [](auto& x, auto&) { return tn::untyped::rotate(x, 0.2); }, turned},
    {"normalize", [](auto& x, auto&) { return tn::untyped::normalize(x, 0.45F, 0.22F); }, scaled},
    {"random_brightness", [](auto& x, auto&) { return tn::untyped::random_brightness(x, 0.2, {1}); }, brightened},
    {"random_contrast", [](auto& x, auto&) { return tn::untyped::random_contrast(x, 0.5, 2, {1}); }, contrasted},
    {"random_saturation", [](auto& x, auto&) { return tn::untyped::random_saturation(x, 0.5, 2, {1}); }, saturated},
    {"random_hue", [](auto& x, auto&) { return tn::untyped::random_hue(x, 0.1, {1}); }, other_hue},
    {"rgb_to_grayscale", [](auto& x, auto&) { return tn::untyped::rgb_to_grayscale(x); }, gray},
    {"cutout", [](auto& x, auto&) { return tn::untyped::cutout(x, 8, 8, {.seed = 1}); }, hidden},
    {"mixup",
     [](auto& x, auto& b) {
         return tn::untyped::mixup(x, tn::untyped::zeros(tn::element_type::float32, {b.images, 10}), {.seed = 1}).first;
     },
     blended},
};

void run_ours(benchmark::State& state, const side_by_side& s, const batch_of& b) {
    const tn::graph_scope scope{tn::graph()};
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {b.images, b.height, b.width, 3});
    const tn::any_tensor y = s.ours(x, b);
    tn::session session(tn::graph::current(),
                        {.intra_op_threads = 1, .inter_op_threads = 1, .use_per_session_threads = true});
    const tn::array<float> value = pictures(b);
    for (auto _ : state) {
        std::vector<tn::fed_value> feeds;
        feeds.push_back({x, value.untyped().share()});
        benchmark::DoNotOptimize(session.run_untyped(std::move(feeds), {y}));
    }
}
void run_theirs(benchmark::State& state, const side_by_side& s, const batch_of& b) {
    const tn::array<float> value = pictures(b);
    std::vector<float> to(static_cast<std::size_t>(b.images) *
                          static_cast<std::size_t>((b.height + 8) * (b.width + 8) * 3));
    for (auto _ : state) {
        s.theirs(value.span().data(), to.data(), b);
        benchmark::DoNotOptimize(to.data());
        benchmark::ClobberMemory();
    }
}

} // namespace

int main(int argc, char** argv) {
    std::vector<ratio::row> rows;
    for (const batch_of* b : {&small, &large})
        for (const side_by_side& s : all) {
            const std::string name = s.name + " of " + std::to_string(b->height) + "x" + std::to_string(b->width);
            benchmark::RegisterBenchmark((name + ": Tenon").c_str(), [&s, b](auto& state) { run_ours(state, s, *b); });
            benchmark::RegisterBenchmark((name + ": loop").c_str(), [&s, b](auto& state) { run_theirs(state, s, *b); });
            rows.push_back({name, name + ": Tenon", name + ": loop", 0, 1000, "us"});
        }
    return ratio::run(argc, argv, rows);
}
