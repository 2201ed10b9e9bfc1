#pragma once

#include <cstdint>
#include <vector>

#include <tenon/onnx/onnx_call.hpp>

/// Windows that move over lines, images and volumes, as ONNX has them: [batch, channels, spatial..]. Read by .ipp files only.

namespace tenon::detail::onnx {

/// One spatial dimension of a window.
struct window_side {
    std::int64_t stride = 1, dilation = 1, before = 0, after = 0;
};

/// n, which may be from 0 to 2^20.
int small(const call& c, std::int64_t n, const char* what);
/// Strides, dilations and paddings of a node; sizes and kernel are for auto_pad.
std::vector<window_side> window_sides(const call& c, const std::vector<extent>& sizes,
                                      const std::vector<std::int64_t>& kernel);
/// A convolution, or a transposed one, of x with channels last in 1 to 3 dimensions; w: [spatial.., outputs or channels a group, ..].
any_tensor moved_windows(const call& c, const any_tensor& x, const any_tensor& w, const std::vector<window_side>& sides,
                         int groups, bool transposed);
/// x [batch, channels, spatial..] with channels last, and back.
any_tensor channels_last(const any_tensor& x);
any_tensor channels_second(const any_tensor& x);
/// What the node, a convolution, gives of x and weights that it has changed.
any_tensor convolved(const call& c, const any_tensor& x, const any_tensor& w);
/// [c] beside [n, c, ..] of this rank, and beside weights [c, ..].
any_tensor beside_channels(const any_tensor& t, int rank);
any_tensor beside_outputs(const any_tensor& t, int rank);

} // namespace tenon::detail::onnx
