#pragma once

/// Tenon: typed lazy tensors for C++20. All public headers, in the order in which they build on each other; each can be
/// included alone. Two tables of their own include this one: input.hpp has files, readers, data sets and images; models.hpp what
/// is for several models, or for those who ask them: ensembles, searches over grids, servers of models.

#include <tenon/core/config.hpp>        // how this program uses Tenon
#include <tenon/core/error.hpp>         // exceptions, one type for each canonical code
#include <tenon/core/element_type.hpp>  // float, half, int32, ...: what tensors are made of
#include <tenon/core/sizes/extents.hpp> // sizes as values
#include <tenon/core/sizes/shape.hpp>   // sizes as types: shape<batch, 784>
#include <tenon/core/check.hpp>         // the wording of compile-time complaints
#include <tenon/core/device_name.hpp>   // names of devices: "/job:ps/task:1/device:GPU:0"
#include <tenon/core/array/array.hpp>   // host tensors
#include <tenon/core/array/print.hpp>   // host tensors as text
#include <tenon/core/options.hpp>       // the wording of complaints about options

#include <tenon/graph/scope.hpp>                // the scopes in which nodes are made: devices, names, what runs before
#include <tenon/graph/graph.hpp>                // graphs
#include <tenon/graph/tensor.hpp>               // the typed handle on a node
#include <tenon/graph/json.hpp>                 // graphs as text, and back
#include <tenon/io/safetensors/safetensors.hpp> // named arrays in files
#include <tenon/cluster/cluster.hpp>            // which tasks there are, and where
#include <tenon/cluster/replica_device_setter.hpp> // variables to parameter servers, the rest to workers

#include <tenon/ops/control/control.hpp>              // placeholder, identity, group, print, assert
#include <tenon/ops/control/sized.hpp>                // zeros, arange_like: in sizes of other tensors
#include <tenon/ops/elementwise/constant.hpp>         // values that are written in the graph
#include <tenon/ops/state/state.hpp>                  // variable, assign, initialisers
#include <tenon/ops/shape/partition.hpp>              // variables in parts, over several tasks
#include <tenon/ops/elementwise/elementwise.hpp>      // + - * /, exp, tanh, relu, comparisons, select, cast, ...
#include <tenon/ops/elementwise/formulas.hpp>         // square, clip, floor_divide, logaddexp, logit, ...
#include <tenon/ops/elementwise/activations.hpp>      // gelu, elu, leaky_relu, silu, ...
#include <tenon/ops/elementwise/untyped_formulas.hpp> // these, where types are known at run time only
#include <tenon/ops/elementwise/add_n.hpp>            // the sum of a list of tensors
#include <tenon/ops/linear/matmul.hpp>                // products of matrices and batches of them
#include <tenon/ops/linear/matmul_float8.hpp>         // of operands that are rounded to 8 bits
#include <tenon/ops/linear/einsum.hpp>                // sums of products, said by letters
#include <tenon/ops/linear/triangular.hpp>            // Cholesky, triangular systems
#include <tenon/ops/linear/solve.hpp>                 // linear equations, inverses, determinants
#include <tenon/ops/linear/decomposition.hpp>         // QR, singular values, eigenvalues of symmetric matrices
#include <tenon/ops/linear/fourier.hpp>               // fft, rfft and back
#include <tenon/ops/reduce/reduction.hpp>             // sum, mean, max, argmax, logsumexp, ...
#include <tenon/ops/reduce/scan.hpp>                  // running sums, products, extremes
#include <tenon/ops/shape/reshape.hpp>                // reshape, squeeze, expand_dims
#include <tenon/ops/shape/movement.hpp>               // transpose, broadcast_to, broadcast_like
#include <tenon/ops/shape/assembly.hpp>               // concat, split, stack, unstack
#include <tenon/ops/shape/indexing.hpp>               // slice, pad, tile, ...
#include <tenon/ops/shape/continued.hpp>              // pad with a tensor's own elements: reflection, edge, wrap
#include <tenon/ops/shape/bit_cast.hpp>               // the bits of numbers as other numbers
#include <tenon/ops/shape/gather.hpp>                 // gather, and sparse gradients
#include <tenon/ops/shape/indexed.hpp>                // take_along_axis, gather_nd, and their scatters
#include <tenon/ops/state/row_cache.hpp>              // rows of a table on other tasks, kept where they are used
#include <tenon/ops/shape/selection.hpp>              // boolean_mask, nonzero, unique
#include <tenon/ops/reduce/top_k.hpp>                 // the largest elements along an axis, and where they are
#include <tenon/ops/reduce/sort.hpp>                  // sort, argsort, searchsorted
#include <tenon/ops/shape/fill.hpp>                   // zeros, ones, eye, arange, linspace
#include <tenon/ops/linear/diagonal.hpp>              // tril, triu, diag, matrix_trace
#include <tenon/ops/linear/convolution.hpp>           // conv2d
#include <tenon/ops/linear/pooling.hpp>               // max_pool, average_pool
#include <tenon/ops/linear/windows.hpp>               // both in one dimension and in three
#include <tenon/ops/linear/pool_places.hpp>           // where the largest of each window lies
#include <tenon/ops/rows/softmax.hpp>                 // softmax and the cross entropies
#include <tenon/ops/rows/categorical.hpp>             // classes drawn by their probabilities
#include <tenon/ops/rows/ctc.hpp>                     // the loss of sequences that are not aligned with time
#include <tenon/ops/rows/normalization.hpp>           // layer normalisation
#include <tenon/ops/rows/attention.hpp>               // scaled dot-product attention, in blocks
#include <tenon/ops/random/dropout.hpp>               // dropout
#include <tenon/ops/random/random.hpp>                // random numbers, the same everywhere
#include <tenon/ops/queue/queue.hpp>                  // queues of tuples, which outlive steps
#include <tenon/ops/state/accumulator.hpp>            // averages of gradients, which outlive steps
#include <tenon/ops/state/step_ledger.hpp>            // which gradients of a step are complete, and who applies them
#include <tenon/ops/input/files.hpp>                  // files, where ops are
#include <tenon/ops/state/lease.hpp>                  // who may do what only one may do at a time
#include <tenon/ops/gradients.hpp>                    // reverse-mode differentiation
#include <tenon/ops/flow/cond.hpp>                    // one of two computations, by a value of the step
#include <tenon/ops/flow/scan_slices.hpp>  // a body for each slice of a tensor, which hands on what it carries
#include <tenon/ops/flow/while_loop.hpp>   // a body that is repeated while a value says so
#include <tenon/ops/hints.hpp>             // what to write where sum(x, 1) does not compile
#include <tenon/ops/elementwise/hints.hpp> // and where exp(1.0) does not
#include <tenon/ops/usage.hpp>             // and how solve(a) is called

#include <tenon/memory/memory_policy.hpp>             // how much of a device's memory is used
#include <tenon/runtime/device/device_attributes.hpp> // the devices there are
#include <tenon/runtime/device/gpu_selection.hpp>     // which of the GPUs, and as how many devices
#include <tenon/runtime/device/gpu_backend.hpp>       // where GPUs come from
#include <tenon/runtime/device/simulated_gpu.hpp>     // GPUs that the CPU plays
#include <tenon/runtime/place/explanation.hpp>        // why each node runs where it does
#include <tenon/runtime/session/task.hpp>             // what sessions share: devices, variables in containers, threads
#include <tenon/runtime/session/feed.hpp>             // what is fed and fetched
#include <tenon/runtime/session/session.hpp>          // running a graph
#include <tenon/runtime/session/pending.hpp>          // steps that were started and run on their own
#include <tenon/runtime/trace/trace.hpp>              // what ran when
#include <tenon/runtime/trace/cost_measurements.hpp>  // what nodes and transfers took
#include <tenon/runtime/session/print_config.hpp>     // what this build has, and which instruction set it uses

#include <tenon/nn/layer.hpp>               // what layers are made of
#include <tenon/nn/activation.hpp>          // relu, tanh, ... as layers
#include <tenon/nn/dense.hpp>               // fully connected
#include <tenon/nn/convolution.hpp>         // convolutional
#include <tenon/nn/pooling.hpp>             // maximum and average of windows
#include <tenon/nn/flatten.hpp>             // images to rows
#include <tenon/nn/dropout.hpp>             // noise while training
#include <tenon/nn/sequential.hpp>          // layers one after another
#include <tenon/nn/model/mlp.hpp>           // fully connected layers one after another
#include <tenon/nn/residual.hpp>            // and added to their input
#include <tenon/nn/normalization.hpp>       // layer, RMS, batch, group and instance norm
#include <tenon/nn/recurrent/recurrent.hpp> // lstm, gru
#include <tenon/nn/embedding.hpp>           // a learned row for each of many things
#include <tenon/nn/attention.hpp>           // attention, of one head and of many
#include <tenon/nn/transformer.hpp>         // the block that transformers are made of
#include <tenon/nn/mixed_precision.hpp>     // models that compute in 16 bits, of float variables
#include <tenon/nn/model/model.hpp>         // variables of models, clones, summaries
#include <tenon/nn/tensor_parallel.hpp>     // layers whose weights are split over devices
#include <tenon/nn/losses.hpp>              // losses and accuracy
#include <tenon/nn/confusion_matrix.hpp>    // which class is taken for which

#include <tenon/train/optimize/staleness.hpp>       // of what asynchronous workers compute with
#include <tenon/train/optimize/schedules.hpp>       // learning rates that follow the global step
#include <tenon/train/optimize/optimizers.hpp>      // gradient descent, momentum, Adam, ...; clipping
#include <tenon/train/optimize/accumulated.hpp>     // gradients of several runs as one
#include <tenon/train/optimize/moving_average.hpp>  // averages of weights
#include <tenon/train/replicated/replicate.hpp>     // one model's replicas in one graph, which share its variables
#include <tenon/train/optimize/compression.hpp>     // gradients that travel as their largest elements, or as 8 bits
#include <tenon/train/replicated/all_reduce.hpp>    // sums over devices
#include <tenon/train/replicated/processes.hpp>     // the processes of one program, which train together
#include <tenon/train/replicated/mirrored.hpp>      // one model on several devices
#include <tenon/train/pipeline/pipeline.hpp>        // layers on several devices, which work on parts of a batch
#include <tenon/train/checkpoint/checkpoint.hpp>    // variables in files
#include <tenon/train/checkpoint/manifest.hpp>      // what a checkpoint of several files says of itself
#include <tenon/train/checkpoint/saver.hpp>         // checkpoints that the tasks write which hold the variables
#include <tenon/train/replicated/sync_replicas.hpp> // one step of several processes
#include <tenon/train/session/coordinator.hpp>      // threads that end together
#include <tenon/train/session/queue_runner.hpp>     // threads that keep queues filled
#include <tenon/train/session/session_hook.hpp>     // what goes on beside the steps of the next
#include <tenon/train/session/stop_signal.hpp>      // signals that ask a process to stop
#include <tenon/train/session/monitored_session.hpp> // a session that initialises, restores, saves, and lives through lost tasks
#include <tenon/train/fit.hpp>                       // a loop over epochs

#include <tenon/data/idx.hpp>         // the files of MNIST and its relatives
#include <tenon/data/minibatches.hpp> // shuffled minibatches
#include <tenon/data/progress.hpp>    // a line that tells how far it is
