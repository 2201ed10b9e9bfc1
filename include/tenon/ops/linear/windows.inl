#pragma once

#include <initializer_list>
#include <vector>

#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/reshape.hpp>

// How convolutions and pools of volumes are made of those of images.

namespace tenon {

namespace detail {

// x in these sizes: numbers, or reshape_op's deduced and copied(axis); `called`: the name of what is deduced.
inline any_tensor in_sizes(const any_tensor& x, std::initializer_list<std::int64_t> sizes, const extent& called = {}) {
    reshape_op::attributes a;
    for (const std::int64_t s : sizes) {
        a.sizes.push_back(s);
        a.declared.push_back(s == reshape_op::deduced ? called : extent{});
    }
    return tenon::add<reshape_op>(a, {x});
}
// One plane of w.
inline any_tensor plane(const any_tensor& w, std::int64_t p) {
    return untyped::squeeze(untyped::slice(w, {range{p, p + 1}}), {0});
}
// Images [n, ..] of volumes [batch, depth, ..].
inline any_tensor as_images(const any_tensor& x) {
    constexpr auto copied = reshape_op::copied;
    return in_sizes(x, {reshape_op::deduced, copied(2), copied(3), copied(4)});
}
inline any_tensor as_volumes(const any_tensor& x, const extent& batch, const extent& depth) {
    constexpr auto copied = reshape_op::copied;
    // One of the two is a number.
    const bool says_depth = depth.is_number();
    return in_sizes(x,
                    {says_depth ? reshape_op::deduced : batch.size, says_depth ? depth.size : reshape_op::deduced,
                     copied(1), copied(2), copied(3)},
                    says_depth ? batch : depth);
}

// The pools of volumes of one type: the planes' and then, of what these give, that through the depth, so that of equal elements the first in
// row-major order is the one that is found. `pool` is given the attributes of either, and tensors of images.
template <class Pool>
std::vector<any_tensor> pool_volumes(std::vector<any_tensor> volumes, const pool3d_options& o, bool average,
                                     const extents& result, const Pool& pool) {
    constexpr auto copied = reshape_op::copied;
    const extents e = volumes[0].extents();
    for (any_tensor& v : volumes) v = as_images(v);
    volumes = pool(plane_of(o, average), volumes);
    for (any_tensor& v : volumes)
        v = in_sizes(as_volumes(v, e[0], e[1]), {copied(0), copied(1), result[2].size * result[3].size, copied(4)});
    volumes = pool(depth_of(o, average), volumes);
    for (any_tensor& v : volumes) v = in_sizes(v, {copied(0), copied(1), result[2].size, result[3].size, copied(3)});
    return volumes;
}
template <class Pool>
any_tensor pool_volume(const any_tensor& x, const pool3d_options& o, bool average, const extents& result) {
    return pool_volumes({x}, o, average, result, [](const pool2d_attributes& how, const std::vector<any_tensor>& in) {
        return std::vector<any_tensor>{tenon::add<Pool>(how, in)};
    })[0];
}

} // namespace detail

} // namespace tenon
