/* The Sluice plugin ABI, major 1.
 *
 * A plugin is a shared object that exports one function, sluice_module_v1. Everything else is
 * reached through the structs below, so that a module built today loads in every later host of this
 * major. C authors (and Rust, Zig, ...) read only this file; C++ authors read <sluice/sink.hpp> or
 * <sluice/processor.hpp>, which are built on it. Compiles as C11 and C++11.
 *
 * VERSIONING
 *  1. MAJOR is in the symbol's name. A host supports majors N and N-1; a module may export both.
 *  2. MINOR only appends: fields at the end of structs (guarded by `size`), enum values,
 *     extensions. Nothing is reordered, renamed or given another meaning; no new hook is required.
 *  3. Load rule: the newest major that both have, and needs_minor <= the host's minor of it.
 *     Otherwise the host refuses with one sentence: the plugin, its ABI, the host's, what to do.
 *  4. Extensions are fetched by name: "sluice.NAME/REV", "com.vendor.NAME/REV" for others. A
 *     changed struct is a new REV. A draft already carries its final name.
 *  5. Reserved fields are zero, unknown flags are ignored. A capability bit is a promise that the
 *     conformance tool tests.
 *  6. tests/abi pins every size and offset.
 *  7. Deprecation is documentation; this header never makes your compiler warn.
 *
 * SIZES. A struct starts with `size`: the bytes its maker knew of. Read a field that was not in 1.0
 * only under SLUICE_HAS. In an array of such structs all elements have one size, and that size is
 * the stride. Those without it never change (sluice_bytes, sluice_header, sluice_pair,
 * sluice_preset), but for sluice_record, whose stride is sluice_batch.record_size: iterate with
 * sluice_record_at, never by sizeof, and you run unchanged on a host whose records have grown.
 *
 * THREADS, named in each comment:
 *  [task-thread] one thread per worker, never two calls at a time, never re-entered. All plugin
 *                functions but those marked [describe], all host functions but those marked
 *                [any-thread]. A plugin may start threads of its own in start; it joins them in
 *                stop.
 *  [any-thread]  also from threads of the plugin, between start and the return of stop.
 *  [describe]    possibly in a probe process: no thread, no I/O, no environment, under 100 ms, no
 *                instance.
 *
 * MEMORY. Nobody frees what the other side made. What a call is given is valid until that call
 * returns, unless said otherwise. Text is UTF-8; sluice_bytes is not NUL-terminated.
 *
 * NO EXCEPTION crosses: every function is SLUICE_NOEXCEPT, which a C++17 compiler checks.
 *
 * A PLUGIN MUST NOT install signal handlers, change the working directory, locale or umask, call
 * exit, or write to file descriptors it did not open. stdout and stderr are pipes: the host logs
 * them line by line with job, worker and plugin. */
#ifndef SLUICE_ABI_H
#define SLUICE_ABI_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus) && __cplusplus >= 201103L
#define SLUICE_NOEXCEPT noexcept
#else
#define SLUICE_NOEXCEPT
#endif

#if defined(__GNUC__)
#define SLUICE_EXPORT __attribute__((visibility("default")))
#else
#define SLUICE_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_ABI_MAJOR 1u
#define SLUICE_ABI_MINOR 0u

/* sluice_module.magic: "SLUI" read as a little-endian number. */
#define SLUICE_MAGIC 0x49554c53u

/* Longer error texts are cut by the host, between two characters. */
#define SLUICE_ERROR_MESSAGE_MAX 1024u

/* Whether the struct behind `pointer` was made by someone who knew `field`. */
#define SLUICE_HAS(pointer, type, field) \
  ((pointer)->size >= offsetof(type, field) + sizeof((pointer)->field))

typedef struct sluice_bytes sluice_bytes;
typedef struct sluice_header sluice_header;
typedef struct sluice_record sluice_record;
typedef struct sluice_batch sluice_batch;
typedef struct sluice_out sluice_out;
typedef struct sluice_slice sluice_slice;
typedef struct sluice_partition sluice_partition;
typedef struct sluice_error sluice_error;
typedef struct sluice_pair sluice_pair;
typedef struct sluice_config sluice_config;
typedef struct sluice_config_key sluice_config_key;
typedef struct sluice_problems sluice_problems;
typedef struct sluice_start sluice_start;
typedef struct sluice_preset sluice_preset;
typedef struct sluice_alias sluice_alias;
typedef struct sluice_plugin sluice_plugin;
typedef struct sluice_host sluice_host;
typedef struct sluice_descriptor sluice_descriptor;
typedef struct sluice_module sluice_module;

/* ------------------------------------------------------------------------------------- status ---
 * What a plugin call answers. Anything but OK is preceded by host->set_error; without it the host
 * says that the plugin gave no reason.
 *
 *  status         meaning                           what the host does
 *  OK             done                              goes on
 *  RETRY          outside system, later it works    the same call again after a back-off, bounded
 *                                                   by task.retry.timeout.ms. From put: the same
 *                                                   batch, so keep nothing of it. From flush: the
 *                                                   same flush, nothing is put again.
 *  NOT_CONNECTED  the connection is lost            reset of the chain; this instance is stopped,
 *                                                   destroyed and made anew, start with back-off
 *  FAIL           this slice cannot be processed    reset of the chain, then the group's slices
 *                                                   again, one by one, under the slicer's attempts
 *  CONFIG         only from start: a key is wrong   the job is FAILED at once, no restart
 *  another value                                    as FAIL
 *
 * One bad record is not a status: host->fail_record, and the call answers OK for the others.
 * Reset: rollback where offered, else close, stop, destroy, create, start, open. Nothing put before
 * a reset may become durable after destroy returned. A worker that is killed calls nothing at all:
 * what a plugin leaves on disk must tolerate that. */
typedef int32_t sluice_status;
enum {
  SLUICE_OK = 0,
  SLUICE_RETRY = 1,
  SLUICE_NOT_CONNECTED = 2,
  SLUICE_FAIL = 3,
  SLUICE_CONFIG = 4
};

/* ----------------------------------------------------------------------------------- records -- */

/* data NULL is Kafka's null; size 0 with data not NULL is empty. They are different things. */
struct sluice_bytes {
  const void* data;
  size_t size;
};

/* Order and repeats are Kafka's. A name may be empty, never null; a value may be either. */
struct sluice_header {
  sluice_bytes name;
  sluice_bytes value;
};

/* sluice_record.flags and sluice_out.flags */
enum {
  SLUICE_TIMESTAMP_MASK = 0x3,
  SLUICE_TIMESTAMP_NONE = 0x0,       /* timestamp_ms is -1 */
  SLUICE_TIMESTAMP_CREATE = 0x1,     /* set by the producer */
  SLUICE_TIMESTAMP_LOG_APPEND = 0x2  /* set by the broker */
};

/* A view: everything it points to is valid until the call it came with returns. Read only. What a
 * processor made of a record keeps that record's offset, topic and partition. */
struct sluice_record {
  sluice_bytes key;
  sluice_bytes value;
  int64_t offset;
  int64_t timestamp_ms; /* since 1970, UTC */
  uint32_t topic_index; /* a number inside this job: host->topic(index) is the name */
  int32_t partition;
  uint32_t flags;
  uint32_t header_count;
  const sluice_header* headers; /* NULL when header_count is 0 */
};

/* Records of one partition and one slice, in offset order; offsets may have holes, and after a
 * processor repeats. At most worker.batch.max.records; may be empty. */
struct sluice_batch {
  uint32_t size;
  uint32_t record_size; /* the stride of `records` */
  uint64_t slice_id;
  uint32_t record_count;
  uint32_t flags; /* 0 */
  const sluice_record* records;
};

static inline const sluice_record* sluice_record_at(const sluice_batch* batch, uint32_t index) {
  return (const sluice_record*)((const char*)batch->records + (size_t)index * batch->record_size);
}

/* What a processor emits. Key, value and headers may point into the input batch (pass-through
 * without copying) or to memory of the plugin that stays valid and unchanged until the next call
 * into the same instance (the next stage may be called several times before that). The sluice_out
 * structs themselves are read during emit only. */
struct sluice_out {
  uint32_t size;
  uint32_t source_index; /* the input record it was made of: index in the batch */
  sluice_bytes key;
  sluice_bytes value;
  int64_t timestamp_ms;
  uint32_t flags;
  uint32_t header_count;
  const sluice_header* headers;
};

/* Where a batch comes from. (job, topic, topic_incarnation, partition, lane, start, end) is
 * the identity that an idempotent sink may use as a key, if it declares SLUICE_CAP_STABLE_SLICES:
 * then a redelivery has the same range. The views are valid until the current call returns. */
struct sluice_slice {
  uint32_t size;
  uint32_t attempt; /* 1 = first */
  uint64_t slice_id;
  sluice_bytes job;
  sluice_bytes topic;
  uint32_t topic_index;
  uint32_t topic_incarnation; /* rises when a topic was deleted and created again */
  int32_t partition;
  uint32_t lane;  /* 0 but while a topic grows */
  uint32_t epoch; /* the partition count's generation */
  uint32_t flags; /* 0 */
  int64_t start_offset;
  int64_t end_offset; /* one past the last */
};

/* A partition granted to this worker, or taken from it. */
struct sluice_partition {
  uint32_t size;
  uint32_t topic_index;
  uint32_t topic_incarnation;
  int32_t partition;
};

typedef int32_t sluice_reason;
enum {
  SLUICE_REASON_ASSIGNED = 0, /* open: new here */
  SLUICE_REASON_MOVED = 1,    /* close: another worker goes on; open: another worker had it */
  SLUICE_REASON_STOPPING = 2, /* close: the worker stops */
  SLUICE_REASON_RESET = 3     /* close or open: a reset of the chain, no partition changes hands */
};

/* Said by host->set_error before a call answers anything but OK. The host copies it. */
struct sluice_error {
  uint32_t size;
  int32_t code;           /* the plugin's own (errno, HTTP status), 0 = none: shown, not judged */
  sluice_bytes message;   /* what failed: which thing: why; what to do */
  sluice_bytes key;       /* CONFIG: the configuration key; else {NULL, 0} */
  int64_t retry_after_ms; /* RETRY: wait so long, at most 15 min; -1 = the host's own back-off */
};

/* ------------------------------------------------------------------------------ configuration ---
 * A plugin declares its keys; the host validates, applies defaults, resolves secrets, and hands
 * over typed values. No plugin parses text. */

typedef int32_t sluice_config_type;
enum {
  SLUICE_TYPE_STRING = 1,
  SLUICE_TYPE_INT = 2,      /* int64_t */
  SLUICE_TYPE_FLOAT = 3,    /* double */
  SLUICE_TYPE_BOOL = 4,     /* true | false */
  SLUICE_TYPE_DURATION = 5, /* "30s": integer = ms, or a number with ms|s|m|h|d. get_int: ms */
  SLUICE_TYPE_BYTES = 6,    /* "64MiB": integer, or with KiB|MiB|GiB. get_int: bytes */
  SLUICE_TYPE_ENUM = 7,     /* one of `choices`. get_string */
  SLUICE_TYPE_LIST = 8,     /* texts, joined with commas in a job file */
  SLUICE_TYPE_MAP = 9,      /* key NAME takes all NAME.<entry> of a job; the pairs hold <entry> */
  SLUICE_TYPE_SECRET = 10   /* a string that is never shown */
};

typedef int32_t sluice_importance;
enum { SLUICE_IMPORTANCE_LOW = 0, SLUICE_IMPORTANCE_MEDIUM = 1, SLUICE_IMPORTANCE_HIGH = 2 };

/* sluice_config_key.flags. A key without REQUIRED and without default_value may be unset. */
enum { SLUICE_KEY_REQUIRED = 0x1 };

/* Static data, as the descriptor. Texts are NUL-terminated; NULL = not said, but where required.
 * min, max, default_value and example are written as a user would write the value. */
struct sluice_config_key {
  uint32_t size;
  sluice_config_type type;
  const char* name; /* required; [a-z0-9.]+; no key is a dotted prefix of another one */
  const char* doc;  /* required: one sentence or more */
  const char* default_value;
  const char* min;
  const char* max;
  const char* pattern;        /* STRING, SECRET, elements of LIST: ECMAScript, whole text */
  const char* const* choices; /* ENUM: required */
  uint32_t choice_count;
  uint32_t flags;
  const char* group; /* heading in the reference */
  uint32_t order;    /* inside its group */
  sluice_importance importance;
  const char* since;             /* plugin version that brought the key */
  const char* deprecated;        /* what to use instead: the key is deprecated */
  const char* example;
  const char* const* dependents; /* keys that mean something only together with this one */
  uint32_t dependent_count;
  uint32_t reserved;
};

struct sluice_pair {
  sluice_bytes key;
  sluice_bytes value;
};

/* Validated values. [task-thread], and [describe] inside validate(). Valid until the call that was
 * given it returns, and so is every text and array it hands out. Every getter answers
 *   1  *value is written
 *   0  the key is declared, unset and without default; *value is untouched
 *  -1  no such key, or it has another type; *value is untouched */
struct sluice_config {
  uint32_t size;
  uint32_t reserved;
  const void* context; /* the host's */
  int32_t (*get_string)(const sluice_config* config, const char* key,
                        sluice_bytes* value) SLUICE_NOEXCEPT; /* STRING, ENUM, SECRET */
  int32_t (*get_int)(const sluice_config* config, const char* key,
                     int64_t* value) SLUICE_NOEXCEPT; /* INT, DURATION, BYTES */
  int32_t (*get_float)(const sluice_config* config, const char* key,
                       double* value) SLUICE_NOEXCEPT;
  int32_t (*get_bool)(const sluice_config* config, const char* key,
                      int32_t* value) SLUICE_NOEXCEPT; /* 0 or 1 */
  int32_t (*get_list)(const sluice_config* config, const char* key, const sluice_bytes** values,
                      uint32_t* count) SLUICE_NOEXCEPT;
  int32_t (*get_map)(const sluice_config* config, const char* key, const sluice_pair** pairs,
                     uint32_t* count) SLUICE_NOEXCEPT; /* 1 with count 0 when no entry is given */
};

/* Where validate() reports what is wrong with a configuration, one call per problem. key NULL: not
 * one key, but all of them together. */
struct sluice_problems {
  uint32_t size;
  uint32_t reserved;
  void* context; /* the host's */
  void (*add)(const sluice_problems* problems, const char* key,
              sluice_bytes message) SLUICE_NOEXCEPT;
};

/* --------------------------------------------------------------------------------------- host ---
 * Given to create(), one per plugin instance; valid until destroy() returns. */

typedef int32_t sluice_log_level;
enum {
  SLUICE_LOG_DEBUG = 0,
  SLUICE_LOG_INFO = 1,
  SLUICE_LOG_WARNING = 2,
  SLUICE_LOG_ERROR = 3
};

struct sluice_host {
  uint32_t size;
  uint32_t abi_minor; /* the host's */
  void* context;      /* the host's */

  /* [task-thread] In shared memory: the index, in the batch of the running put or process, of the
   * record being worked on. The host sets it to 0 before the call; store it before each record (a
   * plain aligned 32-bit store): it is where the host begins to look for the record that crashed
   * you. Never NULL, never changes. */
  uint32_t* position;

  /* [task-thread] The reason for the status that the running call is about to answer. */
  void (*set_error)(const sluice_host* host, const sluice_error* error) SLUICE_NOEXCEPT;

  /* [task-thread] This record is bad, the others are fine. Allowed from put or process on until the
   * flush of that record's group returns. The host sends it to the dead letter queue, or fails the
   * slice (errors.tolerance). Saying it twice is saying it once. OK, or FAIL when the flush group
   * has no such slice or the slice no such offset (nothing happens). */
  sluice_status (*fail_record)(const sluice_host* host, uint64_t slice_id, int64_t offset,
                               const sluice_error* why) SLUICE_NOEXCEPT;

  /* [task-thread, inside process] Outputs, in order; may be called several times, but source_index
   * never falls. An input that nothing was emitted for is filtered. OK, or FAIL when it is not
   * called inside process or a source_index is wrong (nothing is emitted). */
  sluice_status (*emit)(const sluice_host* host, const sluice_out* outs,
                        uint32_t count) SLUICE_NOEXCEPT;

  /* [any-thread] One line; never blocks for long; too many of a kind are dropped and counted. */
  void (*log)(const sluice_host* host, sluice_log_level level, sluice_bytes text) SLUICE_NOEXCEPT;

  /* [task-thread] NULL for a slice that is not of this flush group. Valid until the running plugin
   * call returns. */
  const sluice_slice* (*slice)(const sluice_host* host, uint64_t slice_id) SLUICE_NOEXCEPT;

  /* [task-thread] The topic's name, {NULL, 0} for an unknown index. Valid until destroy returns. */
  sluice_bytes (*topic)(const sluice_host* host, uint32_t topic_index) SLUICE_NOEXCEPT;

  /* [any-thread] End this flush group soon: my buffer is full. */
  void (*request_flush)(const sluice_host* host) SLUICE_NOEXCEPT;

  /* [any-thread] The running call is slow but alive: its task.call.timeout.ms starts anew. */
  void (*keep_alive)(const sluice_host* host) SLUICE_NOEXCEPT;

  /* [task-thread] An extension's struct, valid until destroy returns; NULL if the host has none. */
  const void* (*get_extension)(const sluice_host* host, const char* id) SLUICE_NOEXCEPT;
};

/* ------------------------------------------------------------------------------------ plugin -- */

/* Given to start(). */
struct sluice_start {
  uint32_t size;
  uint32_t worker_slot; /* the worker's number in its job, from 0; a respawn takes the same one */
  const sluice_config* config;
  sluice_bytes job;
  uint32_t state_write_version; /* of keyed state, while versions roll; 0 = the descriptor's */
  uint32_t reserved;
};

/* One instance: one worker has one of each plugin of its chain. Made by create, freed by destroy.
 *   create -> start -> open* -> { put|process of one or more slices -> flush }* -> close* -> stop
 *   -> destroy
 * All [task-thread]. Hooks that may be NULL: open, flush, rollback, close, get_extension. */
struct sluice_plugin {
  uint32_t size;
  uint32_t reserved;
  void* context; /* the plugin's */

  /* Connect, allocate. May be called again after RETRY or NOT_CONNECTED, until OK. */
  sluice_status (*start)(sluice_plugin* plugin, const sluice_start* start) SLUICE_NOEXCEPT;

  sluice_status (*open)(sluice_plugin* plugin, const sluice_partition* partitions, uint32_t count,
                        sluice_reason reason) SLUICE_NOEXCEPT;

  /* SINK only, else NULL. Take the records; they need not be durable before flush. */
  sluice_status (*put)(sluice_plugin* plugin, const sluice_batch* batch) SLUICE_NOEXCEPT;

  /* PROCESSOR only, else NULL. Calls host->emit. */
  sluice_status (*process)(sluice_plugin* plugin, const sluice_batch* batch) SLUICE_NOEXCEPT;

  /* OK only when every record put since the last OK flush is durable downstream (but those given to
   * fail_record). NULL: it is so when put returns. */
  sluice_status (*flush)(sluice_plugin* plugin) SLUICE_NOEXCEPT;

  /* Forget everything put since the last OK flush. NULL: the instance is made anew instead. */
  sluice_status (*rollback)(sluice_plugin* plugin) SLUICE_NOEXCEPT;

  sluice_status (*close)(sluice_plugin* plugin, const sluice_partition* partitions, uint32_t count,
                         sluice_reason reason) SLUICE_NOEXCEPT;

  /* Disconnect, join threads; within task.stop.timeout.ms. Called once after every OK start. */
  void (*stop)(sluice_plugin* plugin) SLUICE_NOEXCEPT;

  /* Frees the instance; called once after create, also when start never succeeded. */
  void (*destroy)(sluice_plugin* plugin) SLUICE_NOEXCEPT;

  const void* (*get_extension)(sluice_plugin* plugin, const char* id) SLUICE_NOEXCEPT;
};

/* ------------------------------------------------------------------------- what is in a file -- */

typedef int32_t sluice_kind;
enum { SLUICE_KIND_SINK = 1, SLUICE_KIND_PROCESSOR = 2 };

/* sluice_descriptor.capabilities: promises. */
#define SLUICE_CAP_STABLE_SLICES UINT64_C(0x1) /* a redelivered slice must have the same range */
#define SLUICE_CAP_TRANSACTION UINT64_C(0x2)   /* keeps positions: "sluice.transaction/1" */
#define SLUICE_CAP_IDEMPOTENT UINT64_C(0x4)    /* the same records again leave the same result */
#define SLUICE_CAP_KEYED_STATE UINT64_C(0x8)   /* asks for "sluice.keyed-state/1" */

/* A value as a user would write it. */
struct sluice_preset {
  const char* key;
  const char* value;
};

/* Another name of a plugin, with configuration it presets (a job may not set those keys itself). */
struct sluice_alias {
  uint32_t size;
  uint32_t preset_count;
  const char* name;
  const sluice_preset* presets;
};

/* Static data, valid as long as the module is loaded. [describe] */
struct sluice_descriptor {
  uint32_t size;
  sluice_kind kind;
  const char* name;    /* [a-z0-9._-]+: what connector.class or transforms.X.type says */
  const char* version; /* MAJOR.MINOR.PATCH */
  const char* summary; /* one line; may be NULL */
  uint64_t capabilities;
  const sluice_config_key* keys;
  const sluice_alias* aliases;
  uint32_t key_count;
  uint32_t alias_count;
  uint32_t state_version; /* of keyed state; 0 = none */
  uint32_t oldest_state_version;

  /* [task-thread] A new instance, or NULL when memory is short. Cheap: connecting is start's.
   * Does not call the host. */
  sluice_plugin* (*create)(const sluice_host* host) SLUICE_NOEXCEPT;

  /* [describe] Rules that span keys; every key is valid by itself already. May be NULL. No I/O. */
  void (*validate)(const sluice_config* config, const sluice_problems* problems) SLUICE_NOEXCEPT;
};

struct sluice_module {
  uint32_t size;
  uint32_t magic;       /* SLUICE_MAGIC */
  uint32_t abi_major;   /* SLUICE_ABI_MAJOR */
  uint32_t abi_minor;   /* SLUICE_ABI_MINOR: what it was compiled with */
  uint32_t needs_minor; /* what it cannot do without */
  uint32_t plugin_count;
  const sluice_descriptor* const* plugins;
  const char* build; /* compiler, flags, SDK: for a bug report; may be NULL */
};

/* [describe] The only exported symbol. Never NULL; the same pointer every time. */
SLUICE_EXPORT const sluice_module* sluice_module_v1(void) SLUICE_NOEXCEPT;

#define SLUICE_MODULE_SYMBOL "sluice_module_v1"
typedef const sluice_module* (*sluice_module_function)(void);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_ABI_H */
