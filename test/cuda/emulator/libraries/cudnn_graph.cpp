#if defined(TENON_WITH_CUDNN)

#include "cudnn_graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/core/half.hpp>

namespace tenon::emulator::cudnn {

namespace {

// The next place in an array of these sizes; false after the last.
bool advance(std::vector<std::int64_t>& at, const std::vector<std::int64_t>& sizes) {
    for (std::size_t i = sizes.size(); i-- > 0;) {
        if (++at[i] < sizes[i]) return true;
        at[i] = 0;
    }
    return false;
}
std::size_t dense(const std::vector<std::int64_t>& at, const std::vector<std::int64_t>& sizes) {
    std::int64_t n = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) n = n * sizes[i] + (sizes[i] == 1 ? 0 : at[i]);
    return static_cast<std::size_t>(n);
}

const char* const shapes = "shapes of an operation do not agree";

struct windows {
    std::vector<std::int64_t> size, stride, dilation, before, after;
    std::int64_t count(std::size_t axis, std::int64_t n) const {
        return (n + before[axis] + after[axis] - dilation[axis] * (size[axis] - 1) - 1) / stride[axis] + 1;
    }
};

windows windows_of_convolution(const descriptor& d, const tensor& w) {
    windows v{{w.sizes[2], w.sizes[3]},
              d.list<std::int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
              d.list<std::int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS),
              d.list<std::int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
              d.list<std::int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)};
    return v;
}
std::vector<std::int64_t> whole(const descriptor& d, cudnnBackendAttributeName_t n) {
    std::vector<std::int64_t> all;
    for (const cudnnFraction_t f : d.list<cudnnFraction_t>(n)) {
        require(f.denominator == 1, "a window of a fraction of a pixel", CUDNN_STATUS_NOT_SUPPORTED);
        all.push_back(f.numerator);
    }
    require(all.size() == 2, "windows have two dimensions");
    return all;
}
windows windows_of_resampling(const descriptor& d) {
    return {whole(d, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS),
            whole(d, CUDNN_ATTR_RESAMPLE_STRIDES),
            {1, 1},
            whole(d, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS),
            whole(d, CUDNN_ATTR_RESAMPLE_POST_PADDINGS)};
}

void check_convolution(const descriptor& d, const tensor& x, const tensor& w, const tensor& y) {
    require(x.sizes.size() == 4 && w.sizes.size() == 4 && y.sizes.size() == 4, shapes);
    const windows v = windows_of_convolution(d, w);
    require(x.sizes[1] % w.sizes[1] == 0, "the image's channels are no multiple of the filter's");
    const std::int64_t groups = x.sizes[1] / w.sizes[1];
    require(w.sizes[0] % groups == 0 && y.sizes[1] == w.sizes[0] && y.sizes[0] == x.sizes[0], shapes);
    for (std::size_t a = 0; a < 2; ++a) require(y.sizes[2 + a] == v.count(a, x.sizes[2 + a]), shapes);
    require(x.type == w.type, "types of a convolution differ");
    require(w.strides[1] == 1 && x.strides[1] == 1 && y.strides[1] == 1, "channels must lie side by side",
            CUDNN_STATUS_NOT_SUPPORTED_LAYOUT);
}

// f(place in x, in w, in y) of each product.
template <class F> void products(const descriptor& d, const tensor& x, const tensor& w, const tensor& y, F f) {
    const windows v = windows_of_convolution(d, w);
    const std::int64_t seen = w.sizes[1], per_group = w.sizes[0] / (x.sizes[1] / seen);
    std::vector<std::int64_t> at(4);
    do
        for (std::int64_t c = 0; c < seen; ++c)
            for (std::int64_t p = 0; p < v.size[0]; ++p)
                for (std::int64_t q = 0; q < v.size[1]; ++q) {
                    const std::int64_t i = at[2] * v.stride[0] + p * v.dilation[0] - v.before[0];
                    const std::int64_t j = at[3] * v.stride[1] + q * v.dilation[1] - v.before[1];
                    if (i < 0 || j < 0 || i >= x.sizes[2] || j >= x.sizes[3]) continue;
                    f(dense({at[0], at[1] / per_group * seen + c, i, j}, x.sizes), dense({at[1], c, p, q}, w.sizes),
                      dense(at, y.sizes));
                }
    while (advance(at, y.sizes));
}

void compute_pointwise(const operation& o, values& all) {
    const auto mode = o.what->value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    const tensor& y = o.outputs[0];
    std::vector<double>& to = all[y.uid];
    to.resize(static_cast<std::size_t>(y.elements()));
    std::vector<std::int64_t> at(y.sizes.size());
    do {
        const double a = all[o.inputs[0].uid][dense(at, o.inputs[0].sizes)];
        const double b = o.inputs.size() > 1 ? all[o.inputs[1].uid][dense(at, o.inputs[1].sizes)] : 0;
        double r = 0;
        switch (mode) {
        case CUDNN_POINTWISE_ADD: r = a + b; break;
        case CUDNN_POINTWISE_RELU_FWD: {
            const bool keeps = o.what->has(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) &&
                               o.what->value<int>(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) == 1;
            r = a > 0 ? a : std::isnan(a) && keeps ? a : 0;
            break;
        }
        default: throw complaint(CUDNN_STATUS_NOT_SUPPORTED, "pointwise mode " + std::to_string(mode));
        }
        to[dense(at, y.sizes)] = r;
    } while (advance(at, y.sizes));
}

// f(place in x, number of pixels of the window in the image, place in y).
template <class F> void pooled(const windows& v, const tensor& x, const tensor& y, F f) {
    std::vector<std::int64_t> at(4);
    do {
        std::vector<std::size_t> inside;
        for (std::int64_t p = 0; p < v.size[0]; ++p)
            for (std::int64_t q = 0; q < v.size[1]; ++q) {
                const std::int64_t i = at[2] * v.stride[0] + p - v.before[0], j = at[3] * v.stride[1] + q - v.before[1];
                if (i >= 0 && j >= 0 && i < x.sizes[2] && j < x.sizes[3])
                    inside.push_back(dense({at[0], at[1], i, j}, x.sizes));
            }
        for (const std::size_t k : inside) f(k, static_cast<double>(inside.size()), dense(at, y.sizes));
    } while (advance(at, y.sizes));
}

// Scales have the sizes of x with one row, statistics those with one column.
void check_norm(const tensor& x, const std::vector<tensor>& scales, const std::vector<tensor>& statistics,
                const std::vector<tensor>& alike) {
    for (const tensor& t : alike) require(t.sizes == x.sizes, shapes);
    for (const tensor& t : scales)
        for (std::size_t i = 0; i < x.sizes.size(); ++i) require(t.sizes[i] == (i == 0 ? 1 : x.sizes[i]), shapes);
    for (const tensor& t : statistics)
        for (std::size_t i = 0; i < x.sizes.size(); ++i) require(t.sizes[i] == (i == 0 ? x.sizes[0] : 1), shapes);
}

void normalize(const operation& o, values& all) {
    const std::vector<double>&x = all[o.inputs[0].uid], &scale = all[o.inputs[1].uid], &bias = all[o.inputs[2].uid];
    const double epsilon = all[o.inputs[3].uid][0];
    const auto rows = static_cast<std::size_t>(o.inputs[0].sizes[0]);
    const std::size_t n = x.size() / rows;
    std::vector<double> y(x.size()), mean(rows), inverse(rows);
    for (std::size_t r = 0; r < rows; ++r) {
        double variance = 0;
        for (std::size_t i = 0; i < n; ++i) mean[r] += x[r * n + i] / static_cast<double>(n);
        for (std::size_t i = 0; i < n; ++i) {
            const double d = x[r * n + i] - mean[r];
            variance += d * d / static_cast<double>(n);
        }
        inverse[r] = 1 / std::sqrt(variance + epsilon);
        for (std::size_t i = 0; i < n; ++i) y[r * n + i] = (x[r * n + i] - mean[r]) * inverse[r] * scale[i] + bias[i];
    }
    all[o.outputs[0].uid] = y;
    all[o.outputs[1].uid] = mean;
    all[o.outputs[2].uid] = inverse;
}

void normalize_backward(const operation& o, values& all) {
    const std::vector<double>&x = all[o.inputs[0].uid], &mean = all[o.inputs[1].uid], &inverse = all[o.inputs[2].uid];
    const std::vector<double>&dy = all[o.inputs[3].uid], &scale = all[o.inputs[4].uid];
    const std::size_t rows = mean.size(), n = x.size() / rows;
    std::vector<double> dx(x.size()), dscale(n), dbias(n);
    for (std::size_t r = 0; r < rows; ++r) {
        double sum = 0, along = 0;
        const auto z = [&](std::size_t i) { return (x[r * n + i] - mean[r]) * inverse[r]; };
        for (std::size_t i = 0; i < n; ++i) {
            const double h = dy[r * n + i] * scale[i];
            sum += h / static_cast<double>(n);
            along += h * z(i) / static_cast<double>(n);
            dscale[i] += dy[r * n + i] * z(i);
            dbias[i] += dy[r * n + i];
        }
        for (std::size_t i = 0; i < n; ++i)
            dx[r * n + i] = inverse[r] * (dy[r * n + i] * scale[i] - sum - z(i) * along);
    }
    all[o.outputs[0].uid] = dx;
    all[o.outputs[1].uid] = dscale;
    all[o.outputs[2].uid] = dbias;
}

} // namespace

std::int64_t tensor::elements() const {
    std::int64_t n = 1;
    for (const std::int64_t s : sizes) n *= s;
    return n;
}
std::int64_t tensor::offset(const std::vector<std::int64_t>& at) const {
    std::int64_t n = 0;
    for (std::size_t i = 0; i < at.size(); ++i) n += at[i] * strides[i];
    return n;
}

tensor tensor_of(const descriptor& d) {
    tensor t;
    t.uid = d.value<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    t.type = d.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    t.sizes = d.list<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
    t.strides = d.list<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
    t.alignment = d.value<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    t.is_virtual = d.has(CUDNN_ATTR_TENSOR_IS_VIRTUAL) && d.value<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    t.by_value = d.has(CUDNN_ATTR_TENSOR_IS_BY_VALUE) && d.value<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
    require(t.sizes.size() == t.strides.size() && !t.sizes.empty() && t.sizes.size() <= CUDNN_DIM_MAX,
            "a tensor has sizes and strides of as many dimensions");
    for (const std::int64_t n : t.sizes) require(n > 0, "a tensor's sizes are positive");
    for (const std::int64_t n : t.strides) require(n > 0, "a tensor's strides are positive");
    require(t.alignment > 0 && t.alignment % static_cast<std::int64_t>(size_of(t.type)) == 0,
            "a tensor's alignment is a multiple of its element's size");
    require(!(t.is_virtual && t.by_value), "a virtual tensor has no value");
    return t;
}

operation operation_of(const std::shared_ptr<descriptor>& d) {
    operation o;
    o.type = d->type;
    const auto get = [&](cudnnBackendAttributeName_t n) {
        return tensor_of(*d->refer(n, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
    };
    const auto scale = [&](cudnnBackendAttributeName_t alpha, cudnnBackendAttributeName_t beta) {
        const bool is_double = d->attributes.at(alpha).type == CUDNN_TYPE_DOUBLE;
        const double a = is_double ? d->value<double>(alpha) : static_cast<double>(d->value<float>(alpha));
        const double b = is_double ? d->value<double>(beta) : static_cast<double>(d->value<float>(beta));
        require(a == 1 && b == 0, "results that are scaled or added", CUDNN_STATUS_NOT_SUPPORTED);
    };
    switch (d->type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        o.what = d->refer(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
        o.inputs = {get(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X), get(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W)};
        o.outputs = {get(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y)};
        scale(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
        check_convolution(*o.what, o.inputs[0], o.inputs[1], o.outputs[0]);
        break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        o.what = d->refer(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
        o.inputs = {get(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY),
                    get(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W)};
        o.outputs = {get(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX)};
        scale(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
        check_convolution(*o.what, o.outputs[0], o.inputs[1], o.inputs[0]);
        break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        o.what = d->refer(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
        o.inputs = {get(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X),
                    get(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY)};
        o.outputs = {get(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW)};
        scale(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
        check_convolution(*o.what, o.inputs[0], o.outputs[0], o.inputs[1]);
        break;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: {
        o.what = d->refer(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
        o.inputs = {get(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)};
        if (d->has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) o.inputs.push_back(get(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
        o.outputs = {get(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)};
        for (const tensor& t : o.inputs) {
            require(t.sizes.size() == o.outputs[0].sizes.size(), shapes);
            for (std::size_t i = 0; i < t.sizes.size(); ++i)
                require(t.sizes[i] == 1 || t.sizes[i] == o.outputs[0].sizes[i], shapes);
        }
        break;
    }
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
        o.what = d->refer(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
        o.inputs = {get(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC)};
        o.outputs = {get(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC)};
        break;
    case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR:
        o.what = d->refer(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC, CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
        o.inputs = {get(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC)};
        o.outputs = {get(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC)};
        break;
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
        o.inputs = {get(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC), get(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC),
                    get(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC), get(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC)};
        o.outputs = {get(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC), get(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC),
                     get(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC)};
        require(d->value<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_FWD_MODE) == CUDNN_LAYER_NORM &&
                    o.inputs[3].by_value,
                "layer normalisation, with epsilon by value", CUDNN_STATUS_NOT_SUPPORTED);
        check_norm(o.inputs[0], {o.inputs[1], o.inputs[2]}, {o.outputs[1], o.outputs[2]}, {o.outputs[0]});
        break;
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
        o.inputs = {get(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC), get(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC),
                    get(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC), get(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC),
                    get(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC)};
        o.outputs = {get(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC), get(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC),
                     get(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC)};
        check_norm(o.inputs[0], {o.inputs[4], o.outputs[1], o.outputs[2]}, {o.inputs[1], o.inputs[2]},
                   {o.inputs[3], o.outputs[0]});
        break;
    default: throw complaint(CUDNN_STATUS_NOT_SUPPORTED, "operation of descriptor type " + std::to_string(d->type));
    }
    if (d->type == CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR ||
        d->type == CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR) {
        const bool forward = d->type == CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR;
        const tensor &x = forward ? o.inputs[0] : o.outputs[0], &y = forward ? o.outputs[0] : o.inputs[0];
        const windows v = windows_of_resampling(*o.what);
        require(x.sizes.size() == 4 && y.sizes.size() == 4 && x.sizes[0] == y.sizes[0] && x.sizes[1] == y.sizes[1],
                shapes);
        for (std::size_t a = 0; a < 2; ++a) require(y.sizes[2 + a] == v.count(a, x.sizes[2 + a]), shapes);
    }
    return o;
}

void compute(const operation& o, values& all) {
    const tensor& result = o.outputs[0];
    std::vector<double>& to = all[result.uid];
    to.assign(static_cast<std::size_t>(result.elements()), 0);
    switch (o.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR: {
        const std::vector<double>&x = all[o.inputs[0].uid], &w = all[o.inputs[1].uid];
        products(*o.what, o.inputs[0], o.inputs[1], result,
                 [&](std::size_t i, std::size_t k, std::size_t r) { to[r] += x[i] * w[k]; });
        return;
    }
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR: {
        const std::vector<double>&dy = all[o.inputs[0].uid], &w = all[o.inputs[1].uid];
        products(*o.what, result, o.inputs[1], o.inputs[0],
                 [&](std::size_t i, std::size_t k, std::size_t r) { to[i] += dy[r] * w[k]; });
        return;
    }
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR: {
        const std::vector<double>&x = all[o.inputs[0].uid], &dy = all[o.inputs[1].uid];
        products(*o.what, o.inputs[0], result, o.inputs[1],
                 [&](std::size_t i, std::size_t k, std::size_t r) { to[k] += x[i] * dy[r]; });
        return;
    }
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR: {
        const std::vector<double>& x = all[o.inputs[0].uid];
        const windows v = windows_of_resampling(*o.what);
        const auto mode = o.what->value<cudnnResampleMode_t>(CUDNN_ATTR_RESAMPLE_MODE);
        if (mode == CUDNN_RESAMPLE_MAXPOOL) {
            std::fill(to.begin(), to.end(), -std::numeric_limits<double>::infinity());
            pooled(v, o.inputs[0], result, [&](std::size_t i, double, std::size_t r) {
                if (x[i] > to[r] || std::isnan(x[i])) to[r] = x[i];
            });
        } else {
            require(mode == CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING, "this mode of resampling",
                    CUDNN_STATUS_NOT_SUPPORTED);
            pooled(v, o.inputs[0], result, [&](std::size_t i, double n, std::size_t r) { to[r] += x[i] / n; });
        }
        return;
    }
    case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR: {
        const std::vector<double>& dy = all[o.inputs[0].uid];
        require(o.what->value<cudnnResampleMode_t>(CUDNN_ATTR_RESAMPLE_MODE) == CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING,
                "this mode of resampling", CUDNN_STATUS_NOT_SUPPORTED);
        pooled(windows_of_resampling(*o.what), result, o.inputs[0],
               [&](std::size_t i, double n, std::size_t r) { to[i] += dy[r] / n; });
        return;
    }
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR: return normalize(o, all);
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR: return normalize_backward(o, all);
    default: return compute_pointwise(o, all);
    }
}

std::size_t size_of(cudnnDataType_t type) {
    switch (type) {
    case CUDNN_DATA_DOUBLE: return 8;
    case CUDNN_DATA_FLOAT: return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16: return 2;
    default: throw complaint(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "data type " + std::to_string(type));
    }
}

namespace {
template <class T> double load_as(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
}
template <class T> void store_as(std::byte* at, double value) {
    const auto rounded = static_cast<T>(value);
    std::memcpy(at, &rounded, sizeof rounded);
}
} // namespace

double load(const std::byte* at, cudnnDataType_t type) {
    switch (type) {
    case CUDNN_DATA_DOUBLE: return load_as<double>(at);
    case CUDNN_DATA_HALF: return load_as<half>(at);
    case CUDNN_DATA_BFLOAT16: return load_as<bfloat16>(at);
    default: return load_as<float>(at);
    }
}
void store(std::byte* at, cudnnDataType_t type, double value) {
    switch (type) {
    case CUDNN_DATA_DOUBLE: return store_as<double>(at, value);
    case CUDNN_DATA_HALF: return store_as<half>(at, value);
    case CUDNN_DATA_BFLOAT16: return store_as<bfloat16>(at, value);
    default: return store_as<float>(at, value);
    }
}

} // namespace tenon::emulator::cudnn

#endif
