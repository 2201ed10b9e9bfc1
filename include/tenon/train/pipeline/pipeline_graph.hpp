#pragma once

#include <memory>
#include <vector>

#include <tenon/core/device_name.hpp>
#include <tenon/core/shared_function.hpp>
#include <tenon/nn/layer.hpp>
#include <tenon/runtime/session/report.hpp>
#include <tenon/train/optimize/optimizers.hpp>
#include <tenon/train/pipeline/pipeline_schedule.hpp>

/// The graph of a pipeline's step, on tensors whose types are known at run time. What users call is in pipeline.hpp.

namespace tenon::detail {

using tensor_list = std::vector<any_tensor>;
using stage_function = shared_function<tensor_list(const tensor_list&, nn::phase)>;
class stage_variables;

struct pipeline_stages {
    std::vector<device_name> devices;
    std::vector<stage_function> functions; ///< as many
    /// That the functions have made, as many: a pipeline's, whatever is made of it.
    std::shared_ptr<std::vector<stage_variables>> variables{};
    int micro_batches = 1;
    pipeline_schedule schedule = one_forward_one_backward;
};

/// Throws invalid_argument_error for a stage without a device, and no micro-batches.
void check_stages(const pipeline_stages& s);

/// Of stages whose functions have not been called.
std::shared_ptr<std::vector<stage_variables>> no_segment_variables(int stages);

/// Throws it for a number that no stage has.
device_name device_of_stage(const std::vector<device_name>& devices, int stage);

/// The whole batch, through all stages, each on its device.
tensor_list through_segments(const pipeline_stages& s, const tensor_list& inputs, nn::phase p);

struct pipeline_step {
    any_tensor loss;
    std::vector<gradient_and_variable> gradients;
};
/// m copies of each stage that share its variables, forward and backward, in the schedule's order on each stage. Each of `inputs`
/// and `labels` that is no scalar is taken apart by rows. `loss` makes a scalar of what the last stage returns and the labels.
pipeline_step pipeline_gradients_of(const pipeline_stages& s, const stage_function& loss, const tensor_list& inputs,
                                    const tensor_list& labels, const std::vector<any_tensor>& variables);

/// Of each device the part of a report that is about it.
std::vector<device_report> reports_of(const step_report& r, const std::vector<device_name>& devices);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/train/pipeline/pipeline_graph.ipp>
#endif
