/* Plugins: shared objects that add functions to expressions, a resolver or
 * tokenizers. A plugin exports one function, plain C, so its compiler, its
 * language and its version of feedmill do not matter. It needs no other header.
 *
 *   const struct feedmill_op_plugin* feedmill_op_plugin_entry(void);
 *   const struct feedmill_resolver_v1* feedmill_resolver_plugin_v1(void);
 *   const struct feedmill_tokenizer_v2* feedmill_tokenizer_plugin_v2(void);
 *
 * Programs load functions with LoadFunctions (expr.h), and resolvers with
 * AllResolvers (resolver.h). */
#ifndef FEEDMILL_PLUGIN_H_
#define FEEDMILL_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions of expressions
 *
 * Name the plugin's file in the variable FEEDMILL_OP_PLUGINS (several with ':'
 * between) or as --op-plugin. Every process of a service needs it: readers and
 * the dispatcher check types, workers (and readers, in the client's stage)
 * compute. examples/plugin is an example; docs/plugins.md explains it.
 *
 * Thread-safety: infer and compute are called from many threads at once, the
 * same op's, too; what they share must be constant or guarded. The structs that
 * the entry point returns stay as they are for the life of the process.
 * Nothing may throw, exit, or keep a pointer that it was given. */

/* The version of feedmill_op_plugin and the structs that it uses. A plugin that
 * was built with another one is refused when it is loaded. */
#define FEEDMILL_OP_PLUGIN_ABI 1

/* The dtypes of items; bool is one byte, 0 or 1. */
enum feedmill_dtype {
  FEEDMILL_BOOL = 1,
  FEEDMILL_INT8 = 2,
  FEEDMILL_INT16 = 3,
  FEEDMILL_INT32 = 4,
  FEEDMILL_INT64 = 5,
  FEEDMILL_UINT8 = 6,
  FEEDMILL_UINT16 = 7,
  FEEDMILL_UINT32 = 8,
  FEEDMILL_UINT64 = 9,
  FEEDMILL_FLOAT32 = 10,
  FEEDMILL_FLOAT64 = 11,
  FEEDMILL_BYTES = 12, /* byte strings of any length */
  FEEDMILL_FLOAT16 = 13,
  FEEDMILL_BFLOAT16 = 14 /* the upper half of a float32 */
};

/* Dimensions of a result, at most. */
#define FEEDMILL_OP_RANK_MAX 8
/* A dimension that is not known before the data is seen. */
#define FEEDMILL_OP_UNKNOWN_DIM (-1)

/* The rows of one argument. Item k of a fixed-size dtype is the k-th of
 * `values`, which is aligned for it; of bytes it is values[offsets[k]] to
 * values[offsets[k + 1]]. The items of row r are, in C order,
 *   row_starts == NULL: row_items of them from r * row_items on, of shape dims;
 *   else:               row_starts[r] to row_starts[r + 1], of the `rank` dims
 *                       at row_shapes + r * rank.
 * A constant column has one row, r = 0, which stands for all. */
struct feedmill_op_column {
  int32_t dtype;
  int32_t constant;
  size_t rank;
  const int64_t* dims; /* some may be FEEDMILL_OP_UNKNOWN_DIM if row_starts */
  int64_t row_items;   /* 0 if row_starts */
  const void* values;
  const int64_t* offsets; /* bytes only */
  const int64_t* row_shapes;
  const int64_t* row_starts;
};

/* The type of an argument. */
struct feedmill_op_type {
  int32_t dtype;
  /* A Python number, or an expression of such: int64 and float64 that would
   * take the other operand's dtype, as in NumPy 2. */
  int32_t weak;
  size_t rank;
  const int64_t* dims; /* unknown ones are FEEDMILL_OP_UNKNOWN_DIM */
  /* The value, a column of one row, where it is written as a constant; else
   * NULL. Never NULL for an argument of kind FEEDMILL_OP_CONSTANT. */
  const struct feedmill_op_column* constant;
};

/* The result's type, filled by infer. Unknown dimensions are found per row. */
struct feedmill_op_result {
  int32_t dtype;
  size_t rank;
  int64_t dims[FEEDMILL_OP_RANK_MAX];
};

/* The reason why infer or compute fails; the text is copied. */
struct feedmill_op_error {
  void* sink;
  void (*say)(void* sink, const char* text, size_t size);
  /* compute only, with FEEDMILL_OP_BAD_DATA: the first row that fails. */
  size_t row;
};

/* The place to which compute writes its result. */
struct feedmill_op_output {
  /* A fixed-size dtype of known dims: memory for all rows, one after another.
   * Else NULL, and the functions below make the rows in order. */
  void* values;
  void* sink;
  /* If dims are unknown: begins the next row, of these dims (rank of them,
   * none negative). Returns the memory for its items; NULL if they are bytes
   * or none. Valid until the next call. */
  void* (*row)(void* sink, const int64_t* dims);
  /* Bytes only: gives the next item. */
  void (*item)(void* sink, const void* bytes, size_t size);
};

/* Kind of an argument. */
enum feedmill_op_argument {
  FEEDMILL_OP_VALUE = 0,   /* any expression; may happen to be constant */
  FEEDMILL_OP_CONSTANT = 1 /* written as a number, text, True or False */
};

/* Result of infer and compute. */
enum feedmill_op_status {
  FEEDMILL_OP_OK = 0,
  /* The data of one row: on_error can skip it. Rows before it are good.
   * compute only. */
  FEEDMILL_OP_BAD_DATA = 1,
  /* infer: the arguments do not fit. compute: anything else; ends the job. */
  FEEDMILL_OP_FAILED = 2
};

enum feedmill_op_flags {
  /* Equal arguments give equal bytes, on every machine. Without it a call with
   * constant arguments is not computed once for all rows, and nothing promises
   * that reading again gives the same bytes. */
  FEEDMILL_OP_PURE = 1,
  /* A row takes microseconds or more: few are computed at a time. */
  FEEDMILL_OP_HEAVY = 2
};

struct feedmill_op {
  /* "scale" of the plugin "example" is example.scale(...) in expressions.
   * Lower-case letters, digits and '_', a letter first. */
  const char* name;
  /* Arguments that may be given, and what each must be: arguments_max kinds;
   * NULL if all are FEEDMILL_OP_VALUE. */
  size_t arguments_min;
  size_t arguments_max;
  const enum feedmill_op_argument* kinds;
  uint32_t flags;
  /* Given to both functions below; may be NULL. */
  void* state;
  /* The result's type for `count` arguments. */
  int (*infer)(void* state, const struct feedmill_op_type* arguments,
               size_t count, struct feedmill_op_result* result,
               struct feedmill_op_error* error);
  /* Computes `rows` rows, 1 or more, of the type that infer gave. */
  int (*compute)(void* state, const struct feedmill_op_column* arguments,
                 size_t count, size_t rows, struct feedmill_op_output* output,
                 struct feedmill_op_error* error);
};

struct feedmill_op_plugin {
  uint32_t abi; /* FEEDMILL_OP_PLUGIN_ABI; first in all versions */
  /* The same characters as in an op's name. */
  const char* name;
  /* Part of the fingerprint of pipelines that call it: change it whenever a
   * result changes. "1.2", printable ASCII without spaces. */
  const char* version;
  const struct feedmill_op* ops;
  size_t op_count;
};

typedef const struct feedmill_op_plugin* (*feedmill_op_plugin_entry_type)(void);

/* ---- resolvers
 *
 * Name the plugin's file in the variable FEEDMILL_RESOLVER_PLUGINS (several
 * with ':' between). A next version of this contract will have another name,
 * and this one will stay. docs/servers.md says what resolvers are for. */

struct feedmill_resolver_v1 {
  /* "consul" answers for URIs that begin with "consul:". Lower-case letters,
   * digits, '_', '+', '-' and '.', a letter first. */
  const char* scheme;
  /* Looks at the cluster again. `uri` is as the user wrote it, without the
   * parameters job, task, rpc_layer and environment, which feedmill applies.
   * Calls emit(sink, text, size) at most once: on success (return 0) with what
   * `feedmill resolve` prints, YAML or JSON; on failure with a message. Any
   * thread may call, several at a time; it must return within seconds and throw
   * nothing. */
  int (*resolve)(const char* uri,
                 void (*emit)(void* sink, const char* text, size_t size),
                 void* sink);
};

typedef const struct feedmill_resolver_v1* (*feedmill_resolver_plugin_v1_type)(
    void);

/* ---- tokenizers
 *
 * The functions tokenize(text, 'FILE'), detokenize(ids, 'FILE') and others of
 * expressions. feedmill has such a plugin, plugins/tokenizers, in Rust. Name
 * the file of another one in the variable FEEDMILL_TOKENIZER_PLUGIN. A next
 * version of this contract will have another name. Any thread may call, several
 * at a time, with one loaded tokenizer, too. Nothing may throw. */

struct feedmill_tokenizer_v2 {
  /* "tokenizers 1.0.0", for messages. */
  const char* version;
  /* Makes a tokenizer of a file's contents. `path`: of the file. `pattern`: the
   * third argument of tokenize(text, 'a.tiktoken', 'pattern'), or NULL. NULL:
   * it is not of a tokenizer, and `error` has the reason. */
  void* (*load)(const char* path, const char* pattern, const void* bytes,
                size_t size, struct feedmill_op_error* error);
  void (*unload)(void* tokenizer);
  /* Calls emit(sink, ids, count) once with the token ids of a text of `size`
   * bytes, and returns FEEDMILL_OP_OK. `special`: with the tokens that the
   * tokenizer puts around a text. `length_max`: most tokens; 0: as
   * the file says. Other results mean bad data. */
  int (*encode)(const void* tokenizer, const char* text, size_t size,
                int special, size_t length_max, void* sink,
                void (*emit)(void* sink, const int32_t* ids, size_t count),
                struct feedmill_op_error* error);
  /* The same, with the first and the last character of each token, the last
   * one exclusive: two numbers a token. */
  int (*encode_places)(const void* tokenizer, const char* text, size_t size,
                       int special, size_t length_max, void* sink,
                       void (*emit)(void* sink, const int32_t* ids,
                                    const int32_t* places, size_t count),
                       struct feedmill_op_error* error);
  /* Calls emit(sink, text, size) once with the text of token ids, none of them
   * negative. `special`: with the special tokens. */
  int (*decode)(const void* tokenizer, const int32_t* ids, size_t count,
                int special, void* sink,
                void (*emit)(void* sink, const char* text, size_t size),
                struct feedmill_op_error* error);
};

typedef const struct feedmill_tokenizer_v2* (
    *feedmill_tokenizer_plugin_v2_type)(void);

#ifdef __cplusplus
}
#endif

#endif /* FEEDMILL_PLUGIN_H_ */
