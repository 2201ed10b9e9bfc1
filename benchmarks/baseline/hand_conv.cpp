#include "baseline/hand_conv.hpp"

#include <stdexcept>
#include <vector>

#include "baseline/loops.hpp"
#include "baseline/onednn_support.hpp"
#include "baseline/team.hpp"

namespace baseline {

#if BASELINE_ONEDNN

namespace {

using dnnl::memory;
constexpr auto f32 = memory::data_type::f32;

struct geometry {
    std::int64_t size, in, out; // of a convolution 5x5 with padding 2, followed by pooling in windows of 2x2
};
constexpr geometry shape_of[2] = {{28, 1, 32}, {14, 32, 64}};

/// One thread's convolution, relu and pooling, forward and backward.
struct block {
    memory x, w, bias, y, pooled, workspace, dpooled, dy, dx, backward_w, dw, dbias;
    std::vector<bound_primitive> forward; // in the order in which they are run
    std::vector<bound_primitive> backward;
    std::vector<float> dw_plain; // [5, 5, in, out], like the weights
    std::vector<float> dbias_plain;
};

} // namespace

struct hand_conv::state {
    static constexpr std::int64_t flat = 7 * 7 * 64;
    static constexpr std::int64_t hidden = 256;

    struct worker {
        std::int64_t begin = 0;
        std::int64_t rows = 0;
        dnnl::stream stream;
        block blocks[2];
        std::vector<bound_primitive> between;  // pooled pixels to rows of `features`
        std::vector<bound_primitive> back;     // gradients of features to the last pooling's order
        std::vector<bound_primitive> dense;    // forward
        std::vector<bound_primitive> gradient; // of the dense layers' inputs
        std::vector<bound_primitive> update;
        std::vector<float> bias_sums[2];
        double loss = 0.0;
    };

    state(std::int64_t b, int threads, float r, bool last) :
        batch(b),
        rate(r),
        channels_last(last),
        engine(dnnl::engine::kind::cpu, 0),
        workers(static_cast<std::size_t>(threads)),
        all(threads) {
        const std::int64_t counts[layers] = {25 * 32, 25 * 32 * 64, flat * hidden, hidden * 10};
        const std::int64_t outs[layers] = {32, 64, hidden, 10};
        for (int l = 0; l < layers; ++l) {
            weights[l].resize(static_cast<std::size_t>(counts[l]));
            bias[l].resize(static_cast<std::size_t>(outs[l]));
        }
        features.resize(static_cast<std::size_t>(batch * flat));
        dfeatures.resize(features.size());
        h.resize(static_cast<std::size_t>(batch * hidden));
        dh.resize(h.size());
        z.resize(static_cast<std::size_t>(batch * 10));
        dz.resize(z.size());
        all.run([&](int t) { prepare(t); });
    }

    bound_primitive copy(const memory& from, const memory& to) const {
        return {dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
    }
    memory view(const memory::desc& like, float* data) const { return {like, engine, data}; }

    void prepare_block(worker& w, int l) {
        const geometry g = shape_of[l];
        block& b = w.blocks[l];
        const memory::dims x{w.rows, g.in, g.size, g.size};
        const memory::dims y{w.rows, g.out, g.size, g.size};
        const memory::dims pooled{w.rows, g.out, g.size / 2, g.size / 2};
        const memory::dims one{1, 1}, two{2, 2}, none{0, 0};
        const auto free = channels_last ? memory::format_tag::nhwc : memory::format_tag::any;
        const memory::desc wanted_x(x, f32, l == 0 ? memory::format_tag::nhwc : free);
        const memory::desc wanted_w({g.out, g.in, 5, 5}, f32, memory::format_tag::any);
        const memory::desc plain_w({g.out, g.in, 5, 5}, f32, memory::format_tag::hwio);
        const memory::desc of_bias({g.out}, f32, memory::format_tag::a);
        // For one input channel some formats have only a reference implementation: channels last never does.
        const memory::desc wanted_y(y, f32, l == 0 ? memory::format_tag::nhwc : free);

        dnnl::post_ops relu;
        relu.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
        dnnl::primitive_attr attributes;
        attributes.set_post_ops(relu);
        const dnnl::convolution_forward::primitive_desc forward({dnnl::prop_kind::forward_training,
                                                                 dnnl::algorithm::convolution_direct, wanted_x,
                                                                 wanted_w, of_bias, wanted_y, one, two, two},
                                                                attributes, engine);
        const dnnl::pooling_forward::primitive_desc pool(
            {dnnl::prop_kind::forward_training, dnnl::algorithm::pooling_max, forward.dst_desc(),
             memory::desc(pooled, f32, memory::format_tag::any), two, two, none, none},
            engine);
        const dnnl::pooling_backward::primitive_desc unpool(
            {dnnl::algorithm::pooling_max, forward.dst_desc(), pool.dst_desc(), two, two, none, none}, engine, pool);
        const dnnl::convolution_backward_weights::primitive_desc weights_gradient(
            {dnnl::algorithm::convolution_direct, wanted_x, wanted_w, of_bias, wanted_y, one, two, two}, engine,
            forward);

        b.x = l == 0 ? memory(forward.src_desc(), engine, nullptr) : w.blocks[0].pooled;
        if (b.x.get_desc() != forward.src_desc()) {
            const memory other(forward.src_desc(), engine);
            b.forward.push_back(copy(b.x, other));
            b.x = other;
        }
        b.w = memory(forward.weights_desc(), engine);
        b.bias = view(of_bias, bias[l].data());
        b.y = memory(forward.dst_desc(), engine);
        b.pooled = memory(pool.dst_desc(), engine);
        b.workspace = memory(pool.workspace_desc(), engine);
        b.forward.push_back(copy(view(plain_w, weights[l].data()), b.w));
        b.forward.push_back(
            {dnnl::convolution_forward(forward),
             {{DNNL_ARG_SRC, b.x}, {DNNL_ARG_WEIGHTS, b.w}, {DNNL_ARG_BIAS, b.bias}, {DNNL_ARG_DST, b.y}}});
        b.forward.push_back({dnnl::pooling_forward(pool),
                             {{DNNL_ARG_SRC, b.y}, {DNNL_ARG_DST, b.pooled}, {DNNL_ARG_WORKSPACE, b.workspace}}});

        b.dpooled = memory(pool.dst_desc(), engine);
        b.dy = memory(forward.dst_desc(), engine);
        b.backward.push_back(
            {dnnl::pooling_backward(unpool),
             {{DNNL_ARG_DIFF_DST, b.dpooled}, {DNNL_ARG_DIFF_SRC, b.dy}, {DNNL_ARG_WORKSPACE, b.workspace}}});

        memory x_again = b.x;
        if (weights_gradient.src_desc() != b.x.get_desc()) {
            x_again = memory(weights_gradient.src_desc(), engine);
            b.backward.push_back(copy(b.x, x_again));
        }
        memory dy_again = b.dy;
        if (weights_gradient.diff_dst_desc() != b.dy.get_desc()) {
            dy_again = memory(weights_gradient.diff_dst_desc(), engine);
            b.backward.push_back(copy(b.dy, dy_again));
        }
        b.dw_plain.resize(weights[l].size());
        b.dbias_plain.resize(bias[l].size());
        b.dw = memory(weights_gradient.diff_weights_desc(), engine);
        b.dbias = view(of_bias, b.dbias_plain.data());
        b.backward.push_back({dnnl::convolution_backward_weights(weights_gradient),
                              {{DNNL_ARG_SRC, x_again},
                               {DNNL_ARG_DIFF_DST, dy_again},
                               {DNNL_ARG_DIFF_WEIGHTS, b.dw},
                               {DNNL_ARG_DIFF_BIAS, b.dbias}}});
        b.backward.push_back(copy(b.dw, view(plain_w, b.dw_plain.data())));
        if (l == 0) return;

        const dnnl::convolution_backward_data::primitive_desc data_gradient(
            {dnnl::algorithm::convolution_direct, wanted_x, wanted_w, wanted_y, one, two, two}, engine, forward);
        b.backward_w = b.w;
        if (data_gradient.weights_desc() != b.w.get_desc()) {
            b.backward_w = memory(data_gradient.weights_desc(), engine);
            b.backward.push_back(copy(view(plain_w, weights[l].data()), b.backward_w));
        }
        memory dy_third = b.dy;
        if (data_gradient.diff_dst_desc() != b.dy.get_desc()) {
            dy_third = memory(data_gradient.diff_dst_desc(), engine);
            b.backward.push_back(copy(b.dy, dy_third));
        }
        b.dx = memory(data_gradient.diff_src_desc(), engine);
        const memory& below = w.blocks[0].dpooled;
        if (b.dx.get_desc() == below.get_desc()) b.dx = below;
        b.backward.push_back(
            {dnnl::convolution_backward_data(data_gradient),
             {{DNNL_ARG_DIFF_DST, dy_third}, {DNNL_ARG_WEIGHTS, b.backward_w}, {DNNL_ARG_DIFF_SRC, b.dx}}});
        if (b.dx.get_desc() != below.get_desc()) b.backward.push_back(copy(b.dx, below));
    }

    void prepare(int t) {
        use_one_openmp_thread();
        worker& w = workers[static_cast<std::size_t>(t)];
        w.begin = batch * t / all.size();
        w.rows = batch * (t + 1) / all.size() - w.begin;
        w.stream = dnnl::stream(engine);
        prepare_block(w, 0);
        prepare_block(w, 1);

        // The last pooling's pixels as rows: height, width, channel.
        const memory::desc rows_of({w.rows, 64, 7, 7}, f32, memory::format_tag::nhwc);
        w.between.push_back(copy(w.blocks[1].pooled, view(rows_of, features.data() + w.begin * flat)));
        w.back.push_back(copy(view(rows_of, dfeatures.data() + w.begin * flat), w.blocks[1].dpooled));

        const auto mine = [&](std::vector<float>& of, std::int64_t columns) {
            return dense_matrix(of.data() + w.begin * columns, w.rows, columns);
        };
        const auto w1 = dense_matrix(weights[2].data(), flat, hidden);
        const auto w2 = dense_matrix(weights[3].data(), hidden, 10);
        w.dense.push_back(
            make_product(engine, mine(features, flat), w1, mine(h, hidden), bias[2].data(), after_product::bias_relu));
        w.dense.push_back(make_product(engine, mine(h, hidden), w2, mine(z, 10), bias[3].data(), after_product::bias));
        w.gradient.push_back(
            make_product(engine, mine(dz, 10), w2.transposed(), mine(dh, hidden), nullptr, after_product::nothing));
        w.gradient.push_back(make_product(engine, mine(dh, hidden), w1.transposed(), mine(dfeatures, flat), nullptr,
                                          after_product::nothing));
        const auto add_update = [&](std::vector<float>& in, std::vector<float>& grad, std::vector<float>& weight,
                                    std::int64_t columns, std::int64_t n) {
            const std::int64_t first = columns * t / all.size();
            const std::int64_t last = columns * (t + 1) / all.size();
            w.update.push_back(make_scaled_update(engine, {in.data() + first, last - first, batch, 1, columns},
                                                  dense_matrix(grad.data(), batch, n),
                                                  dense_matrix(weight.data() + first * n, last - first, n), -rate));
        };
        add_update(features, dh, weights[2], flat, hidden);
        add_update(h, dz, weights[3], hidden, 10);
        w.bias_sums[0].resize(hidden);
        w.bias_sums[1].resize(10);
    }

    static void run_all(const std::vector<bound_primitive>& list, const dnnl::stream& stream) {
        for (const auto& each : list) each.run(stream);
    }
    static float* data(const memory& of) { return static_cast<float*>(of.get_data_handle()); }

    double step(const float* images, const std::int32_t* labels) {
        all.run([&](int t) {
            worker& w = workers[static_cast<std::size_t>(t)];
            w.blocks[0].x.set_data_handle(const_cast<float*>(images) + w.begin * 28 * 28);
            run_all(w.blocks[0].forward, w.stream);
            run_all(w.blocks[1].forward, w.stream);
            run_all(w.between, w.stream);
            run_all(w.dense, w.stream);
            w.loss = softmax_cross_entropy(z.data() + w.begin * 10, labels + w.begin, dz.data() + w.begin * 10, w.rows,
                                           batch);
            w.gradient[0].run(w.stream);
            relu_backward(h.data() + w.begin * hidden, dh.data() + w.begin * hidden, w.rows * hidden);
            w.gradient[1].run(w.stream);
            // A pooled pixel is positive where its largest one is: relu's gradient is taken before unpooling.
            relu_backward(features.data() + w.begin * flat, dfeatures.data() + w.begin * flat, w.rows * flat);
            run_all(w.back, w.stream);
            run_all(w.blocks[1].backward, w.stream);
            relu_backward(data(w.blocks[0].pooled), data(w.blocks[0].dpooled), w.rows * 14 * 14 * 32);
            run_all(w.blocks[0].backward, w.stream);
            sum_rows(dh.data() + w.begin * hidden, w.rows, hidden, w.bias_sums[0].data());
            sum_rows(dz.data() + w.begin * 10, w.rows, 10, w.bias_sums[1].data());
            all.barrier();
            run_all(w.update, w.stream);
            if (t != 0) return;
            for (const worker& each : workers) {
                for (int l = 0; l < 2; ++l) {
                    const block& b = each.blocks[l];
                    descend(weights[l].data(), b.dw_plain.data(), rate, static_cast<std::int64_t>(b.dw_plain.size()));
                    descend(bias[l].data(), b.dbias_plain.data(), rate,
                            static_cast<std::int64_t>(b.dbias_plain.size()));
                    descend(bias[2 + l].data(), each.bias_sums[l].data(), rate,
                            static_cast<std::int64_t>(each.bias_sums[l].size()));
                }
            }
        });
        double sum = 0.0;
        for (const worker& w : workers) sum += w.loss;
        return sum / static_cast<double>(batch);
    }

    std::int64_t batch;
    float rate;
    bool channels_last;
    dnnl::engine engine;
    std::vector<worker> workers;
    std::vector<float> weights[layers];
    std::vector<float> bias[layers];
    std::vector<float> features, dfeatures, h, dh, z, dz;
    team all;
};

hand_conv::hand_conv(std::int64_t batch, int threads, float rate, bool channels_last) :
    state_(std::make_unique<state>(batch, threads, rate, channels_last)) {}
hand_conv::~hand_conv() = default;
float* hand_conv::weights(int layer) { return state_->weights[layer].data(); }
float* hand_conv::bias(int layer) { return state_->bias[layer].data(); }
std::int64_t hand_conv::weight_count(int layer) const {
    return static_cast<std::int64_t>(state_->weights[layer].size());
}
std::int64_t hand_conv::bias_count(int layer) const { return static_cast<std::int64_t>(state_->bias[layer].size()); }
double hand_conv::step(const float* images, const std::int32_t* labels) { return state_->step(images, labels); }

#else

struct hand_conv::state {};
hand_conv::hand_conv(std::int64_t, int, float, bool) {
    throw std::runtime_error("hand_conv: built without oneDNN 2; ask has_onednn() first");
}
hand_conv::~hand_conv() = default;
float* hand_conv::weights(int) { return nullptr; }
float* hand_conv::bias(int) { return nullptr; }
std::int64_t hand_conv::weight_count(int) const { return 0; }
std::int64_t hand_conv::bias_count(int) const { return 0; }
double hand_conv::step(const float*, const std::int32_t*) { return 0.0; }

#endif

} // namespace baseline
