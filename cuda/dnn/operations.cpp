#if defined(TENON_WITH_CUDNN)

#include <cuda/dnn/operations.hpp>

namespace tenon::cuda::dnn {

namespace {

descriptor describe_tensor(const functions& f, const tensor& t, std::int64_t number) {
    descriptor d(f, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, data_type_of(t.element));
    d.set_list(CUDNN_ATTR_TENSOR_DIMENSIONS, t.sizes);
    d.set_list(CUDNN_ATTR_TENSOR_STRIDES, t.strides);
    d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, number);
    d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, t.alignment);
    if (t.between) d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    if (t.is_number) d.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
    d.finalize();
    return d;
}

// Fills in one operation: its operands are named by the attributes that take them.
class writer {
public:
    writer(const functions& f, const graph& g, described_graph& to, const operation& o) :
        f_(f), g_(g), to_(to), o_(o), compute_(data_type_of(g.compute)) {}

    void write() {
        switch (o_.kind) {
        case operation_kind::convolution:
            return convolution(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                               {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y});
        case operation_kind::convolution_backward_input:
            return convolution(
                CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX});
        case operation_kind::convolution_backward_filter:
            return convolution(
                CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW});
        case operation_kind::add: return pointwise(CUDNN_POINTWISE_ADD);
        case operation_kind::relu: return pointwise(CUDNN_POINTWISE_RELU_FWD);
        case operation_kind::subtract: return pointwise(CUDNN_POINTWISE_SUB);
        case operation_kind::multiply: return pointwise(CUDNN_POINTWISE_MUL);
        case operation_kind::divide: return pointwise(CUDNN_POINTWISE_DIV);
        case operation_kind::exp: return pointwise(CUDNN_POINTWISE_EXP);
        case operation_kind::log: return pointwise(CUDNN_POINTWISE_LOG);
        case operation_kind::index: return pointwise(CUDNN_POINTWISE_GEN_INDEX);
        case operation_kind::at_least: return pointwise(CUDNN_POINTWISE_CMP_GE);
        case operation_kind::less: return pointwise(CUDNN_POINTWISE_CMP_LT);
        case operation_kind::both: return pointwise(CUDNN_POINTWISE_LOGICAL_AND);
        case operation_kind::select: return pointwise(CUDNN_POINTWISE_BINARY_SELECT);
        case operation_kind::product: return product();
        case operation_kind::largest: return reduction(CUDNN_REDUCE_TENSOR_MAX);
        case operation_kind::sum: return reduction(CUDNN_REDUCE_TENSOR_ADD);
        case operation_kind::transpose: {
            descriptor& d = begin(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
            give(d, {CUDNN_ATTR_OPERATION_RESHAPE_XDESC, CUDNN_ATTR_OPERATION_RESHAPE_YDESC});
            return d.finalize();
        }
        }
    }

private:
    using name = cudnnBackendAttributeName_t;

    descriptor& begin(cudnnBackendDescriptorType_t type) { return to_.operations.emplace_back(f_, type); }
    // The descriptor of what an operation does, which it refers to.
    descriptor& begin_part(cudnnBackendDescriptorType_t type) { return to_.parts.emplace_back(f_, type); }
    void give(descriptor& d, std::initializer_list<name> names) const {
        std::size_t i = 0;
        for (const name n : names) d.set(n, to_.tensors[static_cast<std::size_t>(o_.operands[i++])]);
    }

    void convolution(cudnnBackendDescriptorType_t type, name description, name alpha, name beta,
                     std::initializer_list<name> operands) {
        descriptor& c = begin_part(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
        const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
        c.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, compute_);
        c.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
        c.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
        c.set_list(CUDNN_ATTR_CONVOLUTION_DILATIONS, o_.window.dilation);
        c.set_list(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, o_.window.stride);
        c.set_list(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, o_.window.before);
        c.set_list(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, o_.window.after);
        c.finalize();
        descriptor& d = begin(type);
        d.set(description, c);
        give(d, operands);
        if (g_.compute == element_type::float64) {
            const double one = 1, zero = 0;
            d.set(alpha, CUDNN_TYPE_DOUBLE, 1, &one);
            d.set(beta, CUDNN_TYPE_DOUBLE, 1, &zero);
        } else {
            const float one = 1, zero = 0;
            d.set(alpha, CUDNN_TYPE_FLOAT, 1, &one);
            d.set(beta, CUDNN_TYPE_FLOAT, 1, &zero);
        }
        d.finalize();
    }

    void pointwise(cudnnPointwiseMode_t mode) {
        descriptor& p = begin_part(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
        p.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
        const bool decides =
            mode == CUDNN_POINTWISE_CMP_GE || mode == CUDNN_POINTWISE_CMP_LT || mode == CUDNN_POINTWISE_LOGICAL_AND;
        p.set(CUDNN_ATTR_POINTWISE_MATH_PREC, decides ? CUDNN_DATA_BOOLEAN : compute_);
        if (mode == CUDNN_POINTWISE_GEN_INDEX) p.set(CUDNN_ATTR_POINTWISE_AXIS, o_.axis);
        if (mode == CUDNN_POINTWISE_RELU_FWD) {
            const cudnnNanPropagation_t keep = CUDNN_PROPAGATE_NAN;
            p.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &keep);
        }
        p.finalize();
        descriptor& d = begin(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
        d.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, p);
        if (o_.operands.size() == 4)
            give(d, {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                     CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_ATTR_OPERATION_POINTWISE_YDESC});
        else if (o_.operands.size() == 3)
            give(d, {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                     CUDNN_ATTR_OPERATION_POINTWISE_YDESC});
        else give(d, {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_YDESC});
        d.finalize();
    }

    void product() {
        descriptor& p = begin_part(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
        p.set(CUDNN_ATTR_MATMUL_COMP_TYPE, compute_);
        p.finalize();
        descriptor& d = begin(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
        d.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, p);
        give(d,
             {CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC, CUDNN_ATTR_OPERATION_MATMUL_CDESC});
        d.finalize();
    }

    void reduction(cudnnReduceTensorOp_t operation) {
        descriptor& p = begin_part(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
        p.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &operation);
        p.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, compute_);
        p.finalize();
        descriptor& d = begin(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
        d.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, p);
        give(d, {CUDNN_ATTR_OPERATION_REDUCTION_XDESC, CUDNN_ATTR_OPERATION_REDUCTION_YDESC});
        d.finalize();
    }

    const functions& f_;
    const graph& g_;
    described_graph& to_;
    const operation& o_;
    cudnnDataType_t compute_;
};

} // namespace

cudnnDataType_t data_type_of(element_type e) {
    switch (e) {
    case element_type::float64: return CUDNN_DATA_DOUBLE;
    case element_type::float16: return CUDNN_DATA_HALF;
    case element_type::bfloat16: return CUDNN_DATA_BFLOAT16;
    case element_type::float32: return CUDNN_DATA_FLOAT;
    case element_type::int32: return CUDNN_DATA_INT32; // between operations
    case element_type::boolean: return CUDNN_DATA_BOOLEAN;
    default: throw refused{"elements must be float, double, half or bfloat16"};
    }
}

described_graph::described_graph(const functions& f, const graph& g) {
    tensors.reserve(g.tensors.size());
    parts.reserve(g.operations.size()); // operations refer to them
    operations.reserve(g.operations.size());
    for (std::size_t i = 0; i < g.tensors.size(); ++i)
        tensors.push_back(describe_tensor(f, g.tensors[i], static_cast<std::int64_t>(i) + 1));
    for (const operation& o : g.operations) writer(f, g, *this, o).write();
}

} // namespace tenon::cuda::dnn

#endif
