#pragma once

#include <memory>

#include <tenon/io/records/record_source.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/resources/reader.hpp>
#include <tenon/ops/queue/queue.inl>

/// The kernels of ops/input/reader.hpp, and what reader a node stands for.

namespace tenon::detail {

inline record_format format_of(const reader_op::attributes& a) {
    return {.kind = a.kind,
            .compressed = a.compressed,
            .skip_header_lines = a.skip_header_lines,
            .header_bytes = a.header_bytes,
            .record_bytes = a.record_bytes,
            .footer_bytes = a.footer_bytes,
            .largest_record = a.largest_record,
            .ignore_errors = a.ignore_errors};
}
inline record_format format_of(record_kind kind, const record_reader_options& o) {
    return {
        .kind = kind, .compressed = o.compressed, .largest_record = o.largest_record, .ignore_errors = o.ignore_errors};
}

// The reader that a node stands for, on the device that `s` is for.
inline std::shared_ptr<reader_resource> reader_of(const node& n, const kernel_setup& s) {
    require_made_by<reader_op>(n, s, "reader");
    const auto a = decode<reader_op::attributes>(n.attributes);
    const resource_identity id(n, a.shared_name, s);
    const record_format f = format_of(a);
    auto r = s.resources->find_or_make<reader_resource>(id.container, id.name,
                                                        [&] { return std::make_shared<reader_resource>(id.name, f); });
    if (!(r->format() == f))
        throw invalid_argument_error("reader " + id.shown() +
                                     " exists, and reads records of another kind, or with other options");
    return r;
}
inline std::shared_ptr<reader_resource> used_reader(const kernel_setup& s) {
    return reader_of(*s.node.inputs[0].node, s);
}

struct reader_kernel final : kernel {
    explicit reader_kernel(const kernel_setup& s) : reader(reader_of(s.node, s)) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) *r.output<std::int64_t>(0) = reader->records_produced();
    }
    double cost() const override { return 2; }
    std::shared_ptr<reader_resource> reader;
};

struct reader_reset_kernel final : kernel {
    explicit reader_reset_kernel(const kernel_setup& s) : reader(used_reader(s)) {}
    void run(const kernel_run&) override { reader->reset(); }
    std::shared_ptr<reader_resource> reader;
};

struct reader_count_kernel final : kernel {
    explicit reader_count_kernel(const kernel_setup& s) :
        reader(used_reader(s)), counted(decode<reader_count_op::attributes>(s.attrs).counted) {}
    void run(const kernel_run& r) override {
        using what = reader_count_op::what;
        *r.output<std::int64_t>(0) = counted == what::records_produced       ? reader->records_produced()
                                     : counted == what::work_units_completed ? reader->work_units_completed()
                                                                             : reader->records_ignored();
    }
    std::shared_ptr<reader_resource> reader;
    reader_count_op::what counted;
};

class reader_wait final : public wait, private read_attempt {
public:
    reader_wait(std::shared_ptr<reader_resource> r, std::shared_ptr<queue_resource> from, const file_access& allowed,
                std::int64_t count) :
        reader_(std::move(r)), count_(count) {
        names = std::move(from);
        files = allowed;
    }

    void start(const step&, completion& then) override {
        then_ = &then;
        read_attempt::keeps = wait::keeps;
        values.clear();
        values.resize(2); // what may fail is done before anything is begun
        if (count_ < 0) reader_->read(*this);
        else reader_->read_up_to(*this, count_);
    }
    bool stop() noexcept override { return reader_->stop(*this); }
    void give_back() noexcept override { reader_->give_back(*this); }
    void let_go() noexcept override { reader_->let_go(*this); }
    std::string awaited() const override { return reader_->awaited(*this); }

private:
    void completed(std::exception_ptr failure) noexcept override {
        if (!failure) {
            values[0] = std::move(read_keys);
            values[1] = std::move(read_values);
        }
        then_->completed(std::move(failure)); // whoever is told may start it anew
    }

    const std::shared_ptr<reader_resource> reader_;
    const std::int64_t count_; // -1: a single one
    completion* then_ = nullptr;
};

class reading_kernel final : public waiting_kernel {
public:
    reading_kernel(const kernel_setup& s, std::int64_t count) :
        reader_(used_reader(s)),
        names_(queue_of(*s.node.inputs[1].node, s)),
        files_(s.files ? *s.files : file_access()),
        count_(count) {
        if (names_->description().components != std::vector<tensor_type>{{element_type::string, {}}})
            throw invalid_argument_error(s.node.name + ": file names are scalar strings, and " +
                                         s.node.inputs[1].node->name + " is a " + to_string(names_->description()));
    }
    std::unique_ptr<wait> make_wait() const override {
        return std::make_unique<reader_wait>(reader_, names_, files_, count_);
    }
    bool takes() const override { return true; }

private:
    std::shared_ptr<reader_resource> reader_;
    std::shared_ptr<queue_resource> names_;
    file_access files_;
    std::int64_t count_;
};

} // namespace tenon::detail
