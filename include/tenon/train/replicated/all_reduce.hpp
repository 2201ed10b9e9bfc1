#pragma once

#include <memory>
#include <vector>

#include <tenon/core/device_name.hpp>
#include <tenon/graph/node.hpp>

/// Sums of what lies on several devices, on each of them: what replicated training needs of gradients.
///
///     tn::chunked_all_reduce reduce;
///     auto sums = reduce.sum({g0, g1}, {"/gpu:0", "/gpu:1"});   // sums[i] is g0 + g1, on devices[i]

namespace tenon {

/// A way to sum. A value without state; who has a faster link than the transfers of a graph derives from it.
class all_reduce_method {
public:
    virtual ~all_reduce_method() = default;

    /// On each device the sum of the tensors, of which the i-th lies on devices[i]. All have one numeric element type
    /// and the same sizes, which need not be known before the step. The sums are equal to the bit. Throws
    /// invalid_argument_error where there are no tensors, not as many as devices, or they are not alike, naming them.
    std::vector<any_tensor> sum(const std::vector<any_tensor>& tensors, const std::vector<device_name>& devices) const;
    /// The same of many: result[k][i] is the sum of tensors[k], on devices[i]. Neighbours of one element type go together in buckets, each of
    /// which is summed when all of it is there: they are given in the order in which they are made.
    std::vector<std::vector<any_tensor>> sum_all(const std::vector<std::vector<any_tensor>>& tensors,
                                                 const std::vector<device_name>& devices) const;

protected:
    all_reduce_method() = default;
    all_reduce_method(const all_reduce_method&) = default;
    all_reduce_method& operator=(const all_reduce_method&) = default;

private:
    // Of at least two tensors, which were checked, in the scope of their graph.
    virtual std::vector<any_tensor> add_sums(const std::vector<any_tensor>& tensors,
                                             const std::vector<device_name>& devices) const = 0;
    // The same of a bucket; as one tensor where nothing else is known.
    virtual std::vector<std::vector<any_tensor>> add_bucket(const std::vector<std::vector<any_tensor>>& tensors,
                                                            const std::vector<device_name>& devices) const;
    // The most bytes that go together, of tensors like these.
    virtual std::int64_t bucket_bytes(const std::vector<any_tensor>&, const std::vector<device_name>&) const {
        return std::int64_t{1} << 20;
    }
};

/// Reduce-scatter, then all-gather, by ordinary nodes and transfers. Each of n tensors is taken apart into n chunks,
/// whose sizes differ by one element at most. Chunk j of all is summed on device j, in the order of the tensors, and
/// goes from there to the others, where the chunks are joined. Each device sends and receives 2 (n - 1) / n of a
/// tensor's bytes, the least that is possible (P. Patarasuk, X. Yuan, J. Parallel Distrib. Comput. 69 (2009)).
class chunked_all_reduce final : public all_reduce_method {
    std::vector<any_tensor> add_sums(const std::vector<any_tensor>& tensors,
                                     const std::vector<device_name>& devices) const override;
};

/// By nodes that meet: on CPUs one thread sums for all; on GPUs their library does, by NCCL where that is and over the links that the
/// cards have, on a stream of its own: what need not wait for the sum goes on meanwhile. Of one process: a sum over several tasks is another
/// method's. Not for int16 and uint16 on GPUs. Gradients do not flow through it.
class collective_all_reduce final : public all_reduce_method {
public:
    /// Of up to so many bytes one call has the library sum all tensors, where they lie.
    explicit collective_all_reduce(std::int64_t bucket_bytes = std::int64_t{25} << 20) : bucket_bytes_(bucket_bytes) {}

private:
    std::vector<any_tensor> add_sums(const std::vector<any_tensor>& tensors,
                                     const std::vector<device_name>& devices) const override;
    std::vector<std::vector<any_tensor>> add_bucket(const std::vector<std::vector<any_tensor>>& tensors,
                                                    const std::vector<device_name>& devices) const override;
    std::int64_t bucket_bytes(const std::vector<any_tensor>&, const std::vector<device_name>&) const override {
        return bucket_bytes_;
    }

    std::int64_t bucket_bytes_;
};

/// What is used where no method is given: a GPU library's choice, else chunked_all_reduce.
std::shared_ptr<const all_reduce_method> default_all_reduce();
/// Called by a GPU library when it is loaded; the last one stays.
void register_all_reduce(std::shared_ptr<const all_reduce_method> m);

namespace detail {
/// x's elements as a tensor of rank 1.
any_tensor as_list(const any_tensor& x);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/replicated/all_reduce.ipp>
#endif
