// Tenon's side of the rows that benchmarks/peers/torch_gpu_rows.py measures on PyTorch too, on one GPU.
//     peer_rows --row conv_64     prints {"row": "conv_64", "threads": 1, "value": 12345.6, "unit": "steps/s"}

#include "cuda/gpu.hpp"
#include "models.hpp"
#include "peer_row.hpp"

namespace tn = tenon;

namespace {

using namespace peer_row;

// On all cores, whatever --threads says, as PyTorch is.
template <class Model> measured training(int) {
    Model m(0);
    const auto step = m.step();
    const typename Model::batch data;
    return {1 / seconds([&] { step(data.images, data.labels); }), "steps/s"};
}

// relu(a x + b) * sigmoid(c - x) of numbers on the GPU, kept there.
measured fused(int) {
    constexpr std::int64_t elements = 100'000'000;
    const tn::graph g;
    const tn::graph_scope scope(g);
    const auto on_gpu = tn::on("/gpu:0");
    const auto x = tn::variable<float, tn::shape<elements>>("x", tn::uniform(-1, 1, 1));
    const auto y = tn::variable<float, tn::shape<elements>>("y", tn::zeros());
    const auto a = tn::variable("a", 1.5F), b = tn::variable("b", 0.5F), c = tn::variable("c", 0.25F);
    const auto kept = y.assign(relu(a * x + b) * sigmoid(c - x));
    tn::session s(g);
    s.run(tn::initialize_variables());
    const auto step = s.callable_untyped({}, {}, {tn::group(kept)});
    return {seconds([&] { step({}); }) * 1e3, "ms"};
}

} // namespace

int main(int argc, char** argv) {
    if (!gpu::is_there()) return 77;
    return peer_row::run(argv[0], argc, argv,
                         {{"mlp_128", training<models::mlp<128>>},
                          {"mlp_4096", training<models::mlp<4096>>},
                          {"conv_64", training<models::conv<64>>},
                          {"conv_1024", training<models::conv<1024>>},
                          {"fused", fused}});
}
