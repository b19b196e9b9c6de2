#include "core/definition/foreign_names.h"

#include <algorithm>

namespace feedmill {
namespace {

struct Answer {
  std::string_view of;     // the step that has the option; "": any
  std::string_view names;  // separated by spaces
  std::string_view text;
};

// Answers for one step come before those for any step.
constexpr Answer kAnswers[] = {
    {"shuffle", "buffer_size",
     "`shuffle: {window: N}` shuffles N elements at a time, `shuffle:` alone "
     "shuffles all of them"},
    {"batch", "batch_size", "here it is `size`: `batch: {size: 32}`"},
    {"shard", "num_shards shard_count", "here it is `count`"},
    {"shard", "shard_index", "here it is `index`"},
    {"cache", "filename cache_dir directory folder",
     "here it is `path`, a folder: `cache: {path: kept/}`, or `cache: kept/`"},
    {"",
     "prefetch prefetch_to_device prefetch_factor prefetch_batches "
     "prefetch_buffer_size prefetch_size read_ahead max_outstanding_requests",
     "feedmill reads ahead by itself; leave it out"},
    {"",
     "num_workers num_parallel_calls num_parallel_reads num_parallel_batches "
     "num_threads max_workers worker_count worker_buffer_size concurrency "
     "parallelism num_cpus private_threadpool_size max_intra_op_parallelism",
     "all threads are used by default; leave it out. Their number is `feedmill "
     "worker --threads N`, or `feedmill read --local --threads N`"},
    {"", "autotune", "feedmill sets this value by itself; leave it out"},
    {"", "deterministic sloppy",
     "order is an option of the whole pipeline: `options: {order: "
     "deterministic}`, or `any`"},
    {"", "persistent_workers worker_init_fn multiprocessing_context mp_context",
     "workers are processes of their own, `feedmill worker`; leave it out"},
    {"", "pin_memory pin_memory_device",
     "copying to a device is the trainer's part; leave it out"},
    {"", "map_batches map_batch",
     "write `map` after `batch`: its expressions then see whole batches"},
    {"", "map_and_batch", "write `map`, then `batch`"},
    {"", "shuffle_and_repeat",
     "write `shuffle`, then `repeat`: each pass is shuffled again"},
    {"", "reshuffle_each_iteration reshuffle",
     "each pass of a `repeat` after a `shuffle` is shuffled again; leave it "
     "out"},
    {"", "buffer_size", "feedmill sizes its buffers by itself; leave it out"},
    {"",
     "shuffle_buffer shuffle_buffer_size shuffle_size "
     "local_shuffle_buffer_size",
     "write the step `shuffle: {window: N}`; `shuffle:` alone shuffles all "
     "elements"},
    {"", "random_shuffle global_shuffle shuffle_all",
     "write `shuffle:`, which shuffles all elements"},
    {"", "randomize_block_order",
     "write `shuffle: {block: 128, window: 8}`, or `shuffle: {files: true}` as "
     "the first step"},
    {"", "shuffle_files", "write `shuffle: {files: true}` as the first step"},
    {"", "random_seed manual_seed shuffle_seed local_shuffle_seed",
     "write `options: {seed: N}`, or `shuffle: {seed: N}`"},
    {"", "drop_last drop_last_batch drop_incomplete",
     "here it is `drop_remainder`: `batch: {size: 32, drop_remainder: true}`"},
    {"", "batch_size", "write the step `batch: N`"},
    {"", "collate_fn collate",
     "`batch` stacks rows; for rows of different lengths there are "
     "`padded_batch` and `ragged_batch`"},
    {"", "dense_to_ragged_batch", "write `ragged_batch`"},
    {"", "padding_values", "here it is `values`: `values: {tokens: -1}`"},
    {"", "padded_shapes pad_to",
     "here it is `shapes`: `shapes: {tokens: 128}`"},
    {"", "bucket_boundaries", "here it is `boundaries`"},
    {"", "bucket_batch_sizes", "here it is `batch_sizes`"},
    {"", "group_by_window bucket bucket_by_length",
     "write `bucket_by_sequence_length`"},
    {"", "element_length_func", "here it is `component`, whose length counts"},
    {"", "sampler batch_sampler weights_sampler",
     "write `shuffle`, `shard` or a `mixture` source with weights, which say "
     "what is read in which order"},
    {"", "num_replicas num_replicas_in_sync rank world_size shard_options",
     "each trainer reads its part: `feedmill read --job NAME --consumer "
     "RANK/RANKS`"},
    {"", "num_shards shard_count shard_index",
     "write the step `shard: {count: 8, index: 3}`"},
    {"", "snapshot materialize persist save",
     "write `cache: FOLDER/`, which keeps what the steps before it make"},
    {"", "interleave parallel_interleave",
     "it is a source: `source: {interleave: {inputs: […]}}`"},
    {"", "zip", "it is a source: `source: {zip: […]}`"},
    {"", "concatenate concat concat_datasets chain chain_dataset union",
     "it is a source: `source: {concatenate: […]}`"},
    {"",
     "mixture mix sample_from_datasets choose_from_datasets weighted_sample",
     "it is a source: `source: {mixture: {inputs: […], weights: […]}}`"},
    {"", "ignore_errors skip_errors drop_errors", "write `on_error: skip`"},
    {"", "limit", "write `take: N`"},
    {"", "epochs num_epochs", "write the step `repeat: N`"},
    {"", "add_column with_column assign",
     "write `with_columns: {name: expression, …}`"},
    {"", "select_columns keep_columns", "write `select: [name, …]`"},
    {"", "drop_columns remove_columns delete_column",
     "write `drop: [name, …]`"},
    {"", "rename_columns rename_column", "write `rename: {old: new, …}`"},
    {"", "py_function numpy_function map_fn apply",
     "write an expression in `map`; functions in C or C++ come from plugins "
     "(docs/plugins.md)"},
    {"", "distribute",
     "a pipeline is read through a service by `feedmill read --service "
     "HOST:PORT`"},
    {"", "job_name",
     "here it is `job`: `options: {job: NAME}`, or `--job NAME`"},
    {"", "with_options", "write `options:` beside `source:` and `steps:`"},
    {"", "from_tensor_slices from_tensors from_numpy numpy",
     "arrays are read from files: `source: {npy: {files: …}}`"},
    {"", "from_generator generator",
     "elements are read from files: write them to jsonl or TFRecord"},
    {"", "text_line textline text_line_dataset textlinedataset read_text",
     "write `source: {text: …}`"},
    {"", "image_folder imagefolder image_dataset_from_directory read_images",
     "write `source: {images: {files: …}}`"},
    {"", "tfrecorddataset read_tfrecords", "write `source: {tfrecord: …}`"},
    {"", "list_files glob", "each source takes globs: `files: \"data/*.csv\"`"},
};

char PlainChar(char c) {
  if (c == '-') return '_';
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool SameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return PlainChar(x) == PlainChar(y);
  });
}

bool HasName(const Answer& answer, std::string_view name) {
  std::string_view left = answer.names;
  while (!left.empty()) {
    const size_t end = std::min(left.find(' '), left.size());
    if (SameName(left.substr(0, end), name)) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

}  // namespace

std::string_view AnswerToForeignName(std::string_view name,
                                     std::string_view where) {
  for (const Answer& answer : kAnswers) {
    if (where.ends_with(answer.of) && HasName(answer, name)) return answer.text;
  }
  return "";
}

}  // namespace feedmill
