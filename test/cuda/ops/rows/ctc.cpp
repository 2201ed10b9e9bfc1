#include "tests.hpp"
#include "../both_devices.hpp"

using namespace tenon;
using test::drawn_seed, test::run_on_gpu;

namespace {

struct sequences {
    any_array logits, labels, times, lengths;
    std::vector<const any_array*> all() const { return {&logits, &labels, &times, &lengths}; }
};
template <class T, class I>
sequences random_sequences(std::mt19937_64& random, std::int64_t time, std::int64_t classes) {
    const std::int64_t batch = 4, most = time / 2;
    const auto below = [&](std::int64_t n) { return static_cast<double>(random() % static_cast<std::uint64_t>(n)); };
    return {test::numbers<T>(extents(batch, time, classes), random),
            test::array_of<I>(extents(batch, most), [&](std::int64_t) { return 1 + below(classes - 1); }),
            test::array_of<std::int32_t>(extents(batch),
                                         [&](std::int64_t i) {
                                             return i == 0 ? 0 : i == 1 ? static_cast<double>(time) : below(time + 1);
                                         }),
            test::array_of<std::int64_t>(
                extents(batch), [&](std::int64_t i) { return i == 1 ? static_cast<double>(most) : below(most + 1); })};
}
std::vector<any_tensor> losses(const std::vector<any_tensor>& in) {
    const any_tensor loss = untyped::ctc_loss(in[0], in[1], in[2], in[3]);
    return {loss, any_tensor({loss.node(), 1})};
}

} // namespace

TEST_CASE_TEMPLATE("ctc_loss on a GPU is the host's, and its gradient, where some sequences have no path", T, float,
                   double, half, bfloat16) {
    std::mt19937_64 random(drawn_seed());
    for (const std::int64_t time : {2, 11, 90}) {
        const std::int64_t classes = 2 + static_cast<std::int64_t>(random() % 40);
        INFO(time, " steps, ", classes, " classes");
        const sequences s = random_sequences<T, std::int32_t>(random, time, classes);
        const auto host = std::move(test::steps_on("/cpu:0", 1, 0, s.all(), losses)[0]);
        const auto gpu = run_on_gpu(s.all(), losses);
        for (std::size_t o = 0; o < 2; ++o) {
            std::vector<double> wanted;
            for (std::int64_t i = 0; i < host[o].elements(); ++i) wanted.push_back(test::number_at(host[o], i));
            CHECK(test::difference(gpu[o], wanted, [&](std::int64_t i) {
                      return test::spacing(host[o].element()) * std::fabs(wanted[static_cast<std::size_t>(i)]) +
                             1e-11; // of double's logarithms as large as 300
                  }) == "");
        }
    }
}

TEST_CASE("a sequence that cannot be read is named on a GPU as on the host") {
    std::mt19937_64 random(drawn_seed());
    const auto said_of = [&](const sequences& s, const char* device) {
        const std::string said =
            message_of<invalid_argument_error>([&] { (void)test::steps_on(device, 1, 0, s.all(), losses); });
        return said.substr(0, said.find(" [node "));
    };
    const auto check = [&](const sequences& s, const std::string& words) {
        const std::string host = said_of(s, "/cpu:0");
        CHECK_MESSAGE(host.find(words) != std::string::npos, host);
        CHECK(said_of(s, "/gpu:0") == host);
    };
    sequences s = random_sequences<float, std::int64_t>(random, 6, 4);
    s.times.data<std::int32_t>()[2] = 7;
    s.times.data<std::int32_t>()[3] = -1;
    check(s, "of sequence 2, 7 steps are asked for; the logits have 6");
    s.lengths.data<std::int64_t>()[1] = 4;
    check(s, "of sequence 1, 4 labels are asked for; there are 3");
    s.lengths.data<std::int64_t>()[0] = 2;
    s.labels.data<std::int64_t>()[1] = 0;
    check(s, "of sequence 0, label 1 is 0, the blank");
    s.labels.data<std::int64_t>()[1] = 4;
    check(s, "of sequence 0, label 1 is 4, which is not one of the classes");
}
