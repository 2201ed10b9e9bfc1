#include <cuda/dnn/graph.hpp>

#include <cuda/device/context.hpp>

namespace tenon::cuda::dnn {

tensor image(std::int64_t batch, std::int64_t height, std::int64_t width, std::int64_t channels, element_type e) {
    return {.sizes = {batch, channels, height, width},
            .strides = {height * width * channels, 1, width * channels, channels},
            .element = e};
}

tensor filters(std::int64_t outputs, std::int64_t height, std::int64_t width, std::int64_t channels, element_type e) {
    return image(outputs, height, width, channels, e);
}

tensor between(const tensor& of) {
    tensor t = of;
    t.element = compute_type(of.element);
    t.between = true;
    return t;
}

std::string text_of(const graph& g) {
    const auto list = [](const auto& values) {
        std::string text = "[";
        for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
        return text + "]";
    };
    std::string text = g.name;
    for (const tensor& t : g.tensors)
        text += std::string(" ") + name_of(t.element) + list(t.sizes) + " strides " + list(t.strides) +
                (t.between ? " between" : "") + (t.is_number ? " " + std::to_string(t.number) : "") + ";";
    for (const operation& o : g.operations) {
        const window& w = o.window;
        text += " operation " + std::to_string(static_cast<int>(o.kind)) + " of " + list(o.operands) + " stride " +
                list(w.stride) + " dilation " + list(w.dilation) + " padding " + list(w.before) + " and " +
                list(w.after) + " axis " + std::to_string(o.axis) + ";";
    }
    return text + " in " + name_of(g.compute) + (g.tf32 ? " tf32" : "") + " workspace " +
           std::to_string(g.most_workspace_bytes);
}

} // namespace tenon::cuda::dnn
