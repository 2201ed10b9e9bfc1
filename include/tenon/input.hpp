#pragma once

/// Tenon's input: everything between files and a training step, and the rest of Tenon. The public headers in the order in which
/// they build on each other; each can be included alone.

#include <tenon/tenon.hpp> // models and what runs them
#include <tenon/image.hpp> // images

#include <tenon/io/files/file_system.hpp>     // files by name, here and elsewhere
#include <tenon/io/files/compressed.hpp>      // gzip, zlib and zstd around them
#include <tenon/io/records/records.hpp>       // files as records: lines, fixed lengths, TFRecord, IDX
#include <tenon/io/records/record_source.hpp> // opening them
#include <tenon/io/records/record_writer.hpp> // and written: TFRecord, CSV, lines of text
#include <tenon/io/numpy/npy.hpp>             // NumPy's arrays
#include <tenon/io/numpy/npz.hpp>             // several of them in a file
#include <tenon/io/audio/wav.hpp>             // sound
#include <tenon/io/records/tar.hpp>           // files in tar archives
#include <tenon/io/files/crc32c.hpp>          // the checksum of TFRecords
#include <tenon/io/example/example.hpp>       // tf.Example and tf.SequenceExample
#include <tenon/io/text/csv.hpp>              // records of comma-separated values
#include <tenon/io/text/json_lines.hpp>       // records that are JSON objects
#include <tenon/io/text/regex_replacer.hpp>   // replaces what matches a pattern
#include <tenon/io/text/json_tokenizer.hpp>   // Hugging Face's tokenizer.json
#include <tenon/io/text/tokenizer.hpp>        // texts as numbers: words, byte pairs

#include <tenon/ops/input/epochs.hpp>        // the order of an epoch
#include <tenon/ops/text/strings.hpp>        // string_split, to_number, regex_replace, ...
#include <tenon/ops/input/decode.hpp>        // decode_csv, decode_json, decode_raw
#include <tenon/ops/input/reader.hpp>        // readers: records of files, whose names come from a queue
#include <tenon/ops/input/iterator.hpp>      // places in data sets
#include <tenon/ops/input/parse_example.hpp> // features of tf.Example and tf.SequenceExample

#include <tenon/train/input/batch.hpp>           // batches of what a graph makes one by one
#include <tenon/train/input/producers.hpp>       // queues filled with file names, numbers, slices of tensors
#include <tenon/train/input/device_prefetch.hpp> // elements that lie on a device before the step that uses them

#include <tenon/data/data_set.hpp>          // elements one after another, and the steps between them
#include <tenon/data/from.hpp>              // where they come from: arrays, files, functions
#include <tenon/data/csv.hpp>               // tables of comma-separated values
#include <tenon/data/tar.hpp>               // samples in tar archives
#include <tenon/data/tables/csv_schema.hpp> // such as nobody has described
#include <tenon/data/tables/json_lines.hpp> // JSON objects in lines
#include <tenon/data/take_while.hpp>        // the beginning, as far as a condition holds
#include <tenon/data/classes.hpp>           // splits by class, weights of classes
#include <tenon/data/generator.hpp>         // coroutines that give elements
#include <tenon/data/statistics.hpp>        // what their numbers are like
#include <tenon/data/iterator.hpp>          // data sets in graphs
