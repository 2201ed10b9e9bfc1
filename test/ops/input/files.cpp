#include "tests.hpp"
#include "ops/untyped_run.hpp"

namespace {

tn::any_tensor text(const std::string& t) { return tn::constant(t); }

std::shared_ptr<const tn::any_array> names(const std::vector<std::string>& all) {
    tn::any_array a(tn::element_type::string, {static_cast<std::int64_t>(all.size())});
    std::copy(all.begin(), all.end(), a.data<std::string>());
    return std::make_shared<const tn::any_array>(std::move(a));
}

} // namespace

TEST_CASE_FIXTURE(in_graph_and_folder, "a text is written to a file, with the folders on the way, and read again") {
    const tn::any_tensor path = text(folder / "a/b/file");
    const std::string said = std::string("one\ntwo\0three", 13);
    const tn::any_tensor write = tn::add<tn::write_file_op>({}, {path, text(said)});
    const tn::any_tensor read = tn::add<tn::read_file_op>({}, {path});
    tn::session s;
    CHECK_THROWS_AS(s.run_untyped({}, {read}), tn::not_found_error);
    s.run_untyped({}, {}, {write.operation()});
    CHECK(s.run_untyped({}, {read})[0].data<std::string>()[0] == said);
    CHECK(read_bytes(folder / "a/b/file") == said);
    write_bytes(folder / "a/b/file", std::string(3 << 20, 'x')); // no value is kept
    CHECK(s.run_untyped({}, {read})[0].data<std::string>()[0] == std::string(3 << 20, 'x'));
}

TEST_CASE_FIXTURE(in_graph_and_folder, "files are listed and removed; those that are not there are no error") {
    write_bytes(folder / "b", "1");
    write_bytes(folder / "a", "2");
    const tn::any_tensor list = tn::add<tn::list_files_op>({}, {text(folder.path().string())});
    const tn::any_tensor nowhere = tn::add<tn::list_files_op>({}, {text(folder / "nowhere")});
    const tn::array<std::string, tn::shape<3>> three{folder / "b", folder / "absent", folder / "no/where"};
    const auto paths = tn::placeholder<std::string, tn::shape<3>>("paths");
    const tn::any_tensor remove = tn::add<tn::remove_files_op>({}, {paths});
    tn::session s;
    const auto found = s.run_untyped({}, {list, nowhere});
    REQUIRE(found[0].elements() == 2);
    CHECK(found[0].data<std::string>()[0] == "a");
    CHECK(found[0].data<std::string>()[1] == "b");
    CHECK(found[1].elements() == 0);
    s.run(tn::feed(paths, three), remove.operation());
    CHECK(s.run_untyped({}, {list})[0].elements() == 1);
}

TEST_CASE_FIXTURE(in_graph, "a shard is a safetensors file; its tensors are restored by name, and damage is found") {
    const temporary_folder folder;
    const std::string path = folder / "shard.safetensors";
    const auto w = tn::variable("w", tn::constant({{1.0f, 2.0f}, {3.0f, 4.0f}}));
    const auto n = tn::variable("n", std::int64_t{7});
    const auto none = tn::variable<float, tn::shape<0>>("none", tn::zeros());
    const tn::any_tensor save = tn::add<tn::save_shard_op>({names({"w", "n", "none"})}, {text(path), w, n, none});
    const auto files = tn::placeholder<std::string, tn::shape<tn::dyn>>("files");
    const auto tensors = tn::placeholder<std::string, tn::shape<tn::dyn>>("tensors");
    const auto pieces = tn::placeholder<std::int64_t, tn::shape<tn::dyn, 6>>("pieces");
    const tn::tensor_type wider{tn::element_type::float32, {3, 2}};
    tn::node* const restore =
        tn::add<tn::restore_shard_op>({{n.type(), w.type(), wider}}, {files, tensors, pieces}).node();
    const tn::any_tensor n_again({restore, 0}), w_again({restore, 1}), wider_again({restore, 2});
    tn::session s;
    CHECK_ERROR(tn::failed_precondition_error, "\"w\"", s.run_untyped({}, {save}));
    CHECK(folder.file_count() == 0);
    s.run(tn::initialize_variables());
    const tn::any_array is = std::move(s.run_untyped({}, {save})[0]);
    CHECK(is.data<std::int64_t>()[0] == static_cast<std::int64_t>(read_bytes(path).size()));
    CHECK(tn::read_safetensors(path).load<float>("w") == s.run(w));

    const std::int64_t bytes = is.data<std::int64_t>()[0], hash = is.data<std::int64_t>()[1];
    // Which rows of which tensor are which rows of which output.
    struct piece {
        const char* tensor;
        std::int64_t output, from_row, rows, to_row;
    };
    const std::vector<piece> all{{"w", 2, 0, 2, 1}, {"n", 0, 0, 1, 0}, {"w", 1, 0, 2, 0}, {"w", 2, 1, 1, 0}};
    const auto get = [&](const tn::any_tensor& t, const std::vector<piece>& of) {
        const auto count = static_cast<std::int64_t>(of.size());
        tn::any_array paths(tn::element_type::string, {count}), called(tn::element_type::string, {count});
        tn::any_array table(tn::element_type::int64, {count, 6});
        for (std::size_t p = 0; p < of.size(); ++p) {
            paths.data<std::string>()[p] = path;
            called.data<std::string>()[p] = of[p].tensor;
            const std::int64_t row[] = {of[p].output, bytes, hash, of[p].from_row, of[p].rows, of[p].to_row};
            std::copy(std::begin(row), std::end(row), table.data<std::int64_t>() + 6 * p);
        }
        return std::move(s.run_untyped(tn::test::fed(files, paths, tensors, called, pieces, table), {t})[0]);
    };
    CHECK(get(n_again, all).data<std::int64_t>()[0] == 7);
    CHECK(get(w_again, all) == s.run(w).untyped());
    const tn::array<float, tn::shape<3, 2>> joined{{3, 4}, {1, 2}, {3, 4}};
    CHECK(get(wider_again, all) == joined.untyped());
    // What is asked for is held against what is there, whoever asks.
    const auto refuses = [&](const tn::any_tensor& t, piece wrong, const char* words) {
        CHECK_ERROR(tn::error, words, get(t, {wrong}));
    };
    refuses(w_again, {"w", 1, 0, 1, 0}, "once each");
    refuses(w_again, {"w", 1, 0, 2, 1}, "once each");
    refuses(w_again, {"w", 1, 0, -1, 0}, "once each");
    refuses(w_again, {"w", 1, 0, 9, 0}, "once each");
    refuses(w_again, {"w", 1, 1, 2, 0}, "asked for");
    refuses(w_again, {"w", 1, -1, 2, 0}, "asked for");
    refuses(w_again, {"w", 3, 0, 2, 0}, "output 3");
    refuses(w_again, {"w", -1, 0, 2, 0}, "output -1");
    refuses(w_again, {"n", 1, 0, 2, 0}, "'n' is");
    refuses(w_again, {"none", 1, 0, 2, 0}, "'none' is");
    refuses(w_again, {"absent", 1, 0, 2, 0}, "no tensor 'absent'");
    CHECK_ERROR(tn::invalid_argument_error, "once each", get(w_again, {all[2], all[2]}));

    std::string damaged = read_bytes(path);
    damaged[damaged.size() - 5] ^= 1;
    write_bytes(path, damaged);
    CHECK_ERROR(tn::data_loss_error, "shard.safetensors", get(w_again, all));
    write_bytes(path, damaged.substr(1));
    CHECK_ERROR(tn::data_loss_error, "bytes", get(w_again, all));
}

TEST_CASE_FIXTURE(in_graph, "what a rule of these ops does not take is said in its words") {
    const auto x = tn::constant(1.0f);
    CHECK_ERROR(tn::invalid_argument_error, "one text", tn::add<tn::read_file_op>({}, {x}));
    CHECK_ERROR(tn::invalid_argument_error, "each name",
                tn::add<tn::save_shard_op>({names({"a", "b"})}, {text("p"), x}));
}
