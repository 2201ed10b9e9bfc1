#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/device_name.hpp>
#include <tenon/core/shared_function.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/serve/served_model.hpp>

/// How a model is served (serve/model_server.hpp).

namespace tenon {

struct model_server_options {
    std::string name = "model";
    /// Where it runs; two names are of two devices, of whatever tasks. Empty: once, where the scopes say.
    std::vector<device_name> devices{};
    /// True: each device has copies of the variables that the function makes, and of those of layers it calls, as tn::mirrored_strategy
    /// makes them. False: all devices read the same ones, which are where the first device, or a scope of the function, has them.
    bool copy_variables = false;
    /// Names of the outputs; empty: those of their tensors on the first device.
    std::vector<std::string> outputs{};

    std::int64_t largest_batch = 32; ///< rows
    double longest_wait = 0;         ///< seconds for which a request waits for others while a device is free
    /// Sizes to which batches are filled up with rows that nobody asked for; the last is largest_batch. A step is planned once for each
    /// size that a device meets, and keeps the memory of its step. Empty: batches are as they are.
    std::vector<std::int64_t> batch_sizes{};
    std::size_t capacity = 1024; ///< requests that wait
    /// What a request meets that comes when so many wait: resource_exhausted_error at once; or it waits for room, and its time limit
    /// counts. (Those that come from other processes are always refused.)
    bool wait_when_full = false;
    double retry_lost = 1; ///< seconds after which a device that was lost is asked again

    /// Of one that opens its sessions itself: as a session's constructor has them.
    session_options session{};
    /// Lines for a person: devices that are lost and come back, weights that are replaced or refused. Not set: nothing is told. What it
    /// throws is passed over.
    shared_function<void(const std::string& line)> log{};
};

/// What replace() did.
struct replacement {
    std::int64_t version = 0; ///< of the weights from now on
    std::string checkpoint{};
    std::int64_t step = -1;   ///< of training, where the checkpoint says; else -1
    double pause_seconds = 0; ///< for which no batch was begun
};

namespace detail {

/// What a model server is made of.
struct model_parts {
    std::vector<any_tensor> feeds;
    std::vector<std::vector<any_tensor>> outputs = {}; ///< by device
    std::vector<std::string> devices = {};             ///< their names, for people
};

/// The server. Its devices' threads end with close().
class model_server_state : public served_model_state {
public:
    virtual replacement replace(const std::string& checkpoint) = 0;
    virtual void watch(const std::string& prefix, double seconds) = 0;
    virtual bool close(double seconds) = 0;
    virtual std::int64_t version() const = 0;
};

} // namespace detail

} // namespace tenon
