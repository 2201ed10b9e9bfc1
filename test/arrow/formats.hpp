#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tenon/arrow.hpp>

/// Both formats, and what writes and reads them.
template <class F> void for_each_format(F f) {
    f(
        "parquet",
        [](const std::string& path, const auto& set, tenon::table_write_options o = {}) {
            tenon::write_parquet(path, set, o);
        },
        []<class... C>(tenon::data_set<C...>*, std::vector<std::string> files,
                       const tenon::data::table_read_options& o = {}) {
            return tenon::data::parquet<C...>(std::move(files), o);
        });
    f(
        "arrow_file",
        [](const std::string& path, const auto& set, tenon::table_write_options o = {}) {
            tenon::write_arrow(path, set, o);
        },
        []<class... C>(tenon::data_set<C...>*, std::vector<std::string> files,
                       const tenon::data::table_read_options& o = {}) {
            return tenon::data::arrow_file<C...>(std::move(files), o);
        });
}
template <class... C> inline tenon::data_set<C...>* const of = nullptr;
