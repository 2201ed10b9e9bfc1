// A training set in TFRecord shards, packed with gzip, that is read by several threads: a producer shuffles the shards' names in each
// epoch, four readers take one shard each, and shuffle_batch_join mixes what they read. Here the images are made up, 8 x 8 pixels
// with one bright quarter and a lot of noise, and which quarter it is has to be learned. A record is its label and 64 pixels, a byte
// each; records that hold tf.Examples are read alike.
//
//     6 shards, 768 images
//     192 steps of 32 images, each image 8 times
//     95 % of the images are told right: yes
#include <tenon/input.hpp>

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tour/shared/own_folder.hpp"

namespace tn = tenon;

namespace {

constexpr int shards = 6, images_a_shard = 128, epochs = 8, readers = 4, classes = 4, side = 8, pixels = side * side;
constexpr int batch_size = 32, images = shards * images_a_shard;

std::string make_record(std::mt19937& random) {
    const int label = static_cast<int>(random() % classes);
    std::string record(1 + pixels, static_cast<char>(label));
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
            const bool bright = (y >= side / 2) * 2 + (x >= side / 2) == label;
            record[static_cast<std::size_t>(1 + y * side + x)] = static_cast<char>(random() % 180 + (bright ? 70 : 0));
        }
    return record;
}

std::vector<std::string> write_shards(const own_folder& folder) {
    std::mt19937 random(7);
    std::vector<std::string> files;
    for (int s = 0; s < shards; ++s) {
        files.push_back(folder / ("train-" + std::to_string(s) + "-of-" + std::to_string(shards) + ".tfrecord.gz"));
        tn::tfrecord_writer out(files.back());
        for (int i = 0; i < images_a_shard; ++i) out.write(make_record(random));
        out.commit();
    }
    return files;
}

using sample = std::tuple<tn::tensor<float, tn::shape<pixels>>, tn::tensor<std::int32_t, tn::shape<>>>;

// The next image of the shards that the queue names, and its label, from a reader of its own.
sample next_sample(const tn::queue<std::string>& names) {
    const tn::tf_record_reader reader;
    const auto [key, record] = reader.read(names);
    const auto bytes = tn::decode_raw<std::uint8_t, tn::shape<1 + pixels>>(record);
    const auto label = tn::reshape<tn::shape<>>(tn::slice<tn::range{0, 1}>(bytes));
    const auto image = tn::slice<tn::range{1, 1 + pixels}>(bytes);
    return {tn::cast<float>(image) / 255.0f - 0.5f, tn::cast<std::int32_t>(label)};
}

} // namespace

int main() {
    const own_folder folder("tenon-shards");
    const std::vector<std::string> files = write_shards(folder);
    std::printf("%d shards, %d images\n", shards, images);

    const auto names = tn::string_input_producer(files, {.num_epochs = epochs, .seed = 7});
    std::vector<sample> samples;
    for (int r = 0; r < readers; ++r) samples.push_back(next_sample(names));
    const auto [x, y] = tn::input::shuffle_batch_join<batch_size>(samples, 600, 400, {.seed = 7});

    const auto model = tn::nn::dense<classes>();
    const auto logits = model(x);
    const auto loss = tn::nn::cross_entropy(logits, y);
    const auto train = tn::adam(0.02f).minimize(loss);
    const auto right = tn::nn::accuracy(logits, y);

    tn::session sess;
    sess.run(tn::initialize_variables());
    tn::coordinator coord;
    tn::start_queue_runners(sess, coord);
    int steps = 0;
    double of_last = 0;
    while (coord.stop_on_exception([&] {
        const double now = static_cast<double>(sess.run(right, train)());
        ++steps;
        if (steps > (epochs - 1) * images / batch_size) of_last += now;
    })) {
    }
    coord.join();
    std::printf("%d steps of %d images, each image %d times\n", steps, batch_size, epochs);
    std::printf("95 %% of the images are told right: %s\n", of_last / (images / batch_size) >= 0.95 ? "yes" : "no");
    return 0;
}
