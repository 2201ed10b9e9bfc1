#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tenon/core/fault.hpp>
#include <tenon/op/run_count.hpp>

/// What a checkpoint of several files says of itself.

namespace tenon {

/// A checkpoint: which files hold which tensors, and how those files were when they were written.
///
///     {"format": "tenon checkpoint", "version": 1, "step": 700, "id": "5f02c3aa",
///      "shards": [{"file": "model-700.5f02c3aa-1-of-1.safetensors", "bytes": 1832, "hash": "xxh64:0f...",
///                  "task": "/job:ps/replica:0/task:0"}],
///      "tensors": {"w": {"dtype": "float", "shape": [784, 300], "shard": 0}}}
///
/// A tensor in several files, or in several parts of one, has its slices in place of a shard: each is some of its rows, one
/// after the other, and all of them are all. Where there are such, the version is 2.
///
///      "table": {"dtype": "float", "shape": [1000, 64], "slices": [
///        {"tensor": "table/part_0", "first": 0, "rows": 500, "shard": 0},
///        {"tensor": "table/part_1", "first": 500, "rows": 500, "shard": 1}]}
///
/// Where the graph has iterators, each that was initialised has a file that says where it was, and the version is 3.
///
///      "iterators": {"iterator": {"file": "model-700.5f02c3aa-1-of-1.iterator", "bytes": 96, "hash": "xxh64:0f..."}}
///
/// Random ops that had run in the session are there with how often, whatever the version.
///
///      "random_runs": {"dropout/mask": 700}
///
/// And texts that were given to be said with it, whatever the version.
///
///      "metadata": {"fit/waited": "2"}
struct checkpoint_manifest {
    struct shard {
        std::string file; ///< in the folder of the manifest
        std::int64_t bytes = 0;
        std::uint64_t hash = 0; ///< XXH64 of all bytes, with seed 0
        std::string task;       ///< that wrote it
        friend bool operator==(const shard&, const shard&) = default;
    };
    struct slice {
        std::string tensor; ///< what its shard calls it
        std::int64_t first = 0, rows = 0;
        int shard = 0;
        friend bool operator==(const slice&, const slice&) = default;
    };
    struct tensor {
        std::string name;
        tensor_type type; ///< its sizes are numbers
        int shard = 0;    ///< where it has no slices
        std::vector<slice> slices{};
        friend bool operator==(const tensor&, const tensor&) = default;
    };
    struct iterator {
        std::string name;
        std::string file; ///< in the folder of the manifest
        std::int64_t bytes = 0;
        std::uint64_t hash = 0;
        friend bool operator==(const iterator&, const iterator&) = default;
    };
    std::int64_t step = 0;
    std::string id; ///< that no other checkpoint of this name has: eight digits of base 16
    std::vector<shard> shards;
    std::vector<tensor> tensors;
    std::vector<iterator> iterators{};
    std::vector<run_count> random_runs{};
    std::map<std::string, std::string> metadata{};

    /// nullptr where there is none of this name.
    const tensor* find(const std::string& name) const;
    std::string to_json() const;
    /// `source` stands in messages. data_loss_error for what is no such text; unimplemented_error for one of a later version.
    static checkpoint_manifest from_json(const std::string& text, const std::string& source);
    friend bool operator==(const checkpoint_manifest&, const checkpoint_manifest&) = default;
};

namespace detail {

/// The checkpoints that are kept, in the order in which they were saved: what PREFIX.checkpoints.json says.
struct kept_checkpoint {
    std::string file; ///< of the manifest, in that folder
    std::int64_t step = 0;
    std::string id;
    std::string by{}; ///< the saver's own id, as an id is; empty: not known
    friend bool operator==(const kept_checkpoint&, const kept_checkpoint&) = default;
};
/// Those that stay after one more was saved by the last one's saver: the last `most` of all (0: all), the last one of each other saver
/// that has saved since this one did before, and that of the file `also`.
std::vector<kept_checkpoint> staying(std::vector<kept_checkpoint> kept, std::size_t most, const std::string& also);
std::string json_of_kept(const std::vector<kept_checkpoint>& kept);
std::vector<kept_checkpoint> kept_of_json(const std::string& text, const std::string& source);

/// What a file of the checkpoints of a name, "model", is, by its own name; step -1: no file of theirs.
struct checkpoint_file {
    std::int64_t step = -1;
    std::string id;          ///< of a shard, or of an iterator's file
    bool is_partial = false; ///< what was left of one that was being written
};
checkpoint_file checkpoint_file_of(const std::string& file, const std::string& name);

} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/checkpoint/manifest.ipp>
#endif
