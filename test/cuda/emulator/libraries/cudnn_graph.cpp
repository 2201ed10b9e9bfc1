#if defined(TENON_WITH_CUDNN)

#include "cudnn_graph.hpp"

#include <algorithm>
#include <cmath>

#include "emulator/control.hpp"
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
        const bool chosen = o.inputs.size() > 2 && all[o.inputs[2].uid][dense(at, o.inputs[2].sizes)] != 0;
        double r = 0;
        switch (mode) {
        case CUDNN_POINTWISE_ADD: r = a + b; break;
        case CUDNN_POINTWISE_SUB: r = a - b; break;
        case CUDNN_POINTWISE_MUL: r = a * b; break;
        case CUDNN_POINTWISE_DIV: r = a / b; break;
        case CUDNN_POINTWISE_EXP: r = std::exp(a); break;
        case CUDNN_POINTWISE_LOG: r = std::log(a); break;
        case CUDNN_POINTWISE_CMP_GE: r = a >= b ? 1 : 0; break;
        case CUDNN_POINTWISE_CMP_LT: // with a length, beyond which the real one may read what is nobody's
            if (b < 0 || b > static_cast<double>(std::max(y.sizes[2], y.sizes[3])))
                report("cuDNN is told a length of " + std::to_string(b) + ", and there are not so many rows");
            r = a < b ? 1 : 0;
            break;
        case CUDNN_POINTWISE_LOGICAL_AND: r = a != 0 && b != 0 ? 1 : 0; break;
        case CUDNN_POINTWISE_BINARY_SELECT: r = chosen ? a : b; break;
        case CUDNN_POINTWISE_GEN_INDEX:
            r = static_cast<double>(
                at[static_cast<std::size_t>(o.what->value<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS))]);
            break;
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

// Of each axis the operand has as many places as the result, or a part of them, which follow each other for it.
std::vector<std::int64_t> shared_place(std::vector<std::int64_t> at, const std::vector<std::int64_t>& of,
                                       const std::vector<std::int64_t>& in) {
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = at[i] / (of[i] / in[i]);
    return at;
}

void compute_product(const operation& o, values& all) {
    const tensor &a = o.inputs[0], &b = o.inputs[1], &c = o.outputs[0];
    std::vector<double>& to = all[c.uid];
    std::vector<std::int64_t> at(c.sizes.size());
    const std::size_t m = at.size() - 2, n = at.size() - 1;
    do {
        std::vector<std::int64_t> batch(c.sizes);
        batch[m] = batch[n] = 1;
        const auto place = [&](const tensor& t, std::int64_t i, std::int64_t j) {
            std::vector<std::int64_t> of(t.sizes), p(at);
            of[m] = of[n] = 1;
            p[m] = p[n] = 0;
            p = shared_place(p, batch, of);
            p[m] = i;
            p[n] = j;
            return dense(p, t.sizes);
        };
        double sum = 0;
        for (std::int64_t l = 0; l < a.sizes[n]; ++l)
            sum += all[a.uid][place(a, at[m], l)] * all[b.uid][place(b, l, at[n])];
        to[dense(at, c.sizes)] = sum;
    } while (advance(at, c.sizes));
}

void compute_reduction(const operation& o, values& all) {
    const auto by = o.what->value<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
    const tensor &x = o.inputs[0], &y = o.outputs[0];
    std::vector<double>& to = all[y.uid];
    if (by == CUDNN_REDUCE_TENSOR_MAX) to.assign(to.size(), -HUGE_VAL);
    std::vector<std::int64_t> at(x.sizes.size());
    do {
        double& r = to[dense(shared_place(at, x.sizes, y.sizes), y.sizes)];
        const double v = all[x.uid][dense(at, x.sizes)];
        r = by == CUDNN_REDUCE_TENSOR_MAX ? std::fmax(r, v) : r + v;
    } while (advance(at, x.sizes));
}

// The last two axes change places, as the strides say that they do.
void compute_transpose(const operation& o, values& all) {
    const tensor &x = o.inputs[0], &y = o.outputs[0];
    std::vector<std::int64_t> at(x.sizes.size());
    do {
        std::vector<std::int64_t> p(at);
        std::swap(p[p.size() - 1], p[p.size() - 2]);
        all[y.uid][dense(p, y.sizes)] = all[x.uid][dense(at, x.sizes)];
    } while (advance(at, x.sizes));
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
    t.is_by_value = d.has(CUDNN_ATTR_TENSOR_IS_BY_VALUE) && d.value<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
    require(t.sizes.size() == t.strides.size() && !t.sizes.empty() && t.sizes.size() <= CUDNN_DIM_MAX,
            "a tensor has sizes and strides of as many dimensions");
    for (const std::int64_t n : t.sizes) require(n > 0, "a tensor's sizes are positive");
    for (const std::int64_t n : t.strides) require(n > 0, "a tensor's strides are positive");
    require(t.alignment > 0 && t.alignment % static_cast<std::int64_t>(size_of(t.type)) == 0,
            "a tensor's alignment is a multiple of its element's size");
    return t;
}

operation operation_of(const std::shared_ptr<descriptor>& d) {
    operation o{.type = d->type};
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
        if (d->has(CUDNN_ATTR_OPERATION_POINTWISE_TDESC)) o.inputs.push_back(get(CUDNN_ATTR_OPERATION_POINTWISE_TDESC));
        o.outputs = {get(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)};
        for (const tensor& t : o.inputs) {
            require(t.sizes.size() == o.outputs[0].sizes.size(), shapes);
            for (std::size_t i = 0; i < t.sizes.size(); ++i)
                require(t.sizes[i] == 1 || t.sizes[i] == o.outputs[0].sizes[i], shapes);
        }
        break;
    }
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: {
        o.what = d->refer(CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
        o.inputs = {get(CUDNN_ATTR_OPERATION_MATMUL_ADESC), get(CUDNN_ATTR_OPERATION_MATMUL_BDESC)};
        o.outputs = {get(CUDNN_ATTR_OPERATION_MATMUL_CDESC)};
        const auto &a = o.inputs[0].sizes, &b = o.inputs[1].sizes, &c = o.outputs[0].sizes;
        require(a.size() >= 3 && b.size() == a.size() && c.size() == a.size(), shapes);
        const std::size_t m = a.size() - 2, n = a.size() - 1;
        require(a[n] == b[m] && c[m] == a[m] && c[n] == b[n], shapes);
        for (std::size_t i = 0; i < m; ++i) require(c[i] == a[i] && c[i] % b[i] == 0, shapes);
        break;
    }
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: {
        o.what = d->refer(CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
        const auto by = o.what->value<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
        require(by == CUDNN_REDUCE_TENSOR_MAX || by == CUDNN_REDUCE_TENSOR_ADD, "this reduction",
                CUDNN_STATUS_NOT_SUPPORTED);
        o.inputs = {get(CUDNN_ATTR_OPERATION_REDUCTION_XDESC)};
        o.outputs = {get(CUDNN_ATTR_OPERATION_REDUCTION_YDESC)};
        const auto &x = o.inputs[0].sizes, &y = o.outputs[0].sizes;
        require(x.size() == y.size(), shapes);
        for (std::size_t i = 0; i < x.size(); ++i) require(x[i] % y[i] == 0, shapes);
        break;
    }
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: {
        o.inputs = {get(CUDNN_ATTR_OPERATION_RESHAPE_XDESC)};
        o.outputs = {get(CUDNN_ATTR_OPERATION_RESHAPE_YDESC)};
        tensor x = o.inputs[0];
        const tensor& y = o.outputs[0];
        require(x.sizes.size() >= 2 && x.sizes.size() == y.sizes.size(), shapes);
        std::swap(x.sizes[x.sizes.size() - 1], x.sizes[x.sizes.size() - 2]);
        std::swap(x.strides[x.strides.size() - 1], x.strides[x.strides.size() - 2]);
        require(x.sizes == y.sizes && x.strides == y.strides, "a reshape that transposes no matrices",
                CUDNN_STATUS_NOT_SUPPORTED);
        break;
    }
    default: throw complaint(CUDNN_STATUS_NOT_SUPPORTED, "operation of descriptor type " + std::to_string(d->type));
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
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: return compute_product(o, all);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: return compute_reduction(o, all);
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: return compute_transpose(o, all);
    default: return compute_pointwise(o, all);
    }
}

std::size_t size_of(cudnnDataType_t type) {
    switch (type) {
    case CUDNN_DATA_DOUBLE: return 8;
    case CUDNN_DATA_INT32:
    case CUDNN_DATA_FLOAT: return 4;
    case CUDNN_DATA_BOOLEAN: return 1;
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
    case CUDNN_DATA_INT32: return load_as<std::int32_t>(at);
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
