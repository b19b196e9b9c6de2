#include "core/dataset/foreign_names.h"

#include <algorithm>
#include <cstddef>

#include "core/base/status.h"
#include "core/dataset/nearest_name.h"

namespace feedmill {
namespace {

struct Answer {
  // The step that has the option, or kFunctions; "": any place.
  std::string_view of;
  // Separated by spaces. Case, '_' and '-' do not count.
  std::string_view names;
  // Code between backquotes is YAML.
  std::string_view text;
};

constexpr std::string_view kMap = "map";
constexpr std::string_view kThreads =
    "all threads are used by default; leave it out. Their number is `feedmill "
    "worker --threads N`, or `feedmill read --local --threads N`";
constexpr std::string_view kOrder =
    "leave it out; the order is an option of the whole pipeline: `options: "
    "{order: deterministic}`, or `any`";

constexpr std::string_view kSourceNames =
    "arrow csv images jsonl npy parquet range text tfrecord webdataset";
constexpr std::string_view kUnderSource =
    "it is a source, as in `source: {csv: houses.csv}`";

// Answers for one step or for functions come before those for any place.
constexpr Answer kAnswers[] = {
    {"the pipeline", kSourceNames, kUnderSource},
    {"an input", kSourceNames, kUnderSource},
    {"the pipeline", "seed order even",
     "it is an option, as in `options: {seed: 7}`"},
    {"the pipeline", "batch filter map shuffle repeat",
     "it is a step, an item of `steps`"},
    {kMap,
     "num_parallel_calls num_parallel_batches num_workers num_proc "
     "concurrency num_cpus",
     kThreads},
    {kMap, "deterministic", kOrder},
    {kMap, "batched batch_format writer_batch_size drop_last_batch",
     "write `map` after `batch`: its expressions then see whole batches"},
    {kMap, "with_indices with_rank",
     "write `enumerate` before `map`, which then has the component `index`"},
    {kMap, "remove_columns",
     "`map` makes exactly the components that it names; leave it out"},
    {kMap, "on_error ignore_errors", "write the step `on_error: skip`"},
    {kMap, "drop_remainder", "it is an option of `batch`"},
    {kMap, "block_length cycle_length",
     "they are options of a source: `source: {interleave: {inputs: […]}}`"},
    {kMap,
     "python memory_bytes input_columns synchronous use_unbounded_threadpool",
     "leave it out: the names of a `map` are components"},
    {kMap, "load_from_cache_file keep_in_memory",
     "write `cache: FOLDER/` after `map`"},
    {"read", "shuffle", "write the step `shuffle:`"},
    {kFunctions, "resize resize_with_pad resize_bilinear",
     "write `image.resize(x, height, width, 'bilinear')`"},
    {kFunctions, "shuffle permutation randperm",
     "the step `shuffle` orders elements"},
    {kFunctions, "batch stack_batch", "write the step `batch: N`"},
    {kFunctions, "random rand uniform random_uniform",
     "write `random.uniform(low, high)`"},
    {kFunctions, "randint integers random_integers",
     "write `random.integers(low, high)`"},
    {kFunctions, "randn normal random_normal truncated_normal",
     "write `random.normal(mean, sd)`"},
    {kFunctions, "str string as_string", "write `to_string(n)` of an integer"},
    {kFunctions, "int float as_type astype to_dtype",
     "write `cast(x, float32)`; of a text `to_number(x, float32)`"},
    {kFunctions, "reduce_sum", "write `sum(x)`"},
    {kFunctions, "reduce_mean", "write `mean(x)`"},
    {kFunctions, "reduce_max amax", "write `max(x)`"},
    {kFunctions, "reduce_min amin", "write `min(x)`"},
    {kFunctions, "if if_else ifelse cond when select",
     "write `where(condition, a, b)`"},
    {kFunctions, "squeeze unsqueeze expand_dims view",
     "write `reshape(x, [n, -1])`"},
    {kFunctions, "permute swapaxes", "write `transpose(x, [axes])`"},
    {kFunctions, "pad constant_pad", "write `pad_to(x, length, value)`"},
    {kFunctions, "take take_along_axis index_select",
     "write `gather(x, indices)`"},
    {kFunctions, "concatenate cat hstack vstack", "write `concat(a, b, axis)`"},
    {kFunctions, "regex_replace sub", "write `re_replace(s, r'…', '…')`"},
    {kFunctions, "regex_full_match match", "write `re_match(s, r'^…$')`"},
    {kFunctions, "string_split", "write `split(s, ' ')`"},
    {kFunctions, "string_to_number", "write `to_number(s, float32)`"},
    {kFunctions,
     "string_to_hash_bucket to_hash_bucket to_hash_bucket_fast hash",
     "write `hash_bucket(s, n)`"},
    {kFunctions, "digitize searchsorted discretization cut",
     "write `bucketize(x, boundaries)`"},
    {kFunctions, "string_lookup static_hash_table lookup",
     "write `vocabulary(s, 'words.txt')`"},
    {kFunctions, "strptime to_datetime", "write `parse_date(s, '%Y-%m-%d')`"},
    {"shuffle", "buffer_size",
     "`shuffle: {window: N}` shuffles N elements at a time, `shuffle:` alone "
     "shuffles all of them"},
    {"batch", "batch_size", "here it is `size`: `batch: {size: 32}`"},
    {"csv", "sep separator", "here it is `delimiter`"},
    {"csv", "dtype dtypes schema_overrides column_types",
     "here it is `types`: `csv: {files: x.csv, types: {age: float32}}`"},
    {"csv", "na_values null_values", "here it is `missing`"},
    {"csv", "skiprows skip_lines", "here it is `skip_rows`"},
    {"csv", "usecols columns include_columns select_columns",
     "write the step `select: [name, …]`; other columns are not parsed then"},
    {"csv", "names column_names",
     "write `csv: {files: x.csv, header: false}`, whose columns are f0, f1, "
     "…, and the step `rename: {f0: name}`"},
    {"csv", "parse_dates", "write `with_columns: {day: \"parse_date(day)\"}`"},
    {"parquet", "filters filter predicate",
     "write the step `filter: \"year == 2025\"`, which skips row groups by "
     "their statistics"},
    {"resize", "size", "here they are `height` and `width`"},
    {"shard", "num_shards shard_count", "here it is `count`"},
    {"shard", "shard_index", "here it is `index`"},
    {"cache", "filename cache_dir directory folder dir",
     "here it is `path`, a folder: `cache: {path: kept/}`, or `cache: kept/`"},
    {"",
     "prefetch prefetch_to_device prefetch_factor prefetch_batches "
     "prefetch_buffer_size prefetch_size read_ahead max_outstanding_requests",
     "feedmill reads ahead by itself; leave it out"},
    {"",
     "num_workers num_parallel_calls num_parallel_reads num_parallel_batches "
     "num_threads max_workers worker_count worker_buffer_size concurrency "
     "parallelism num_cpus num_proc private_threadpool_size "
     "max_intra_op_parallelism",
     kThreads},
    {"", "autotune", "feedmill sets this value by itself; leave it out"},
    {"", "deterministic sloppy", kOrder},
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
    {"", "padding_values padding_value pad_value fill_value",
     "here it is `values`: `padded_batch: {size: 32, values: {tokens: -1}}`"},
    {"", "padded_shapes pad_to",
     "here it is `shapes`: `padded_batch: {size: 32, shapes: {tokens: 128}}`"},
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
    {"", "mixture mix sample_from_datasets choose_from_datasets",
     "it is a source: `source: {mixture: {inputs: […], weights: […]}}`"},
    {"", "weighted_random_sampler class_balanced_sampler oversample",
     "write `weighted_sample: {weights: […]}`, or `{classes: […]}`, which "
     "balances classes"},
    {"", "ignore_errors skip_errors drop_errors", "write `on_error: skip`"},
    {"", "limit", "write `take: N`"},
    {"", "where", "write `filter: \"x > 0\"`"},
    {"", "normalize per_image_standardization",
     "write `image.normalize(x, [mean, …], [std, …])` in the expression of a "
     "`map`; it does not scale"},
    {"", "to_tensor pil_to_tensor convert_image_dtype to_float",
     "write `cast(x, float32) / 255` in the expression of a `map`; "
     "`image.to_chw(x)` puts the channels first"},
    {"", "center_crop central_crop resize_with_crop_or_pad",
     "write `image.central_crop(x, height, width)` in the expression of a "
     "`map`"},
    {"", "crop crop_to_bounding_box",
     "write `image.crop(x, top, left, height, width)` in the expression of a "
     "`map`"},
    {"", "random_crop",
     "write `image.random_crop(x, height, width)` in the expression of a "
     "`map`"},
    {"", "random_resized_crop",
     "write `image.random_resized_crop(x, height, width)` in the expression "
     "of a `map`"},
    {"", "random_horizontal_flip random_flip_left_right",
     "write `random_flip:`"},
    {"", "random_vertical_flip random_flip_up_down",
     "write `random_flip: {direction: vertical}`"},
    {"", "hflip horizontal_flip flip_left_right",
     "write `image.flip_left_right(x)` in the expression of a `map`"},
    {"", "vflip vertical_flip flip_up_down",
     "write `image.flip_up_down(x)` in the expression of a `map`"},
    {"", "rotate random_rotation",
     "write `image.rotate(x, random.uniform(-10, 10), 'bilinear')` in the "
     "expression of a `map`"},
    {"", "color_jitter adjust_brightness random_brightness",
     "write `image.adjust_brightness(x, random.uniform(0.6, 1.4))` in the "
     "expression of a `map`; contrast, saturation and hue likewise"},
    {"", "grayscale rgb_to_grayscale random_grayscale to_grayscale",
     "write `image.adjust_saturation(x, 0)` in the expression of a `map`, or "
     "`decode_image: {channels: 1}`"},
    {"", "decode_jpeg decode_png decode_gif decode_bmp imread read_image",
     "write `decode_image: {component: image}`, or `image.decode(x)` in the "
     "expression of a `map`"},
    {"", "mixup mix_up cutmix cut_mix",
     "after `batch`, write `roll(image, 1)` with `random.beta(1, 1)`, or "
     "`image.cutmix(image, l, u, v)`, in the expressions of `with_columns`; "
     "docs/migrate/overview.md has the lines"},
    {"", "exif_transpose apply_exif_orientation",
     "write `decode_image: {apply_exif_orientation: true}`"},
    {"", "tokenize tokenizer text_vectorization",
     "write `tokenize(text, 'tokenizer.json')`, or `vocabulary(word, 'file')` "
     "of the words of `split(text)`, in the expression of a `map`"},
    {"", "apply_chat_template chat_template",
     "write `tokenize_chat(messages, 'tokenizer.json', 'chatml')`, or "
     "`format_chat(messages, 'chatml')`, in the expression of a `map`"},
    {"", "cast cast_column",
     "write `with_columns: {name: \"cast(name, float32)\"}`"},
    {"", "parse_single_example parse_example_dataset",
     "write `parse_example: {label: int64}`"},
    {"", "parse_single_sequence_example",
     "write `parse_sequence_example: {context: {id: int64}}`"},
    {"", "fixed_len_feature fixed_len_sequence_feature",
     "write the type: `parse_example: {points: \"float32[3]\"}`"},
    {"", "var_len_feature ragged_feature sparse_feature",
     "write the type: `parse_example: {ids: \"int64[?]\"}`"},
    {"", "train_test_split random_split",
     "write `split: {parts: [0.8, 0.2], part: 0}`; part 1 is the other one"},
    {"", "random_sample", "write `sample: 0.1`"},
    {"", "explode flatten", "write `flat_map` or `unbatch`"},
    {"", "with_row_index with_row_count zip_with_index", "write `enumerate:`"},
    {"", "sort order_by sort_by",
     "feedmill has no step that sorts elements; sort the files once, or write "
     "`bucket_by_sequence_length` for rows of like length"},
    {"", "group_by aggregate agg reduce fold unique distinct drop_duplicates",
     "feedmill has no step that combines all elements; reduce them in the "
     "program that reads them"},
    {"", "iter_batches iter_rows iter_torch_batches iter_tf_batches",
     "write `batch: N`, and read the dataset"},
    {"", "dropna drop_nulls drop_null",
     "write `filter: \"not is_null(name)\"`"},
    {"", "fillna fill_null fill_nulls",
     "write `with_columns: {name: \"fill_null(name, 0)\"}`; missing numbers "
     "of a text file are null if the option `types` of the source declares "
     "them, as int64?"},
    {"", "to_pandas to_list to_dict",
     "read the dataset, and take its elements; `batch: N` makes arrays of N "
     "rows"},
    {"",
     "write_parquet write_csv write_json to_parquet to_csv to_json "
     "save_to_disk",
     "feedmill writes no files of data; `cache: FOLDER/` keeps elements for "
     "later reads"},
    {"", "data_loader",
     "write `batch: N`, and read the dataset; `feedmill read --service "
     "HOST:PORT` reads it through workers"},
    {"", "epochs num_epochs", "write the step `repeat: N`"},
    {"", "add_column with_column assign",
     "write `with_columns: {name: \"a + b\"}`"},
    {"", "select_columns keep_columns", "write `select: [name, …]`"},
    {"", "drop_columns remove_columns delete_column",
     "write `drop: [name, …]`"},
    {"", "rename_columns rename_column", "write `rename: {old: new}`"},
    {"", "py_function numpy_function map_fn apply",
     "write an expression in `map`; functions in C or C++ come from plugins "
     "(docs/plugins.md)"},
    {"", "distribute",
     "a pipeline is read through a service by `feedmill read --service "
     "HOST:PORT`"},
    {"", "resume resume_from checkpoint",
     "a token is a place to continue from: `feedmill read --token FILE`, in "
     "Python `read(state=state)`"},
    {"", "job_name",
     "here it is `job`: `options: {job: NAME}`, or `--job NAME`"},
    {"", "with_options", "write the key `options` beside `source` and `steps`"},
    {"", "from_tensors numpy dataframe",
     "a table of the program is `Dataset.from_numpy(array)` in Python and "
     "`Dataset::Memory` in C++; arrays in files are `source: {npy: …}`"},
    {"", "from_tensor_slices from_numpy from_pandas from_dict from_arrow",
     "Python has `Dataset.from_numpy(array)` and others; in YAML arrays are "
     "files: `source: {npy: …}`"},
    {"", "from_generator generator",
     "elements are read from files: write them to jsonl or TFRecord"},
    {"", "from_csv read_csv make_csv_dataset csv_dataset scan_csv",
     "write `source: {csv: …}`"},
    {"", "from_json read_json load_json scan_ndjson read_ndjson",
     "write `source: {jsonl: …}`"},
    {"", "from_parquet read_parquet scan_parquet",
     "write `source: {parquet: …}`"},
    {"", "read_ipc scan_ipc from_feather", "write `source: {arrow: …}`"},
    {"", "read_webdataset web_dataset", "write `source: {webdataset: …}`"},
    {"", "fixed_length_record_dataset read_binary_files",
     "write `source: {fixed_length: {files: …, record_bytes: N}}`"},
    {"", "text_line text_line_dataset read_text from_text load_text",
     "write `source: {text: …}`"},
    {"", "image_folder image_dataset_from_directory read_images read_file",
     "write `source: {images: …}`"},
    {"", "tf_record_dataset read_tfrecords", "write `source: {tfrecord: …}`"},
    {"", "list_files glob",
     "each source takes globs: `source: {csv: \"data/*.csv\"}`"},
};

bool SameName(std::string_view a, std::string_view b) {
  const auto next = [](std::string_view& name) -> char {
    while (!name.empty() && (name[0] == '_' || name[0] == '-')) {
      name.remove_prefix(1);
    }
    if (name.empty()) return '\0';
    const char c = name[0];
    name.remove_prefix(1);
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  while (true) {
    const char c = next(a);
    if (c != next(b)) return false;
    if (c == '\0') return true;
  }
}

std::vector<std::string_view> NamesOf(const Answer& answer) {
  std::vector<std::string_view> names;
  std::string_view left = answer.names;
  while (!left.empty()) {
    const size_t end = std::min(left.find(' '), left.size());
    names.push_back(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return names;
}

bool HasName(const Answer& answer, std::string_view name) {
  return std::ranges::any_of(NamesOf(answer), [&](std::string_view one) {
    return SameName(one, name);
  });
}

}  // namespace

std::string_view AnswerToForeignName(std::string_view name,
                                     std::string_view where) {
  if (name.empty()) return "";
  for (const Answer& answer : kAnswers) {
    if (where.ends_with(answer.of) && HasName(answer, name)) return answer.text;
  }
  return "";
}

std::string_view AnswerToOptionOfMap(std::string_view name) {
  for (const Answer& answer : kAnswers) {
    if (answer.of == kMap && HasName(answer, name)) return answer.text;
  }
  return "";
}

std::string NameHint(std::string_view name, std::string_view where,
                     const std::vector<std::string_view>& known) {
  const std::string_view answer = AnswerToForeignName(name, where);
  return answer.empty() ? DidYouMean(name, known) : fmt::format("; {}", answer);
}

std::vector<std::string> ForeignNames() {
  std::vector<std::string> names;
  for (const Answer& answer : kAnswers) {
    for (const auto name : NamesOf(answer)) names.emplace_back(name);
  }
  return names;
}

}  // namespace feedmill
