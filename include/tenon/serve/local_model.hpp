#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/concurrency/deadlines.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/serve/batch_queue.hpp>
#include <tenon/serve/model_server_options.hpp>
#include <tenon/train/checkpoint/saver.hpp>

/// A model server in this process: who waits, who computes, and in which order answers go.

namespace tenon::detail {

class local_model;

/// A request from when it is taken to when it is answered.
class local_request final : public asked_request,
                            public queued_request,
                            public std::enable_shared_from_this<local_request>,
                            private deadlines::entry {
public:
    local_request(std::shared_ptr<local_model> of, std::uint64_t client, std::vector<any_array> inputs,
                  shared_function<void(model_answer&&)> then);
    ~local_request() override;
    void stop() noexcept override;

private:
    friend class local_model;
    enum class state { waiting, computing, over };
    void due() noexcept override;

    const std::shared_ptr<local_model> of_;
    const std::uint64_t client_;
    std::vector<any_array> inputs_; // until it is told, in its turn
    const shared_function<void(model_answer&&)> then_;
    double seconds_ = 0;        // its time limit; 0: none
    state at_ = state::waiting; // under the model's guard, as what follows
    bool is_listed_ = false;    // among those of its client, whose answers come in order
    model_answer answer_;
};

/// Each device has a thread, which takes batches from the one queue and runs them. All of it is under one guard, but the steps.
class local_model final : public model_server_state, public std::enable_shared_from_this<local_model> {
public:
    local_model(std::shared_ptr<session> s, const std::string* target, model_parts parts, model_server_options o);
    ~local_model() override;
    void start();

    const model_signature& signature() const override { return signature_; }
    std::shared_ptr<asked_request> ask(std::uint64_t client, std::vector<any_array> inputs, double seconds,
                                       bool may_wait, shared_function<void(model_answer&&)> then) override;
    serving_metrics metrics() const override;
    std::string why_not_ready() const override;
    replacement replace(const std::string& checkpoint) override;
    void watch(const std::string& prefix, double seconds) override;
    bool close(double seconds) override;
    std::int64_t version() const override;

private:
    friend class local_request;
    using request = std::shared_ptr<local_request>;
    using clock = serving_clock;

    // Variables that devices compute with: all of them the same, or each its own copies.
    struct weights {
        std::vector<any_tensor> all;    // that the outputs are computed of
        std::vector<any_tensor> loaded; // for each of own_ this one
        // Made when they are first needed, under `replacing_`, as is_torn is.
        std::vector<any_tensor> fed, has_value;
        std::vector<operation> assigned;
        bool is_torn = false; // a replacement was lost in the middle of them: it is not known whose values they have
    };
    struct device {
        std::shared_ptr<session> on; // written by its thread, under the guard
        std::vector<any_tensor> outputs;
        std::shared_ptr<weights> uses;
        std::map<std::int64_t, untyped_callable>
            steps; // by rows; of its thread alone: each keeps the plan of its sizes
        std::thread thread;
        serving_device_metrics counts; // under the guard
    };
    // Nodes that read a manifest, and the tensors in its files, on one task.
    struct manifest_reader {
        any_tensor path, text, files, tensors, pieces;
        std::vector<any_tensor> values; // of own_, parts of one joined
    };
    struct asker {
        std::deque<request> asked; // whose answers have not gone
        bool is_telling = false;   // a thread is at it
    };

    // A device's thread.
    void serve(device& d);
    void run_batch(device& d, std::vector<request> batch, std::int64_t version, std::unique_lock<std::mutex>& lock);
    void run_each(device& d, const std::vector<request>& batch, std::int64_t version);
    std::vector<std::vector<any_array>> compute(device& d, const std::vector<request>& batch);
    static double limit_of(const std::vector<request>& batch);
    untyped_callable& step_of(device& d, std::int64_t rows);
    std::int64_t padded(std::int64_t rows) const;
    void lose(device& d, std::vector<request> batch, const std::string& why, std::unique_lock<std::mutex>& lock);
    void come_back(device& d, std::unique_lock<std::mutex>& lock);
    void ask_again(device& d);
    std::shared_ptr<session> reopened(const device& d) const;
    // The end of requests.
    void answered(const std::vector<request>& all, std::unique_lock<std::mutex>& lock);
    void tell_in_order(std::uint64_t client, std::unique_lock<std::mutex>& lock);
    static void tell(const request& r);
    bool end_early(const request& r, std::exception_ptr why, std::uint64_t serving_metrics::*counted);
    void take_out(const request& r, std::exception_ptr why);
    void late(const request& r);
    void fail_waiting(std::unique_lock<std::mutex>& lock);
    [[nodiscard]] std::string lost_devices() const; // the caller holds the guard
    bool any_device() const;
    // Weights; the caller holds `replacing_`.
    using loader = std::function<void(session&, weights&)>; // has these be as a checkpoint says
    void find_weights();
    void check_has_variables() const;
    std::vector<any_array> values_for(const std::string& source, const std::vector<std::string>& names,
                                      function_ref<const tensor_type*(const std::string&)> type_of,
                                      function_ref<any_array(const std::string&)> value_of) const;
    std::vector<any_array> values_in_manifest(session& s, const device& reader, const std::string& path,
                                              std::int64_t& step);
    loader prepared(session& s, const device& reader, const std::string& checkpoint, std::int64_t& step);
    void assign(session& s, weights& w, const std::vector<any_array>& values);
    std::vector<std::string> without_value(session& s, weights& w) const;
    std::vector<std::pair<device*, bool>> holders() const;
    std::shared_ptr<session> reaching(device& d) const;
    void set_all(const std::vector<std::pair<device*, std::shared_ptr<session>>>& to, const loader& load,
                 std::vector<std::pair<device*, std::string>> without, replacement& r);
    void bring_up_to_date(session& s, device& d);
    template <class F> void between_batches(F&& f, double& pause);
    void watch_loop(saver& from, const std::string& prefix, double seconds, std::uint64_t generation);
    void say(const std::string& line) const noexcept;

    model_server_options options_;
    model_signature signature_;
    std::optional<std::string> target_; // where it opens sessions itself
    std::vector<std::string> tasks_;    // that there were then
    graph graph_;
    std::vector<any_tensor> feeds_;
    std::vector<std::unique_ptr<device>> devices_;
    std::vector<any_tensor> own_; // variables that checkpoints give values to, as the first device has them
    deadlines limits_;

    mutable std::mutex guard_; // of what follows
    std::condition_variable changed_, room_, idle_, watched_;
    std::condition_variable
        end_; // what a lost device waits for: not `changed_`, of which each news is for one that serves
    batch_queue queue_;
    std::unordered_map<std::uint64_t, asker> clients_;
    serving_metrics counts_;
    clock::duration step_{}; // what a batch takes, about
    int computing_ = 0;      // batches
    bool closing_ = false, ended_ = false, swapping_ = false;
    std::uint64_t watching_ = 0;

    std::mutex replacing_;                           // weights change one at a time; of what follows
    std::optional<saver> saver_;                     // restores manifests of any name
    std::map<std::string, manifest_reader> readers_; // by task
    std::mutex closes_;
    std::thread watcher_; // under closes_
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/serve/local_model.ipp>
#endif
