#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/options.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/train/checkpoint/checkpoint.hpp>
#include <tenon/train/checkpoint/manifest.hpp>

/// Checkpoints of a session, also of one on many tasks: each task writes the variables that it holds, to a file of its own.
///
///     tn::saver saver("run/model", {.keep = 3});
///     saver.save(sess);          // run/model-700.json, and a safetensors file for each task that holds variables
///     saver.restore(sess);       // in a later program: the last one, into however many tasks hold the variables then
///
/// Paths are those of the tasks (ops/input/files.hpp), which share a file system where they are on several machines. A server lets ops
/// use files where server_options::files is a folder: then paths are relative to that, or lie below it.
///
/// What is saved of one task is of one moment, between the updates of any two steps (each segment's updates are seen at one
/// moment): training may go on meanwhile. The moments of several tasks differ by as much as a message takes, so steps that are in
/// flight then may have updated one task's variables and not yet another's. Where there are none, as where one session trains and
/// saves between its steps, or all updates are the chief's, all is of one moment.
///
/// With them is saved how often random ops have run in the session: one that restores goes on with the numbers that would have come, and so
/// a training that is resumed is the same as one that was not interrupted.
///
/// Iterators of the graph that were initialised are saved and restored too: a training that goes on gets the elements that it
/// had not got, in their order. One that the checkpoint does not have stays where it is, and so does one whose data set is another
/// shard of what was saved: where that was says nothing of this one. So whoever is the chief restores what another chief saved.

namespace tenon {

struct saver_options {
    /// Which variables; empty: all of global_variables, when it saves or restores.
    std::vector<any_tensor> variables{};
    /// How many checkpoints stay: those saved last; 0: all.
    int keep = 5;
    /// Seconds that a save or restore may take in each of its steps; 0: the session's limit.
    double timeout = 0;
    /// A name has one writer at a time: who saves has it for so many seconds, and again and again while it goes on. Others wait
    /// as long for it at most. Who was gone for longer than that has lost it, and writes nothing more.
    double lease = 10;
};

/// What goes with a checkpoint.
struct checkpoint_details {
    /// Texts for its manifest, by name.
    std::map<std::string, std::string> metadata{};
    /// The path of an earlier one that stays, beside so many of the last: the best until now.
    std::string stays{};
};

struct saved_checkpoint {
    std::string path; ///< of the manifest: what restore() is given
    checkpoint_manifest manifest;
    std::string trouble; ///< what was in the way of removing older ones; empty: nothing
    /// A line for the list of checkpoints that was damaged, and for each manifest that was: the list was made anew of those that are
    /// there, and nothing was removed. Empty: it was good.
    std::vector<std::string> passed_over{};
};

struct restore_options {
    /// A manifest's path; empty: the checkpoint that was saved last.
    std::string checkpoint{};
    /// True: restores what there is and fits, and reports the rest. False: all or nothing.
    bool partial = false;
    /// True: where the checkpoint is damaged, or not all of its files are there, the last one before it that is whole is restored,
    /// and restored_checkpoint says which were passed over. So is a list of checkpoints that is damaged: they are found by their
    /// manifests, as where there is none, and the one of the highest step is the last.
    bool fall_back = false;
};

struct restored_checkpoint : load_report {
    std::string path;
    std::int64_t step = 0;
    std::vector<std::string> passed_over{};  ///< a line for what is damaged: its path, and what is wrong with it
    std::vector<std::string> other_shards{}; ///< iterators that stayed where they are
};

/// Thread-safe. Several may save under one name, of whatever sessions and processes that see the same files, one at a time: none
/// removes the last checkpoint of another that still saves.
class saver {
public:
    /// `prefix`: "run/model" makes run/model-STEP.json. invalid_argument_error where it ends in no name, or an option makes no sense.
    explicit saver(std::string prefix, saver_options o = {});
    TENON_OTHER_BRACES(saver(std::string, detail::other_braces_than<saver_options, N>&));
    ~saver();
    saver(saver&&) noexcept;
    saver& operator=(saver&&) noexcept;

    /// Saves, and removes what is older than what is kept, and what saves that did not end have left. The checkpoint is there
    /// when its manifest is, which is written last; one of the same step is replaced then. `step`: in its name; -1: the graph's
    /// global_step(), when it begins. Throws failed_precondition_error naming a variable that has no value, aborted_error naming
    /// another saver that saves under this name or has taken it over meanwhile, and what the file system says; then nothing is
    /// there that was not before.
    saved_checkpoint save(session& s, std::int64_t step = -1, const checkpoint_details& with = {});
    /// Gives the variables their values, whatever tasks they were on when they were saved. Not partial, it throws
    /// not_found_error that lists what is missing, or invalid_argument_error that lists what has another type or other sizes.
    /// data_loss_error, naming the file, where one is not as it was written, or is not there. Then no variable has changed.
    /// not_found_error where there is no checkpoint.
    restored_checkpoint restore(session& s, const restore_options& o = {});
    /// Lets the session's random numbers go on where they were when the checkpoint was saved that was saved last; nothing else
    /// changes. For a session that finds the variables with values. False where there is no checkpoint.
    bool go_on_with_random_numbers(session& s);
    /// The paths of the checkpoints that there are, in the order in which they were saved. Where the list of them is damaged,
    /// data_loss_error; with `damaged` it is passed over as restore does with fall_back, and said there.
    std::vector<std::string> checkpoints(session& s, std::vector<std::string>* damaged = nullptr);
    /// What is in one.
    checkpoint_manifest manifest(session& s, const std::string& path);

private:
    struct state;
    restored_checkpoint restore_one(session& s, const std::string& path, const std::string& manifest, bool partial);
    std::unique_ptr<state> state_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/checkpoint/saver.ipp>
#endif
