// Going through the rows of files. Part of table_reading.ipp, within its namespace.

// Elements, or batches of n of them.
class arrow_table_node::stream final : public element_stream {
public:
    stream(const arrow_table_node& n, pipeline& p, std::int64_t batch, bool drop) :
        node_(n), batch_(batch), drop_(drop), copied_(p.options().copied_files) {
        for (const arrow_field& f : n.fields_) {
            std::vector<std::int64_t>& s = sizes_.emplace_back();
            std::size_t bytes = size_of(f.type.element);
            for (int k = 0; k < f.type.extents.rank(); ++k) {
                s.push_back(f.type.extents[k].size);
                bytes *= static_cast<std::size_t>(std::max<std::int64_t>(s.back(), 0));
            }
            row_bytes_.push_back(bytes);
        }
        in_memory_.resize(n.fields_.size());
    }

    bool next(data_element& x) override {
        x.clear();
        if (batch_ == 0) return next_row(x);
        if (rows_ == 0 && here() && left() >= batch_ && next_whole(x)) return true;
        while (rows_ < batch_ && here()) {
            const std::int64_t n = std::min(batch_ - rows_, left());
            make_room(rows_ + n);
            take(n);
        }
        const std::int64_t count = std::exchange(rows_, 0);
        const bool given = count > 0 && !(drop_ && count < batch_);
        if (given)
            for (any_array& m : memory_) x.push_back(count == room_ ? std::move(m) : m.slice(0, count));
        memory_.clear();
        return given;
    }

    void save(state_writer& to) override {
        to.number(static_cast<std::uint64_t>(rows_));
        if (rows_ > 0) {
            std::vector<any_array> held;
            for (any_array& m : memory_) held.push_back(m.slice(0, rows_));
            to.element(held);
        }
        to.number(next_file_);
        to.number(source_ != nullptr);
        if (!source_) return;
        record_position at{.records = static_cast<std::uint64_t>(first_ + at_),
                           .lines = static_cast<std::uint64_t>(group_)};
        save_mark(to, at, mark_);
    }
    void restore(state_reader& from) override {
        rows_ = static_cast<std::int64_t>(
            from.number(0, static_cast<std::uint64_t>(std::max<std::int64_t>(batch_ - 1, 0))));
        if (rows_ > 0) {
            std::vector<tensor_type> types;
            for (std::size_t c = 0; c < sizes_.size(); ++c) types.push_back(type_of(c, rows_));
            memory_ = from.element(types);
            room_ = rows_;
        }
        next_file_ = static_cast<std::size_t>(from.number(0, node_.files_.size()));
        if (from.number(0, 1) == 0) return;
        if (next_file_ == 0) from.damaged("no file was open");
        record_position at;
        file_mark was;
        restore_mark(from, at, was);
        --next_file_;
        open_next();
        require_same_file(from, file(), difference(was, mark_, !copied_));
        go_to(from, at);
    }

private:
    const std::string& file() const { return node_.files_[next_file_ - 1]; }
    std::string where() const { return node_.step() + ": '" + file() + "'"; }
    std::int64_t left() const { return rows_here_->num_rows() - at_; }
    tensor_type type_of(std::size_t c, std::int64_t rows) const {
        tensor_type t = node_.fields_[c].type;
        t.extents.insert(0, rows);
        return t;
    }

    void open_next() {
        ++next_file_;
        leave(0);
        source_.reset();
        auto opened = open_table(node_.format_, file(), where(), node_.decoded_rows_, mark_);
        leaves_ = node_.columns_in(opened->schema(), where());
        opened->choose(leaves_);
        // Two components may be of one column; batches have the columns in the file's order.
        std::set<int> chosen;
        for (const leaf_column& l : leaves_) chosen.insert(l.column);
        place_.clear();
        for (const leaf_column& l : leaves_)
            place_.push_back(static_cast<int>(std::distance(chosen.begin(), chosen.find(l.column))));
        source_ = std::move(opened);
    }
    // No batch is there; the next row is the first of this group.
    void leave(std::int64_t group) {
        rows_here_.reset();
        columns_.clear();
        group_ = group;
        first_ = at_ = 0;
    }
    // The next rows, of this file or the next one. False: there are none.
    bool here() {
        while (!rows_here_ || left() == 0) {
            if (!source_) {
                if (next_file_ == node_.files_.size()) return false;
                open_next();
            }
            if (!next_batch()) source_.reset();
        }
        return true;
    }
    bool next_batch() {
        arrow_batches::pointer b;
        std::vector<std::shared_ptr<::arrow::Array>> columns;
        try {
            b = source_->next();
            for (std::size_t c = 0; b && c < place_.size(); ++c)
                columns.push_back(rows_of_leaf(b->column(place_[c]), leaves_[c].fields));
        } catch (...) {
            leave(source_->group() + 1);
            throw;
        }
        if (!b) return false;
        const std::int64_t before = first_ + (rows_here_ ? rows_here_->num_rows() : 0);
        const bool same_group = source_->group() == group_;
        rows_here_ = std::move(b);
        group_ = source_->group();
        first_ = same_group ? before : 0;
        at_ = 0;
        columns_ = std::move(columns);
        for (std::size_t c = 0; c < place_.size(); ++c) {
            const tensor_type& row = node_.fields_[c].type;
            in_memory_[c] = row.extents.is_static() ? rows_in_memory(*columns_[c], row) : nullptr;
        }
        return true;
    }
    void go_to(state_reader& from, const record_position& at) {
        auto past = static_cast<std::int64_t>(at.records);
        const auto group = static_cast<std::int64_t>(at.lines);
        if (group < 0 || past < 0 || !source_->go_to(group)) from.damaged("it has fewer groups of rows than it had");
        leave(group);
        while (past > 0) {
            if (!next_batch() || group_ != group) from.damaged("a group of rows is shorter than it was");
            at_ = std::min(past, rows_here_->num_rows());
            past -= at_;
        }
    }

    void copy(std::size_t c, std::int64_t n, std::span<const std::int64_t> sizes, void* to) const {
        if (in_memory_[c])
            std::memcpy(to, in_memory_[c] + static_cast<std::size_t>(at_) * row_bytes_[c],
                        static_cast<std::size_t>(n) * row_bytes_[c]);
        else copy_rows(*columns_[c], at_, at_ + n, sizes, node_.fields_[c].type.element, node_.missing_[c], to);
    }
    // Of the row that is next, in the words of its column.
    template <class F> void told(std::size_t c, F f) {
        try {
            f();
        } catch (const error& e) {
            throw_error(e, where() + ", row " + std::to_string(first_ + at_) + " of " + source_->unit() + " " +
                               std::to_string(group_) + ", column " + shown_text(leaves_[c].name) + ": " + e.what());
        }
    }

    bool next_row(data_element& x) {
        if (!here()) return false;
        try {
            for (std::size_t c = 0; c < sizes_.size(); ++c)
                told(c, [&] {
                    std::vector<std::int64_t>& sizes = sizes_[c];
                    if (!node_.fields_[c].type.extents.is_static()) sizes[0] = length_of_row(c);
                    any_array a(node_.fields_[c].type.element, extents(std::span<const std::int64_t>(sizes)));
                    copy(c, 1, sizes, a.data());
                    x.push_back(std::move(a));
                });
        } catch (...) {
            ++at_; // who goes on gets the one behind it
            x.clear();
            throw;
        }
        ++at_;
        return true;
    }
    // The first size of a list of any length, whose other sizes are numbers.
    std::int64_t length_of_row(std::size_t c) const {
        const ::arrow::Array& a = storage_of(*columns_[c]);
        if (a.type_id() == ::arrow::Type::NA || a.IsNull(at_)) return 0;
        const lists_of lists(a);
        const auto [first, last] = lists[at_];
        std::int64_t each = 1;
        if (!holds_lists(*lists.values.type()))
            for (std::size_t k = 1; k < sizes_[c].size(); ++k) each *= sizes_[c][k];
        if (each == 0 || (last - first) % each != 0)
            throw invalid_argument_error("a list holds " + std::to_string(last - first) +
                                         " elements, which is no multiple of " + std::to_string(each));
        return (last - first) / each;
    }

    // A batch that lies within the rows that are there: columns that lie in memory as it has them are shared. False: some row is none,
    // which take() finds.
    bool next_whole(data_element& x) {
        for (std::size_t c = 0; c < sizes_.size(); ++c) {
            const tensor_type t = type_of(c, batch_);
            if (in_memory_[c]) {
                auto keep = std::make_unique<std::shared_ptr<::arrow::Array>>(columns_[c]);
                // Nobody else reads these rows: who owns them may write.
                auto* const data =
                    const_cast<std::byte*>(in_memory_[c]) + static_cast<std::size_t>(at_) * row_bytes_[c];
                x.push_back(any_array::adopt(
                    data, t.element, t.extents,
                    [](void* context, void*) { delete static_cast<std::shared_ptr<::arrow::Array>*>(context); },
                    keep.get()));
                (void)keep.release();
                continue;
            }
            any_array a(t.element, t.extents);
            try {
                copy(c, batch_, sizes_[c], a.data());
            } catch (const error&) {
                x.clear();
                return false;
            }
            x.push_back(std::move(a));
        }
        at_ += batch_;
        return true;
    }

    void make_room(std::int64_t rows) {
        if (memory_.empty()) {
            room_ = std::max(std::min(batch_, rows_at_first), rows);
            for (std::size_t c = 0; c < sizes_.size(); ++c) {
                const tensor_type t = type_of(c, room_);
                memory_.emplace_back(t.element, t.extents);
            }
        } else if (rows > room_) {
            room_ = std::min(batch_, std::max(rows, 2 * room_));
            for (any_array& m : memory_) m = with_room(std::move(m), rows_, room_);
        }
    }
    void* row(std::size_t c) {
        return static_cast<std::byte*>(memory_[c].data()) + static_cast<std::size_t>(rows_) * row_bytes_[c];
    }
    // n rows into memory. Of rows of which one is none those before it are taken, and it is passed over.
    void take(std::int64_t n) {
        try {
            for (std::size_t c = 0; c < sizes_.size(); ++c) copy(c, n, sizes_[c], row(c));
        } catch (const error&) {
            for (; n > 0; --n, ++at_, ++rows_) {
                try {
                    for (std::size_t c = 0; c < sizes_.size(); ++c) told(c, [&] { copy(c, 1, sizes_[c], row(c)); });
                } catch (...) {
                    ++at_;
                    throw;
                }
            }
            return;
        }
        at_ += n;
        rows_ += n;
    }

    const arrow_table_node& node_;
    const std::int64_t batch_; // 0: single elements
    const bool drop_, copied_;
    std::vector<std::vector<std::int64_t>>
        sizes_; // of a row of each component; a first one that is no number is that of this row
    std::vector<std::size_t> row_bytes_;

    std::size_t next_file_ = 0;
    file_mark mark_;
    std::unique_ptr<arrow_batches> source_;
    std::vector<leaf_column> leaves_; // that the components are
    std::vector<int> place_;          // of each one's column in a batch
    arrow_batches::pointer rows_here_;
    std::vector<std::shared_ptr<::arrow::Array>> columns_;
    std::vector<const std::byte*> in_memory_; // the first row of each, where they lie as a component has them
    std::int64_t group_ = 0, first_ = 0,
                 at_ = 0; // the batch is of a group, in which so many rows stand before it; the next row in it
    std::vector<any_array> memory_;    // a batch that is being made
    std::int64_t room_ = 0, rows_ = 0; // rows that it has room for, and has
};
