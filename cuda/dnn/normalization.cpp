#include <cuda/device/wish.hpp>
#include <cuda/dnn/normalization.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <cuda/dnn/graph.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/op/attributes.hpp>

namespace tenon::cuda::dnn {

namespace {

// A graph's operands: inputs of the node, outputs of it, and the number epsilon.
struct place {
    enum class where { input, output, epsilon } of;
    int number = 0;
};

class norm_kernel final : public kernel {
public:
    norm_kernel(graph of, std::vector<place> places, std::shared_ptr<const plan> by, double epsilon,
                kernel_pointer own) :
        graph_(std::move(of)),
        places_(std::move(places)),
        plan_(std::move(by)),
        own_(std::move(own)),
        epsilon_(epsilon),
        float_epsilon_(static_cast<float>(epsilon)) {
        for (std::size_t i = 0; i < places_.size(); ++i) {
            offsets_.push_back(unread_);
            if (places_[i].of == place::where::output) unread_ += (bytes_of(graph_.tensors[i]) + 255) / 256 * 256;
        }
    }
    std::size_t scratch_bytes() const override {
        return std::max(unread_ + plan_->workspace_bytes(), own_->scratch_bytes());
    }
    double cost() const override { return own_->cost(); }

    void run(const kernel_run& r) override {
        std::vector<void*> data;
        for (std::size_t i = 0; i < places_.size(); ++i) data.push_back(find(r, i));
        for (std::size_t i = 0; i < places_.size(); ++i)
            if (places_[i].of != place::where::epsilon && reinterpret_cast<std::uintptr_t>(data[i]) % alignment != 0)
                return own_->run(r);
        plan_->run(r.stream, data, plan_->workspace_bytes() ? r.scratch + unread_ : nullptr);
    }

private:
    static std::size_t bytes_of(const tensor& t) {
        std::int64_t n = 1;
        for (const std::int64_t s : t.sizes) n *= s;
        return static_cast<std::size_t>(n) * size_of(t.element);
    }
    // Outputs that nobody reads are written to scratch memory.
    void* find(const kernel_run& r, std::size_t i) const {
        const place& p = places_[i];
        switch (p.of) {
        case place::where::input: return const_cast<void*>(r.in[p.number]);
        case place::where::output: return r.out[p.number] ? r.out[p.number] : r.scratch + offsets_[i];
        default: break;
        }
        const void* number = &epsilon_;
        if (graph_.tensors[i].element == element_type::float32) number = &float_epsilon_;
        return const_cast<void*>(number);
    }

    const graph graph_;
    const std::vector<place> places_;
    const std::shared_ptr<const plan> plan_;
    const kernel_pointer own_;
    const double epsilon_;
    const float float_epsilon_;
    std::vector<std::size_t> offsets_;
    std::size_t unread_ = 0;
};

// A graph of one operation on x [rows, n], with operands in cuDNN's order.
class norm_graph {
public:
    norm_graph(const kernel_setup& s, std::int64_t n, std::int64_t rows) :
        element_(s.inputs[0].element), wide_(compute_type(element_)), n_(n), rows_(rows) {
        graph_.compute = wide_;
    }
    void x(place p) { add(p, rows_, n_, element_); }
    void scale(place p) { add(p, 1, n_, element_); }
    void statistic(place p) { add(p, rows_, 1, wide_); }
    void epsilon() {
        add({place::where::epsilon}, 1, 1, wide_);
        graph_.tensors.back().by_value = true;
    }
    kernel_pointer prepare(const kernel_setup& s, const char* name, operation_kind which, kernel_pointer own) {
        graph_.name = name;
        operation o{which, {}};
        for (std::size_t i = 0; i < places_.size(); ++i) o.operands.push_back(static_cast<int>(i));
        graph_.operations.push_back(o);
        const std::shared_ptr<const plan> found = find_plan(*s.gpu, graph_);
        if (!found) return own;
        return std::make_unique<norm_kernel>(std::move(graph_), std::move(places_), found,
                                             s.attrs.get<double>("epsilon"), std::move(own));
    }

private:
    void add(place p, std::int64_t rows, std::int64_t n, element_type e) {
        places_.push_back(p);
        graph_.add(image(rows, 1, 1, n, e));
    }
    graph graph_;
    std::vector<place> places_;
    element_type element_, wide_;
    std::int64_t n_, rows_;
};

// Sizes that cuDNN is asked about: some elements, and fewer than 2^31.
bool is_asked(const kernel_setup& s, std::int64_t n, std::int64_t rows) {
    return s.gpu && is_wished("TENON_CUDA_NORMALIZATION", "cudnn") && n > 0 && rows > 0 &&
           n * rows < std::int64_t{1} << 31;
}

constexpr place in(int i) { return {place::where::input, i}; }
constexpr place out(int o) { return {place::where::output, o}; }

} // namespace

kernel_pointer prepare_layer_norm(const kernel_setup& s, kernel_pointer own) {
    const std::int64_t n = s.inputs[1].extents[0].size, rows = s.outputs[1].extents.elements();
    if (!is_asked(s, n, rows)) return own;
    norm_graph g(s, n, rows);
    g.x(in(0));
    g.scale(in(1));
    g.scale(in(2));
    g.epsilon();
    g.x(out(0));
    g.statistic(out(1));
    g.statistic(out(2));
    return g.prepare(s, "layer_norm", operation_kind::layer_norm, std::move(own));
}

kernel_pointer prepare_layer_norm_gradient(const kernel_setup& s, kernel_pointer own) {
    const std::int64_t n = s.inputs[1].extents[0].size, rows = s.inputs[3].extents.elements();
    if (!is_asked(s, n, rows)) return own;
    norm_graph g(s, n, rows);
    g.x(in(0));
    g.statistic(in(3));
    g.statistic(in(4));
    g.x(in(2));
    g.scale(in(1));
    g.x(out(0));
    g.scale(out(1));
    g.scale(out(2));
    return g.prepare(s, "layer_norm_gradient", operation_kind::layer_norm_backward, std::move(own));
}

} // namespace tenon::cuda::dnn
