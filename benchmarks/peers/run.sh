#!/bin/sh
# Measures Tenon beside TensorFlow, PyTorch, JAX, Ray and Arrow (CPU) on one machine, interleaved, and prints one table.
#
#     benchmarks/peers/run.sh [build folder] [options of compare.py, such as --rounds 1 --rows mlp_128 --threads 1 2]
#
# The rows:
#     two_nodes                 (x + 1) * 2 on a scalar, fed and fetched                                   us
#     chain, chain_gradient     a chain of 1,000 tanh on 8 floats; with its gradient                       ns a node
#     fused, fused_gradient     relu(a * x + b) * sigmoid(c - x) on 1e5 floats; with all four gradients    ns an element
#     mlp_50, mlp_128           a training step of 784-300-100-10 with that batch                          steps/s
#     conv_64                   one of 28x28 -> 32 5x5 -> pool -> 64 5x5 -> pool -> 256 -> 10              steps/s
#     matmul_64, _256, _1024    a product of square matrices                                               GFLOP/s
#     sort_1000000              a million floats in order; beside PyTorch and JAX                          us
#     attention, _gradient      8 heads of 512 x 64 floats; with the gradients of all three; beside PyTorch us
#     stencil                   a step of a five-point stencil on 2048 x 2048 floats; beside PyTorch, JAX  us
#     loop                      1,000 runs of a while_loop on 64 floats; beside PyTorch, JAX               us
#     lstm_step                 training steps of 64 sequences of 128 steps through 256 units,
#     batch_norm_step           of a batch norm of 64 x 28 x 28 x 64,
#     transformer_step          and of a causal block of 8 x 128 x 256, 4 heads; beside PyTorch, JAX        us
#     embedding_bag, _step      sums of 16 of 100,000 rows of 64, 1,024 times; a step of it; PyTorch, JAX  us
#     einsum                    scores of 8 heads, 8 x 256 x 8 x 64, by letters; beside PyTorch, JAX       us
#     sum, sum_abs, mean_square sums of 4 million floats, of their magnitudes, and the mean of the squares
#                               of their distances from as many others; beside PyTorch, JAX                us
# of input, tf.data and PyTorch's DataLoader; on two threads with a parallel step, two workers, or a step that takes ahead:
#     input_csv                 a row of ten floats from a file, in batches of 256                         us
#     input_json                a line of JSON of six members from a file, in batches of 256; beside
#                               pyarrow's read_json, which makes one table of the file                     us
#     input_tfrecord            a TFRecord of 784 bytes, in batches of 50                                  us
#     input_image               a 28x28 uint8 image in memory: shuffled, in batches of 50, as float / 255  us
#     input_indexed             the same without a data set: by indexing with a random order               us
#     input_map                 a number and 1 more, by a map function, one at a time                      us
#     input_get_next            a session's step that fetches get_next() of a range                        us
# and of clusters on loopback, a process a task (TensorFlow's grpc servers, PyTorch's RPC, Ray's actors), on all the cores, of which each
# worker that trains has its share of threads:
#     cluster_run, _through     x + 1 on a worker; and the result through a parameter server               us
#     cluster_pull_1, _64       a worker reads so many MB of a parameter server                            GB/s
#     cluster_push_1, _64       and subtracts so many from them there                                      GB/s
#     cluster_mlp_1, _2         that MLP, batch 128, asynchronous on 2 parameter servers, of 1 and 2
#                               workers together                                                           steps/s
#     cluster_sync_2            the same, where 2 workers average the gradients of each step: sync_replicas,
#                               SyncReplicasOptimizer, calls that RPC answers together                     steps/s
#     cluster_parallel_2        Tenon's 2 workers data-parallel, beside RPC as before                      steps/s
#
# Tenon's side are the programs benchmarks/peer_rows, input_peer_rows and net_peer_rows of the build folder (default:
# build/release), called as `peer_rows --row mlp_128 --threads 2`; without the others their rows are left out. The peers are installed
# from PyPI, each in a virtual environment of its own below ${XDG_CACHE_HOME:-$HOME/.cache}/tenon-peers, outside the source
# tree; PYTHON names the interpreter to make them with, PEERS the ones wanted. PyTorch's wheel on PyPI is built for CUDA,
# whose libraries are several GB. It is installed without them, save four smaller ones; where CUDA itself is not installed
# either it does not load, and is left out with a word. TORCH_INDEX names a package index with CPU wheels to take instead;
# TORCH_FULL=1 takes everything.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/build/release
case ${1:-} in
    '' | -*) ;;
    *)
        build=$1
        shift
        ;;
esac
tenon=$build/benchmarks/peer_rows
if [ ! -x "$tenon" ]; then
    echo "run.sh: there is no $tenon; build it first: cmake --build $build --target benchmark_peer_rows" >&2
    exit 1
fi

cache=${XDG_CACHE_HOME:-$HOME/.cache}/tenon-peers
python=${PYTHON:-python3}
peers=${PEERS:-tensorflow torch jax ray pyarrow}
mkdir -p "$cache"

# install_<peer> <pip>
install_tensorflow() { "$1" install --quiet 'tensorflow-cpu==2.21.*'; }
install_jax() { "$1" install --quiet jax; }
install_pyarrow() { "$1" install --quiet pyarrow numpy; }
install_ray() { "$1" install --quiet ray numpy; }
install_torch() {
    if [ -n "${TORCH_INDEX:-}" ]; then
        "$1" install --quiet --index-url "$TORCH_INDEX" torch && "$1" install --quiet numpy setuptools
    elif [ -n "${TORCH_FULL:-}" ]; then
        "$1" install --quiet 'torch==2.15.*' numpy setuptools
    else
        "$1" install --quiet --no-deps 'torch==2.15.*' nvidia-cufile nvidia-cusparselt-cu13==0.8.1 \
            nvidia-nvshmem-cu13==3.7.2 nvidia-nccl-cu13==2.30.7 &&
            "$1" install --quiet numpy setuptools filelock typing-extensions sympy networkx jinja2 fsspec
    fi
}

for peer in $peers; do
    where=$cache/$peer
    if [ ! -e "$where/ready" ]; then
        echo "run.sh: installing $peer in $where" >&2
        rm -rf "$where"
        "$python" -m venv "$where"
        if ! "install_$peer" "$where/bin/pip"; then
            echo "run.sh: $peer could not be installed; left out" >&2
            continue
        fi
        touch "$where/ready"
    fi
    if "$where/bin/python" -c "import $peer as m; print(m.__name__, m.__version__)" >&2; then
        set -- --python "$peer=$where/bin/python" "$@"
    else
        echo "run.sh: $peer is installed but does not load; left out" >&2
    fi
done

exec "$python" "$here/compare.py" --tenon "$tenon" "$@"
