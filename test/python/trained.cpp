// Trains a small network and leaves in the current folder what a program leaves: its graph (model.json), weights (weights.safetensors),
// checkpoints (run/model), the network as ONNX (model.onnx); and graphs of all element types (types.json) and of what waits (waits.json).
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <tenon/onnx/onnx.hpp>
#include <tenon/onnx/onnx_write.hpp>
#include <tenon/ops/text/strings.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct rows : tn::dim<"rows"> {} rows;

namespace {

void write(const char* path, const tn::graph& g) { std::ofstream(path) << tn::to_json(g); }

void train() {
    const tn::graph g;
    const tn::graph_scope in(g);
    auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    auto y = tn::placeholder<float, tn::shape<batch, 1>>("y");
    auto w1 = tn::variable<float, tn::shape<3, 4>>("w1", tn::glorot_uniform());
    auto b1 = tn::variable<float, tn::shape<4>>("b1", tn::zeros());
    auto w2 = tn::variable<float, tn::shape<4, 1>>("w2", tn::glorot_uniform());
    auto hidden = tanh(matmul(x, w1) + b1);
    auto guess = matmul(hidden, w2);
    auto loss = nn::mean_squared_error(guess, y);
    auto step = tn::gradient_descent(0.1f).minimize(loss);
    tn::session sess;
    sess.run(tn::initialize_variables());
    tn::saver saver("run/model");
    tn::array<float, tn::shape<batch, 3>> xs(16);
    tn::array<float, tn::shape<batch, 1>> ys(16);
    for (int i = 0; i < 16; ++i) {
        for (int k = 0; k < 3; ++k) xs(i, k) = static_cast<float>((i * (k + 2)) % 7 - 3) / 4;
        ys(i, 0) = xs(i, 0) - xs(i, 1) * xs(i, 2);
    }
    const auto run = [&](int steps) {
        for (int i = 0; i < steps; ++i) sess.run(tn::feed(x, xs), tn::feed(y, ys), step);
    };
    run(10);
    saver.save(sess);
    run(30);
    saver.save(sess);
    write("model.json", g);
    tn::save_variables(sess, "weights.safetensors", {.metadata = {{"made by", "trained"}}});
    tn::write_onnx(sess, "model.onnx", {{"features", x}}, {{"guess", guess}});
    std::printf("loss %s guess %s step %s value %.9g\n", loss.name().c_str(), guess.name().c_str(), step.name().c_str(),
                static_cast<double>(sess.run(tn::feed(x, xs), tn::feed(y, ys), loss).item()));
}

// x_TYPE: [rows, 2], and its transpose; of texts in capitals.
void all_types() {
    const tn::graph g;
    const tn::graph_scope in(g);
    for (int e = 1; e <= static_cast<int>(tn::element_type::string); ++e) {
        const auto type = static_cast<tn::element_type>(e);
        const tn::any_tensor x =
            tn::untyped::placeholder(type, {tn::extent::named("rows"), 2}, std::string("x_") + tn::name_of(type));
        const tn::any_tensor y =
            type == tn::element_type::string ? tn::untyped::string_upper(x) : tn::untyped::transpose(x, {1, 0});
        std::printf("%s %s\n", tn::name_of(type), y.name().c_str());
    }
    write("types.json", g);
}

// A queue, to which `put` adds what is fed to x.
void waits() {
    const tn::graph g;
    const tn::graph_scope in(g);
    const tn::fifo_queue<float> q(1, {.name = "q"});
    auto x = tn::placeholder<float, tn::shape<>>("x");
    auto put = q.enqueue(x);
    auto got = q.dequeue();
    std::printf("put %s got %s\n", put.name().c_str(), got.name().c_str());
    write("waits.json", g);
}

} // namespace

int main() {
    std::filesystem::create_directory("run");
    train();
    all_types();
    waits();
}
